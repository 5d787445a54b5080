import asyncio
import gc
import os
import signal
import socket
import traceback
import warnings
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import psycopg
import pytest
from psycopg import waiting
from sqlalchemy import TextClause, text
from sqlalchemy.exc import DBAPIError
from structlog.testing import capture_logs

from service.errors import Overloaded, Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.write import Write
from service.records.database.connection import PromptConnection, conninfo
from service.records.database.failures import OVERLOADED
from service.records.database.transactions import Database
from tests.support.cases import with_each
from tests.support.waiting import eventually_here

SHORT = 0.8  # seconds: the limit of tests in which it is reached
AMPLE = 20.0  # seconds: the limit of all others, which no machine reaches
BOUND = 60.0  # seconds: far above both, far below "never"
SLOW = text("SELECT pg_sleep(30)")
SECRET = "a password"
SLOW_AND_SECRET = text("SELECT pg_sleep(30), :word")
WRONG_AND_SECRET = text("SELECT 1 / 0, :word")


@asynccontextmanager
async def opened(url: str, pool_size: int = 5, timeout: float = AMPLE) -> AsyncIterator[Database]:  # noqa: ASYNC109 - the service's setting
    async with Database(url, pool_size=pool_size, timeout=timeout) as database:
        async with asyncio.timeout(BOUND):
            yield database


async def is_refused(database: Database) -> bool:
    try:
        await database.ping()
    except Unavailable:
        return True
    return False


async def all_can_be_used_at_once(database: Database, pool_size: int) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(pool_size):
            connection = await stack.enter_async_context(database.transaction())
            await connection.execute(text("SELECT 1"))


async def run(database: Database, *statements: str, within: float | None = None) -> Any:
    """Run ``statements`` in one transaction and return the first value of the last, if it has one."""
    async with database.transaction(within=within) as connection:
        for statement in statements:
            result = await connection.execute(text(statement))
        return result.scalar() if result.returns_rows else None


class Slow:
    """A dry run whose look at what is stored takes longer than an answer of the database may."""

    async def begin(self, connection: Any) -> None:
        await connection.execute(text(f"SELECT pg_sleep({1.5 * SHORT})"))

    async def end(self, connection: Any) -> None:
        await connection.execute(text("SELECT 1"))

    def publish(self, policy: Any) -> None:
        """Nothing is published."""

    def warn(self, warnings: Iterable[str]) -> None:
        """Nothing is warned of."""

    def refresh(self, user_ids: Iterable[int]) -> None:
        """No session is touched."""


async def test_a_dry_run_may_take_longer_than_an_answer_of_the_database(empty_database_url: str) -> None:
    async with opened(empty_database_url, timeout=SHORT) as database:
        write = Write(Caller(1, "1", "admin", "Admin", "", (), HeldCodes(), 0.0), dry_run=Slow())
        async with database.transaction(write) as connection:
            assert (await connection.execute(text("SELECT 1"))).scalar_one() == 1


async def test_a_block_that_ends_is_committed_and_one_that_raises_is_rolled_back(
    empty_database_url: str,
) -> None:
    async def fail() -> None:
        async with database.transaction() as connection:
            await connection.execute(text("INSERT INTO kept VALUES (2)"))
            raise LookupError

    async with opened(empty_database_url) as database:
        await run(database, "CREATE TABLE kept (number integer)", "INSERT INTO kept VALUES (1)")
        with pytest.raises(LookupError):
            await fail()
        assert await run(database, "SELECT array_agg(number) FROM kept") == [1]


async def test_a_snapshot_sees_one_moment_and_writes_nothing(empty_database_url: str) -> None:
    async def write_in_a_snapshot() -> None:
        async with database.snapshot() as connection:
            await connection.execute(text("INSERT INTO kept VALUES (1)"))

    async with opened(empty_database_url) as database:
        await run(database, "CREATE TABLE kept (number integer)")
        async with database.snapshot() as reader:
            assert (await reader.execute(text("SELECT count(*) FROM kept"))).scalar_one() == 0
            await run(database, "INSERT INTO kept VALUES (1)")
            assert (await reader.execute(text("SELECT count(*) FROM kept"))).scalar_one() == 0
        with pytest.raises(DBAPIError, match="read-only"):
            await write_in_a_snapshot()
        assert await run(database, "SHOW transaction_isolation") == "read committed"
        assert await run(database, "SHOW transaction_read_only") == "off"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
async def test_every_usual_form_of_url_is_understood(empty_database_url: str, scheme: str) -> None:
    async with opened(empty_database_url.replace("postgresql", scheme, 1)) as database:
        await database.ping()


async def test_what_a_url_asks_for_is_kept_beside_the_bounds(empty_database_url: str) -> None:
    url = f"{empty_database_url}&application_name=elsewhere&options=-c%20search_path%3Dsys"
    async with opened(url) as database:
        assert await run(database, "SHOW search_path") == "sys"
        assert await run(database, "SHOW application_name") == "elsewhere"
        assert await run(database, "SHOW statement_timeout") == "18s"


@with_each("url", ["", "mysql://u:pass@h/d", "postgresql", "postgresql://u:pass@h:port:1/d?x"])
async def test_a_url_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="database URL") as caught:
        Database(url)
    assert "pass" not in "".join(traceback.format_exception(caught.value, chain=True))


async def test_a_stopped_server_is_unavailable_and_the_first_request_after_its_start_succeeds(
    fragile: EmbeddedStores,
) -> None:
    async with opened(fragile.database_url, pool_size=3) as database:
        await all_can_be_used_at_once(database, 3)
        fragile.postgres.stop()
        assert all([await is_refused(database) for _ in range(3)])
        fragile.postgres.start()
        await database.ping()
        await all_can_be_used_at_once(database, 3)


async def test_a_server_that_restarts_between_two_requests_goes_unnoticed(fragile: EmbeddedStores) -> None:
    async with opened(fragile.database_url, pool_size=3) as database:
        await all_can_be_used_at_once(database, 3)
        fragile.postgres.stop()
        fragile.postgres.start()
        assert not any(await asyncio.gather(*(is_refused(database) for _ in range(6))))


async def test_a_frozen_server_is_away_no_later_where_more_time_was_asked_for(
    fragile: EmbeddedStores,
) -> None:
    async def change() -> None:
        async with database.transaction(within=3600):
            pass

    async def read() -> None:
        async with database.snapshot(within=3600):
            pass

    async with opened(
        fragile.database_url, pool_size=2, timeout=SHORT
    ) as database:  # which ends after ``BOUND`` seconds
        await all_can_be_used_at_once(database, 2)
        fragile.postgres.pause()
        try:
            work = [change(), read(), change(), read()]  # over connections that are there, and new ones
            ends = await asyncio.gather(*work, return_exceptions=True)
        finally:
            fragile.postgres.resume()
        assert [type(end) for end in ends] == [Unavailable] * 4


async def test_a_frozen_server_is_unavailable_and_forgotten_once_it_thaws(fragile: EmbeddedStores) -> None:
    async with (
        opened(fragile.database_url, pool_size=3, timeout=SHORT) as database,
        opened(fragile.database_url, timeout=SHORT) as fresh,
    ):
        await all_can_be_used_at_once(database, 3)
        fragile.postgres.pause()
        try:
            refused = await asyncio.gather(*(is_refused(target) for target in [database] * 20 + [fresh] * 20))
            again = await asyncio.gather(*(is_refused(target) for target in [database] * 20 + [fresh] * 20))
        finally:
            fragile.postgres.resume()
        assert all(refused)
        assert all(again)
        await database.ping()
        await fresh.ping()
        await all_can_be_used_at_once(database, 3)


async def test_a_server_that_freezes_within_a_transaction_is_unavailable(fragile: EmbeddedStores) -> None:
    async def freeze_half_way() -> None:
        async with database.transaction() as connection:
            await connection.execute(text("SELECT 1"))
            fragile.postgres.pause()
            await connection.execute(text("SELECT 1"))

    async with opened(fragile.database_url, timeout=SHORT) as database:
        try:
            with pytest.raises(Unavailable):
                await freeze_half_way()
            assert await is_refused(database)
        finally:
            fragile.postgres.resume()
        await database.ping()


async def test_a_server_that_freezes_within_longer_work_is_away_no_later(fragile: EmbeddedStores) -> None:
    async def freeze_half_way() -> None:
        async with database.transaction(within=3600) as connection:
            await connection.execute(text("SELECT 1"))
            fragile.postgres.pause()
            await connection.execute(text("SELECT 1"))

    async with opened(fragile.database_url, timeout=SHORT) as database:  # which ends after ``BOUND`` seconds
        try:
            with pytest.raises(Unavailable, match="is unavailable"):
                await freeze_half_way()
        finally:
            fragile.postgres.resume()
        await database.ping()


@pytest.mark.parametrize("busy", ["the database", "the caller"])
async def test_work_that_takes_too_long_is_told_from_a_server_that_is_away(
    fragile: EmbeddedStores, busy: str
) -> None:
    async def work_too_long() -> None:
        async with database.transaction(within=1.0) as connection:
            await connection.execute(SLOW if busy == "the database" else text("SELECT 1"))
            await asyncio.sleep(10)

    async with opened(fragile.database_url, timeout=SHORT) as database:
        with pytest.raises(Unavailable, match=r"^This took longer than the limit of 1 s"):
            await work_too_long()


async def test_a_server_that_is_killed_is_unavailable_until_it_runs_again(fragile: EmbeddedStores) -> None:
    async def kill_half_way() -> None:
        async with database.transaction(within=BOUND) as connection:
            await connection.execute(text("SELECT 1"))
            assert fragile.postgres.pid is not None
            os.kill(fragile.postgres.pid, signal.SIGKILL)
            await connection.execute(SLOW)

    async with opened(fragile.database_url, pool_size=3) as database:
        await all_can_be_used_at_once(database, 3)
        with pytest.raises(Unavailable):
            await kill_half_way()
        while await is_refused(database):  # noqa: ASYNC110 - nobody tells when the server is back
            await asyncio.sleep(0.05)
        await all_can_be_used_at_once(database, 3)


async def test_an_address_that_never_answers_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        async with opened(f"postgresql://someone@127.0.0.1:{port}/any", timeout=SHORT) as database:
            assert all(await asyncio.gather(*(is_refused(database) for _ in range(10))))


async def test_a_database_that_does_not_exist_is_unavailable(stores: EmbeddedStores) -> None:
    async with opened(stores.url_of("no_such_database")) as database:
        assert await is_refused(database)


async def test_a_statement_that_takes_too_long_is_ended_by_the_server(empty_database_url: str) -> None:
    # Long enough for the server to be first, even where much else runs.
    async with opened(empty_database_url, pool_size=1, timeout=3.0) as database:
        before = await run(database, "SELECT pg_backend_pid()")
        with pytest.raises(Unavailable):
            await run(database, "SELECT pg_sleep(30)")
        assert await run(database, "SELECT pg_backend_pid()") == before


async def test_many_short_statements_share_the_bound_of_their_transaction(empty_database_url: str) -> None:
    async with opened(empty_database_url, timeout=SHORT) as database:
        with pytest.raises(Unavailable):
            await run(database, *["SELECT pg_sleep(0.05)"] * 1000)
        await database.ping()


async def test_a_transaction_may_ask_for_more_time(empty_database_url: str) -> None:
    async with opened(empty_database_url, timeout=SHORT) as database:
        longer = f"SELECT pg_sleep({SHORT * 1.5})"
        await run(database, longer, within=BOUND)
        with pytest.raises(Unavailable):
            await run(database, longer)


async def test_a_pool_that_is_used_up_is_unavailable_and_whole_again_afterwards(
    empty_database_url: str,
) -> None:
    async with opened(empty_database_url, pool_size=2, timeout=SHORT) as database:
        async with database.transaction(within=BOUND), database.transaction(within=BOUND):
            assert all(await asyncio.gather(*(is_refused(database) for _ in range(5))))
        await all_can_be_used_at_once(database, 2)


async def test_who_gets_no_connection_while_others_get_answers_is_told_of_the_load(
    empty_database_url: str,
) -> None:
    async def work() -> None:
        async with database.transaction() as connection:
            await connection.execute(text("SELECT pg_sleep(0.2)"))

    async with opened(empty_database_url, pool_size=1, timeout=2.0) as database:  # a third of what all take
        with capture_logs() as lines:
            ends = await asyncio.gather(*(work() for _ in range(30)), return_exceptions=True)

        waiting = [end for end in ends if isinstance(end, Overloaded)]
        assert {end.detail for end in waiting} == {OVERLOADED}
        assert len(waiting) > 10
        assert [line["event"] for line in lines if line["log_level"] == "warning"] == [
            "the database has no connection free"
        ]


async def test_cancelled_requests_leave_the_pool_whole(empty_database_url: str) -> None:
    async def slow_query() -> None:
        async with database.transaction() as connection:
            await connection.execute(text("SELECT pg_sleep(0.05)"))

    async with opened(empty_database_url, pool_size=3) as database:
        for wait in (0.0, 0.001, 0.01, 0.03, 0.06):
            tasks = [asyncio.create_task(slow_query()) for _ in range(8)]
            await asyncio.sleep(wait)
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(end is None or isinstance(end, asyncio.CancelledError) for end in ended)
        await all_can_be_used_at_once(database, 3)


async def test_a_connection_whose_wait_is_interrupted_is_closed_at_once(fragile: EmbeddedStores) -> None:
    connection = await PromptConnection.connect(conninfo(fragile.database_url))
    waiting = asyncio.create_task(connection.execute("SELECT pg_sleep(30)"))
    await asyncio.sleep(0.05)
    fragile.postgres.pause()
    waiting.cancel()
    async with asyncio.timeout(BOUND):
        await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert connection.closed


async def test_a_connection_that_comes_back_after_the_end_is_closed(empty_database_url: str) -> None:
    async with opened(empty_database_url) as database:
        async with database.transaction() as connection:
            raw = (await connection.get_raw_connection()).driver_connection
            late = asyncio.create_task(database.read(b"SELECT pg_backend_pid() FROM pg_sleep(1)", {}))
            assert await eventually_here(lambda: database.reads.pool.in_use == 1)
            await database.close()
        assert raw is not None
        assert raw.closed
        await late
        assert (database.reads.pool.in_use, database.reads.pool.idle) == (0, 0)


async def test_no_moment_of_a_cancellation_loses_a_connection(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waiting, "MAX_BUSY_TIME", 0)  # each call of psycopg gives way, as on a busy machine

    async def read(database: Database) -> None:
        async with database.snapshot() as connection:
            await connection.execute(text("SELECT 1"))

    async with opened(empty_database_url, pool_size=1) as database:
        await read(database)
        with warnings.catch_warnings(record=True) as recorded:
            warnings.simplefilter("always")
            for turns in range(30):
                reading = asyncio.create_task(read(database))
                for _ in range(turns):
                    await asyncio.sleep(0)
                reading.cancel()
                await asyncio.wait([reading])
                del reading
            gc.collect()
        assert [str(warning.message) for warning in recorded] + caplog.messages == []
        await read(database)


async def test_no_error_shows_a_statement_or_a_parameter(empty_database_url: str) -> None:
    async def fail_with(statement: TextClause) -> None:
        async with database.transaction() as connection:
            await connection.execute(statement, {"word": SECRET})

    # Long enough for the server to give up first, even where much else runs.
    async with opened(empty_database_url, timeout=3.0) as database:
        with pytest.raises(Unavailable) as slow:
            await fail_with(SLOW_AND_SECRET)
        with pytest.raises(DBAPIError) as refused:
            await fail_with(WRONG_AND_SECRET)
    shown = "".join(traceback.format_exception(slow.value))
    assert "canceling statement" in shown
    assert SECRET not in shown
    assert "pg_sleep" not in shown
    assert SECRET not in "".join(traceback.format_exception(refused.value))


async def test_a_transaction_after_a_snapshot_is_as_read_only_as_the_server_has_it(
    empty_database_url: str,
) -> None:
    async def write() -> None:
        await run(database, "INSERT INTO kept VALUES (1)")

    async with opened(empty_database_url, pool_size=1) as database:
        await run(database, "CREATE TABLE kept (number integer)")
        await run(database, "SET default_transaction_read_only = on")  # of the session, which stays
        async with database.snapshot() as reader:
            await reader.execute(text("SELECT 1"))
        with pytest.raises(Unavailable, match="does not accept changes"):
            await write()
        assert await run(database, "SHOW transaction_read_only") == "on"


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 FROM nothing",
        "SELECT nothing",
        "SELECT 1 FROM nothing.kept",
        "CREATE TABLE nothing.kept ()",
        "SELECT nothing()",
        "SELECT 1::nothing",
        "COPY nothing TO STDOUT",
        "SELECT passwd FROM pg_shadow",
    ],
)
async def test_what_migrations_have_made_and_is_missing_is_unavailable(
    empty_database_url: str, statement: str
) -> None:
    async with opened(empty_database_url) as database:
        with capture_logs() as lines, pytest.raises(Unavailable, match="lacks"):
            await run(database, statement)
    assert [(line["event"], line["log_level"]) for line in lines] == [("the database fails", "error")]


async def test_a_row_that_every_installation_has_and_is_missing_is_unavailable(
    empty_database_url: str,
) -> None:
    async def read() -> None:
        async with database.transaction() as connection:
            (await connection.execute(text("SELECT 1 WHERE false"))).one()

    async with opened(empty_database_url) as database:
        with pytest.raises(Unavailable, match="lacks"):
            await read()


async def test_the_log_is_told_of_one_cause_once_in_a_while_and_of_no_parameter(
    empty_database_url: str,
) -> None:
    async def wrong() -> None:
        async with database.transaction() as connection:
            await connection.execute(text("SELECT :word FROM nothing"), {"word": SECRET})

    async with opened(empty_database_url, timeout=SHORT) as database:
        with capture_logs() as lines:
            for _ in range(3):
                with pytest.raises(Unavailable):
                    await wrong()
            with pytest.raises(Unavailable):
                await run(database, "SELECT pg_sleep(30)")
    reasons = [line["reason"] for line in lines]
    assert reasons[0] == 'UndefinedTable: relation "nothing" does not exist'
    assert len(reasons) == 2
    assert SECRET not in str(lines)


async def test_an_emptied_database_is_unavailable_except_to_the_one_that_looks_again(
    empty_database_url: str,
) -> None:
    async def look() -> Any:
        async with database.transaction(even_if_emptied=True) as connection:
            return (await connection.execute(text("SELECT 1"))).scalar()

    async def read() -> None:
        async with database.snapshot():
            pass

    async with opened(empty_database_url) as database:
        database.emptied = True
        assert await is_refused(database)
        with pytest.raises(Unavailable):
            await read()
        assert await look() == 1
        database.emptied = False
        assert not await is_refused(database)


async def test_a_server_made_read_only_is_so_for_connections_that_are_there(fragile: EmbeddedStores) -> None:
    administrator = fragile.url_of("portcullis", administrator=True)

    async def configure(value: str) -> None:
        # Each on its own: neither may be part of a transaction.
        with psycopg.connect(administrator, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
            connection.execute("SELECT pg_reload_conf()")

    async def until(value: str) -> None:
        shown = text("SHOW default_transaction_read_only")
        while True:
            async with database.transaction() as connection:
                if (await connection.execute(shown)).scalar() == value:
                    return
            await asyncio.sleep(0.01)

    async with opened(fragile.database_url, pool_size=1) as database:
        await run(database, "CREATE TABLE kept_here (number integer)")
        async with database.snapshot() as reader:
            before = (await reader.execute(text("SELECT pg_backend_pid()"))).scalar()
        await configure("on")
        try:
            await until("on")
            with pytest.raises(Unavailable, match="does not accept changes"):
                await run(database, "INSERT INTO kept_here VALUES (1)")
            assert await run(database, "SELECT pg_backend_pid()") == before
        finally:
            await configure("off")
        await until("off")
        await run(database, "DROP TABLE kept_here")


async def test_nothing_is_prepared_and_no_option_is_sent_where_a_pooler_shares_the_sessions(
    empty_database_url: str,
) -> None:
    async def prepared(*, pooled: bool) -> tuple[int, str]:
        async with Database(empty_database_url, pool_size=1, pooled=pooled) as database:
            for _ in range(10):
                await run(database, "SELECT 1")
            names = await database.read(b"SELECT name FROM pg_prepared_statements", {})
            count = await run(database, "SELECT count(*) FROM pg_prepared_statements")
            return count + len(names), await run(database, "SHOW statement_timeout")

    assert await prepared(pooled=True) == (0, "0")
    count, limit = await prepared(pooled=False)
    assert count > 0
    assert limit == "1800ms"
