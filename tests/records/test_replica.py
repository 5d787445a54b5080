"""Snapshots of a real standby: never older than what was written before."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from service.records.database.replica import FreshSnapshots
from service.records.database.transactions import Database
from tests.support.replicated import ReplicatedPostgres

pytestmark = pytest.mark.anyio


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

    primary = Database(pair.url, timeout=10)
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
    again = await seen(snapshots)
    pair.stop_standby()
    without = await seen(snapshots)
    await snapshots.close()
    await primary.close()

    assert [count for count, _ in readings] == [0, 1, 2, 3]
    assert any(is_standby for _, is_standby in readings)
    assert behind == (4, False)
    assert again == (4, True)
    assert without == (4, False)
