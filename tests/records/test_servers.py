"""Several database servers: which one is written, and which standby may be read."""

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import text

from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.records.database.connection import DatabaseUrlError
from service.records.database.replica import FreshSnapshots
from service.records.database.servers import Servers, announcements
from service.records.database.transactions import Database
from service.records.installation.migrate import migrate
from service.records.installation.schema_revision import SchemaError, require_current
from tests.support.replicated import ReplicatedPostgres

TIMEOUT = 2.0  # seconds: the bound that these tests give; each of two servers has half of it


def place_of(url: str) -> str:
    """Return the socket directory of a database."""
    return str(conninfo_to_dict(url)["host"])


def several(url: str, *places: str) -> str:
    """Return the URL of the database at ``url`` that names the servers in ``places`` instead."""
    return url.replace(f"host={place_of(url)}", f"host={','.join(places)}")


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    async with Database(url, pool_size=2, timeout=TIMEOUT) as database:
        yield database


async def server_of(database: Database) -> str:
    """Return the socket directory of the server that a new transaction reaches."""
    async with database.transaction() as connection:
        raw = (await connection.get_raw_connection()).driver_connection
        assert isinstance(raw, psycopg.AsyncConnection)
        return raw.info.host


class Silent:
    """A server that accepts connections at ``place`` and never answers."""

    def __init__(self, place: str, listener: socket.socket, held: ExitStack) -> None:
        self.place = place
        self._listener = listener
        self._held = held
        self._asked = 0

    @property
    def asked(self) -> int:
        """How many connections there were."""
        with suppress(BlockingIOError):
            while True:
                self._held.enter_context(self._listener.accept()[0])
                self._asked += 1
        return self._asked


@pytest.fixture
def silent() -> Iterator[Silent]:
    with (
        tempfile.TemporaryDirectory(prefix="pc-") as folder,  # a short path, as sockets need
        socket.socket(socket.AF_UNIX) as listener,
        ExitStack() as held,
    ):
        listener.bind(f"{folder}/.s.PGSQL.5432")
        listener.listen(100)
        listener.setblocking(False)
        yield Silent(folder, listener, held)


@pytest.fixture
def other(fragile: EmbeddedStores) -> Iterator[EmbeddedStores]:
    """A second server, which can be made read-only."""
    yield fragile
    make_read_only(fragile, "off")


def make_read_only(stores: EmbeddedStores, state: str) -> None:
    url = stores.url_of("postgres", administrator=True)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {state}")
        connection.execute("SELECT pg_reload_conf()")
        while connection.execute("SHOW default_transaction_read_only").fetchone() != (state,):
            pass


async def test_a_server_that_never_answers_costs_its_share_once_and_is_then_asked_last(
    empty_database_url: str, silent: Silent
) -> None:
    place = place_of(empty_database_url)
    url = several(empty_database_url, silent.place, place)
    async with opened(url) as database, opened(url) as another:
        assert [await server_of(target) for target in (database, another)] == [place, place]
        assert silent.asked == 1
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(TIMEOUT / 10):
                await anext(announcements(several(empty_database_url, silent.place), "any"))
        assert silent.asked == 2
        heard = announcements(url, "any")
        assert await anext(heard) == ""
        await heard.aclose()
    assert silent.asked == 2


async def test_the_writable_one_of_several_servers_is_used_as_soon_as_there_is_one(
    stores: EmbeddedStores, other: EmbeddedStores
) -> None:
    first, second = place_of(other.database_url), place_of(stores.database_url)
    url = several(stores.database_url, first, second)
    async with opened(url) as database:
        assert await server_of(database) == first
        make_read_only(other, "on")
        with pytest.raises(Unavailable, match="does not accept changes"):
            await write_without_end(database)
        assert await server_of(database) == second
    make_read_only(other, "off")
    async with opened(url) as database:
        assert await server_of(database) == second


async def write_without_end(database: Database) -> None:
    """Write until it is refused: the process of each connection hears of a new setting in its own time."""
    while True:
        async with database.transaction() as connection:
            await connection.execute(text("CREATE TABLE IF NOT EXISTS written ()"))


async def test_without_a_writable_server_the_cause_names_each_one(
    other: EmbeddedStores, silent: Silent, tmp_path: Path
) -> None:
    readable = place_of(other.database_url)
    make_read_only(other, "on")
    missing = str(tmp_path / "nowhere")
    servers = Servers(several(other.database_url, readable, silent.place, missing))
    with pytest.raises(psycopg.OperationalError) as caught:
        await servers.connect(within=TIMEOUT)
    words = str(caught.value)
    assert f"{readable}:5432: is read-only" in words
    assert f"{silent.place}:5432: does not answer" in words
    assert f"{missing}:5432: connection" in words
    assert "\n" not in words
    make_read_only(other, "off")
    await (await servers.connect(within=TIMEOUT)).close()
    assert silent.asked == 1  # of those that failed, the one that answered is asked first


async def test_a_url_may_ask_for_any_server(other: EmbeddedStores, tmp_path: Path) -> None:
    place = place_of(other.database_url)
    make_read_only(other, "on")
    url = several(other.database_url, place, str(tmp_path / "nowhere"))
    async with opened(f"{url}&target_session_attrs=any") as database:
        assert await server_of(database) == place


async def test_operator_commands_find_the_writable_server(
    other: EmbeddedStores, empty_database_url: str
) -> None:
    place = place_of(empty_database_url)
    make_read_only(other, "on")
    url = several(empty_database_url, place_of(other.database_url), place)
    assert migrate(url, ())
    require_current(url)
    require_current(empty_database_url)


async def test_a_start_on_a_read_only_server_says_so(other: EmbeddedStores) -> None:
    make_read_only(other, "on")
    with pytest.raises(SchemaError, match=r"The database is read-only: it is a standby, or default_.* is on"):
        migrate(other.database_url, ())


async def test_a_start_without_any_server_says_what_each_one_has_answered(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        migrate(f"postgresql://someone:pa55@/any?host={tmp_path}/one,{tmp_path}/two&port=1,2", ())
    assert str(caught.value).startswith("The database is unavailable: no server takes")
    assert f"{tmp_path}/one:1: " in str(caught.value)
    assert f"{tmp_path}/two:2: " in str(caught.value)
    assert "pa55" not in str(caught.value)


async def test_ports_that_do_not_fit_the_hosts_are_refused_without_repeating_the_url() -> None:
    with pytest.raises(DatabaseUrlError, match="one port, or one for each host") as caught:
        Servers("postgresql://u:pa55@h1,h2,h3/d?port=1,2")
    assert "pa55" not in str(caught.value)


@pytest.fixture
def pair() -> Iterator[ReplicatedPostgres]:
    with (
        tempfile.TemporaryDirectory(prefix="pc-") as folder,
        ReplicatedPostgres(Path(folder), synchronous=False) as both,
    ):
        yield both


async def seen(snapshots: FreshSnapshots) -> tuple[int, bool]:
    """Return how many rows a snapshot shows, and whether a standby shows them."""
    async with snapshots.snapshot() as connection:
        query = "SELECT count(*), pg_is_in_recovery() FROM written"
        count, standby = (await connection.execute(text(query))).one()
    return count, standby


async def test_a_replica_is_read_once_it_has_what_was_written_before_and_else_the_primary(
    pair: ReplicatedPostgres,
) -> None:
    async def write(statement: str) -> None:
        async with primary.transaction() as connection:
            await connection.execute(text(statement))

    async with Database(pair.url, timeout=10) as primary:
        snapshots = FreshSnapshots(primary, Database(pair.replica_url, timeout=10, writes=False))
        await write("CREATE TABLE written (number integer)")
        readings = [await seen(snapshots)]
        for number in range(3):
            await write(f"INSERT INTO written VALUES ({number})")
            readings.append(await seen(snapshots))
        with psycopg.connect(pair.standby_url, autocommit=True) as standby:
            standby.execute("SELECT pg_wal_replay_pause()")
            await write("INSERT INTO written VALUES (3)")
            behind = await seen(snapshots)
            standby.execute("SELECT pg_wal_replay_resume()")
        for _ in range(40):  # each waits half a second for the standby
            again = await seen(snapshots)
            if again[1]:
                break
        pair.stop_standby()
        without = await seen(snapshots)
        await snapshots.close()

    assert [count for count, _ in readings] == [0, 1, 2, 3]
    assert any(is_standby for _, is_standby in readings)
    assert behind == (4, False)
    assert again == (4, True)
    assert without == (4, False)
