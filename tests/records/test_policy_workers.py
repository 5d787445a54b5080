"""Workers and connections that listen to one another over the database."""

import asyncio

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Unavailable
from service.records.database.servers import announcements
from service.records.published import policy_workers


async def reported(connection: AsyncConnection) -> list[tuple[str, int, str | None]]:
    return [
        (worker.worker, worker.revision, worker.fault) for worker in await policy_workers.present(connection)
    ]


async def test_the_last_report_of_each_worker_is_told(connection: AsyncConnection) -> None:
    await policy_workers.report(connection, "b:1", 3, None, own_digest=None)
    await policy_workers.report(connection, "a:1", 3, "it can't be read", own_digest="ab")
    await policy_workers.report(connection, "b:1", 4, None, own_digest=None)

    assert await reported(connection) == [("a:1", 3, "it can't be read"), ("b:1", 4, None)]


async def test_a_worker_that_leaves_is_forgotten(connection: AsyncConnection) -> None:
    await policy_workers.report(connection, "a:1", 3, None, own_digest=None)
    await policy_workers.leave(connection, "a:1")

    assert await reported(connection) == []


async def test_a_worker_that_stops_reporting_is_forgotten_and_removed_by_the_others(
    connection: AsyncConnection,
) -> None:
    await policy_workers.report(connection, "a:1", 3, None, own_digest=None)
    await connection.execute(text("UPDATE sys.policy_worker SET seen_time = now() - interval '1 minute'"))
    assert await reported(connection) == []
    await policy_workers.report(connection, "b:1", 3, None, own_digest=None)
    assert await reported(connection) == [("b:1", 3, None)]

    # It may have been cut off, and read tokens for twelve hours by what it had.
    await connection.execute(
        text("UPDATE sys.policy_worker SET seen_time = now() - interval '14 hours' WHERE worker = 'a:1'")
    )
    await policy_workers.forget(connection)

    rows = await connection.execute(text("SELECT worker FROM sys.policy_worker"))
    assert list(rows.scalars()) == ["b:1"]


async def test_a_report_from_while_the_clock_was_ahead_counts_as_made_now(
    connection: AsyncConnection,
) -> None:
    await policy_workers.report(connection, "a:1", 3, None, own_digest=None)
    await connection.execute(text("UPDATE sys.policy_worker SET seen_time = now() + interval '1 hour'"))
    await policy_workers.forget(connection)

    assert await reported(connection) == [("a:1", 3, None)]
    rows = await connection.execute(text("SELECT seen_time <= now() FROM sys.policy_worker"))
    assert list(rows.scalars()) == [True]


async def test_what_is_announced_is_heard_in_order_once_listening_has_begun(empty_database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_database_url, autocommit=True) as speaker:
        heard = announcements(empty_database_url, 'a "channel"')
        assert await anext(heard) == ""
        for word in ("1", "2"):
            await speaker.execute("SELECT pg_notify(%s, %s)", ('a "channel"', word))
            assert await anext(heard) == word
        await heard.aclose()


async def test_a_connection_that_ends_is_unavailable(empty_database_url: str) -> None:
    heard = announcements(empty_database_url, "policy")
    await anext(heard)
    async with await psycopg.AsyncConnection.connect(empty_database_url, autocommit=True) as other:
        await other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND usename = current_user"  # not a process of the server's own
        )

    with pytest.raises(Unavailable):
        await anext(heard)


async def test_a_database_that_can_not_be_reached_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await anext(announcements("postgresql://nobody@127.0.0.1:1/none", "policy"))


async def test_a_listener_that_is_cancelled_leaves_no_connection(empty_database_url: str) -> None:
    began = asyncio.Event()

    async def listen() -> None:
        async for _ in announcements(empty_database_url, "policy"):
            began.set()

    listener = asyncio.create_task(listen())
    await began.wait()
    listener.cancel()
    await asyncio.gather(listener, return_exceptions=True)

    async with await psycopg.AsyncConnection.connect(empty_database_url, autocommit=True) as other:
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        for _ in range(1000):
            row = await (await other.execute(count)).fetchone()
            if row == (1,):
                break
            await asyncio.sleep(0.02)
        assert row == (1,)
