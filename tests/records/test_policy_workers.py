from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records import policy_workers

pytestmark = pytest.mark.anyio


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
