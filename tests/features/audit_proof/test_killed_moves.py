"""A process that moves months of the logs is killed: no entry is lost or doubled, and the move goes on."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime
from multiprocessing.process import BaseProcess

import pytest
from sqlalchemy import text

from service.audit.entries import encode
from service.audit.key_chain import Chain
from service.features.audit_proof import store_months as log_months
from service.features.audit_proof.days import Audit
from service.features.audit_proof.writer import Writing
from tests.audit.conftest import Place, operation, place_at, until
from tests.features.audit_proof import mover
from tests.support.databases import NewDatabase
from tests.support.forks import forks

MONTHS = ("1999-06", "2024-10", "2024-11")
A_DAY = 50
"""Entries of a day."""


@pytest.fixture
async def full(new_database: NewDatabase, seeded_template: str, redis_url: str) -> AsyncIterator[Place]:
    """A database whose operation log has only a default partition."""
    async with place_at(new_database(seeded_template), redis_url) as place:
        yield place


async def fill(place: Place, days: int) -> int:
    """Write entries on so many days of each month; return how many."""
    for month in MONTHS:
        for day in range(1, days + 1):
            await write(place, f"{month}-{day:02}", *range(A_DAY))
    return len(MONTHS) * days * A_DAY


async def write(place: Place, day: str, *numbers: int) -> None:
    moment = datetime.fromisoformat(f"{day}T12:00:00+00:00")
    lines = [encode(operation(action=f"{day} {number}", create_time=moment)) for number in numbers]
    await Writing(place.database, Chain()).write("operation_log", lines)


@contextmanager
def moving(place: Place, portion: int, *, attaches: bool = True) -> Iterator[BaseProcess]:
    """Have a process move all months, until it is done or the block ends."""
    process = forks().Process(target=mover.run, args=(place.database_url, portion, attaches))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


async def tables(place: Place) -> dict[str, int]:
    """Return the rows of each table of the operation log, also of those that are being filled."""
    listed = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'operation\\_log\\_%'"
    async with place.database.transaction() as connection:
        names = list((await connection.execute(text(listed))).scalars())
        return {
            name.removeprefix("operation_log_"): (
                await connection.execute(text(f"SELECT count(*) FROM sys.{name}"))
            ).scalar_one()
            for name in names
        }


async def copied(place: Place) -> int:
    """Return how many rows are in tables that are being filled."""
    return sum(rows for name, rows in (await tables(place)).items() if name.startswith("moving_"))


async def whole(place: Place, entries: int) -> None:
    """See that each entry is there once."""
    actions = await place.actions()
    assert len(actions) == len({*actions}) == entries


async def moved(place: Place, entries: int) -> None:
    """See that all entries are in the partitions of their months, with the chain unbroken."""
    rows = await tables(place)
    assert not [name for name in rows if name.startswith("moving_")]
    assert rows["default"] == 0
    assert sum(rows[month.replace("-", "_")] for month in MONTHS) == entries
    faults = [day.faults async for day in Audit(database=place.database, keys=[Chain()]).days()]
    assert [each for each in faults if each] == []


async def killed_at(place: Place, days: int, portion: int, kills: int) -> None:
    """Kill processes that move the months, each somewhat later than the one before."""
    entries = await fill(place, days)
    for kill in range(1, kills + 1):
        goal = entries * kill // (kills + 1)

        async def has_come_far(goal: int = goal) -> bool:
            return await copied(place) >= goal

        with moving(place, portion, attaches=False) as process:  # or it might be done before it is killed
            await until(has_come_far)
            await write(place, f"{MONTHS[-1]}-15", 1000 + kill)  # others write meanwhile
            assert process.is_alive()
        await whole(place, entries + kill)
        assert await copied(place) >= goal  # what was copied stays copied
    before = await place.rows()
    with moving(place, portion) as process:
        await asyncio.to_thread(process.join, 60)
        assert process.exitcode == 0
    assert await place.rows() == before
    await moved(place, entries + kills)


async def test_a_move_whose_process_is_killed_loses_and_doubles_nothing_and_goes_on(full: Place) -> None:
    await killed_at(full, 4, 20, 3)


@pytest.mark.extended
async def test_a_move_whose_process_is_killed_again_and_again_loses_and_doubles_nothing(full: Place) -> None:
    await killed_at(full, 28, 60, 25)


async def is_attaching(place: Place) -> bool:
    """Tell whether a process waits for the lock under which the months are attached."""
    waits = text("SELECT FROM pg_locks WHERE locktype = 'relation' AND NOT granted")
    async with place.database.transaction() as connection:
        return (await connection.execute(waits)).first() is not None


async def test_a_move_that_is_killed_while_the_months_are_attached_goes_on(full: Place) -> None:
    entries = await fill(full, 2)
    async with full.database.transaction(within=60) as reading:
        await reading.execute(text("SELECT FROM sys.operation_log LIMIT 1"))
        with moving(full, 1000):
            await until(lambda: is_attaching(full))
    await whole(full, entries)
    with moving(full, 1000) as process:
        await asyncio.to_thread(process.join, 60)
        assert process.exitcode == 0
    await moved(full, entries)


async def test_an_entry_that_is_saved_between_the_copies_and_the_attaching_is_moved_too(full: Place) -> None:
    entries = await fill(full, 2)
    last = "SELECT * FROM sys.operation_log ORDER BY id DESC LIMIT 1"
    async with full.database.transaction() as connection:
        await connection.execute(text(f"CREATE TABLE sys.not_saved_yet AS {last}"))
        await connection.execute(
            text("DELETE FROM sys.operation_log WHERE id IN (SELECT id FROM sys.not_saved_yet)")
        )
    async with full.database.transaction(within=60) as writing:
        await writing.execute(
            text("INSERT INTO sys.operation_log OVERRIDING SYSTEM VALUE SELECT * FROM sys.not_saved_yet")
        )
        with moving(full, 1000) as process:
            await until(lambda: is_attaching(full))
            await writing.commit()
            await asyncio.to_thread(process.join, 60)
            assert process.exitcode == 0
    await moved(full, entries)


async def test_a_move_goes_on_once_the_server_has_noticed_that_its_process_was_killed(full: Place) -> None:
    entries = await fill(full, 2)
    # A statement goes on at the server for a while after its client was killed, with the lock of the move.
    async with full.database.transaction(within=60) as orphan:
        assert await log_months.alone(orphan)
        with moving(full, 20) as process:
            await asyncio.to_thread(process.join, 1)
            assert process.is_alive()
            await orphan.commit()
            await asyncio.to_thread(process.join, 60)
            assert process.exitcode == 0
    await moved(full, entries)
