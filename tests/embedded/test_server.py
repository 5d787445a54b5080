"""A server is kept alive, stopped, paused, and says why it can't start."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis
import structlog

from service.embedded import EmbeddedError, EmbeddedStores
from service.embedded.processes import at_work_in
from tests.support.spare import SpareStores
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def own_stores(spare_stores: SpareStores) -> Iterator[EmbeddedStores]:
    """One pair for this file; every test leaves both servers running."""
    with spare_stores.borrowed() as both:
        yield both


def database_answers(stores: EmbeddedStores) -> bool:
    try:
        with psycopg.connect(stores.database_url) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


def key_value_store_answers(stores: EmbeddedStores) -> bool:
    try:
        with redis.Redis.from_url(stores.redis_url, socket_timeout=0.2, retry=None) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def test_killed_servers_come_back_by_themselves_with_their_data(own_stores: EmbeddedStores) -> None:
    with psycopg.connect(own_stores.database_url) as connection:
        connection.execute("CREATE TABLE kept (n int)")
    for server in (own_stores.postgres, own_stores.valkey):
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
    assert eventually(lambda: key_value_store_answers(own_stores))
    assert eventually(lambda: database_answers(own_stores))
    with psycopg.connect(own_stores.database_url) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_a_killed_server_comes_back_though_nobody_reads_the_log(
    own_stores: EmbeddedStores, tmp_path: Path
) -> None:
    with (tmp_path / "log").open("w") as log:
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(log))
    assert own_stores.valkey.pid is not None
    os.kill(own_stores.valkey.pid, signal.SIGKILL)
    assert eventually(lambda: key_value_store_answers(own_stores))


def test_a_stopped_server_stays_away_until_it_is_started(own_stores: EmbeddedStores) -> None:
    own_stores.postgres.stop()
    own_stores.valkey.stop()
    assert own_stores.postgres.pid is None
    assert not database_answers(own_stores)
    assert not key_value_store_answers(own_stores)
    own_stores.postgres.start()
    own_stores.valkey.start()
    assert database_answers(own_stores)
    assert key_value_store_answers(own_stores)


def test_a_paused_server_answers_nothing_until_it_is_resumed(own_stores: EmbeddedStores) -> None:
    with psycopg.connect(own_stores.database_url) as connection:
        own_stores.postgres.pause()
        connection.pgconn.send_query(b"SELECT 1")
        connection.pgconn.consume_input()
        assert connection.pgconn.is_busy()
        own_stores.postgres.resume()
        assert connection.pgconn.get_result() is not None
        assert connection.pgconn.get_result() is None
    own_stores.valkey.pause()
    assert not key_value_store_answers(own_stores)
    own_stores.valkey.resume()
    assert key_value_store_answers(own_stores)


def test_a_paused_server_can_be_stopped(own_stores: EmbeddedStores) -> None:
    own_stores.postgres.pause()
    own_stores.postgres.stop()
    assert at_work_in(own_stores.data / "postgres", "postgres") == []


def test_a_pid_file_that_names_somebody_else_does_not_block_the_start(own_stores: EmbeddedStores) -> None:
    own_stores.postgres.stop()
    stale = own_stores.data / "postgres" / "postmaster.pid"
    stale.write_text(f"{os.getppid()}\n{stale.parent}\n0\n5432\n/nowhere\n\n0 0\nready\n")
    own_stores.postgres.start()
    assert database_answers(own_stores)


def test_a_server_that_can_not_start_says_what_its_log_says(own_stores: EmbeddedStores) -> None:
    own_stores.postgres.stop()
    (own_stores.data / "postgres" / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedError, match=r"postgres\.log:[\s\S]*initialized by PostgreSQL version 9"):
        own_stores.postgres.start()
    (own_stores.data / "postgres" / "PG_VERSION").write_text("18\n")
    own_stores.postgres.start()
    assert database_answers(own_stores)


def test_no_network_port_is_opened(own_stores: EmbeddedStores) -> None:
    with psycopg.connect(own_stores.database_url) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    with redis.Redis.from_url(own_stores.redis_url) as client:
        assert client.config_get("port") == {"port": "0"}


def test_a_server_that_was_closed_does_not_start_again(tmp_path: Path) -> None:
    stores = EmbeddedStores(tmp_path, with_postgres=False)
    stores.close()
    with pytest.raises(EmbeddedError, match="Valkey was closed"):
        stores.valkey.start()
