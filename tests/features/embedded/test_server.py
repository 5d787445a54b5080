"""A server and its processes: kept alive, found, stopped and paused, and saying why it can't start."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import redis
import structlog

from service.features.embedded.program import at_work_in, freeze_all, has_stopped, send
from service.features.embedded.stores import EmbeddedStores
from service.operator.errors import EmbeddedError
from tests.support.spare import SpareStores
from tests.support.waiting import eventually, freeze


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
    assert eventually(lambda: key_value_store_answers(own_stores))


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
    assert eventually(lambda: key_value_store_answers(own_stores))


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


MANY = 5
# Makes children without a pause, each of which lives for a moment and computes.
PARENT = """
import os, time
def child():
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    os._exit(0)
children = 0
while True:
    if children == 3:
        os.wait()
        children -= 1
    os.fork() or child()
    children += 1
"""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process at work in ``tmp_path`` that has a child at any time."""
    process = subprocess.Popen([sys.executable, "-c", PARENT], cwd=tmp_path, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def test_a_freeze_returns_when_all_have_stopped_also_children_made_meanwhile(
    busy: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    name = name_of(busy.pid)
    for _ in range(MANY):
        assert eventually(lambda: len(at_work_in(tmp_path, name)) > 1)
        freeze_all(tmp_path, name)
        frozen = at_work_in(tmp_path, name)
        assert [pid for pid in frozen if not has_stopped(pid)] == []
        assert at_work_in(tmp_path, name) == frozen
        send(frozen, signal.SIGCONT)


def test_a_process_counts_as_stopped_once_it_is_and_no_longer(busy: subprocess.Popen[bytes]) -> None:
    assert not has_stopped(busy.pid)
    freeze(busy.pid)
    assert has_stopped(busy.pid)
    os.kill(busy.pid, signal.SIGCONT)
    assert eventually(lambda: not has_stopped(busy.pid))


def test_a_process_that_has_ended_counts_as_stopped(busy: subprocess.Popen[bytes]) -> None:
    busy.kill()
    assert eventually(lambda: has_stopped(busy.pid))
    busy.wait()
    assert has_stopped(busy.pid)
