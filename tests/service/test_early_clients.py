"""A node that starts refuses clients, so that a proxy uses other nodes, until it can serve them."""

import errno
import socket
from pathlib import Path

import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from service.operator.errors import ListenError
from service.records.installation import migrate
from service.server.listening import bound_listener, listen
from service.settings import load
from tests.service.conftest import variables_for
from tests.service.node_pair import READY
from tests.service.wire import exchange
from tests.support.databases import database
from tests.support.ports import free_port
from tests.support.running import Running
from tests.support.waiting import eventually


def test_a_node_that_starts_refuses_connections_until_it_can_serve_them(
    stores: EmbeddedStores, published_template: str, redis_url: str, tmp_path: Path
) -> None:
    port = free_port()
    waits = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with database(stores, published_template) as url, psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (migrate._LOCK,))
        service = Running(tmp_path, "--port", str(port), "--workers", "1", **variables_for(url, redis_url))
        try:
            assert eventually(lambda: other.execute(waits).fetchone() is not None)
            with socket.socket() as early:
                assert early.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED
            other.execute("SELECT pg_advisory_unlock(%s)", (migrate._LOCK,))
            service.wait()
            assert exchange(port, READY)[0].status == 200
        finally:
            service.stop()


def test_of_two_nodes_that_start_at_one_address_the_second_one_is_refused() -> None:
    settings = load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__PORT": str(free_port())})
    with bound_listener(settings) as first, bound_listener(settings) as second:
        listen(first)
        with pytest.raises(ListenError, match="can't be listened on: Address already in use; --port names"):
            listen(second)
