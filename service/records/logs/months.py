"""Monthly partitions of the logs: created before they are needed, dropped as a whole."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.logs import chain
from service.records.logs.chain import Head
from service.records.logs.inserts import Log
from service.records.schema.base import SCHEMA, past

_LOCK: Final = 0x6C6F67_6D6F6E  # one number for all workers of all nodes
_YIELD_AFTER: Final = "1s"
"""How long a change of the tables waits for a lock; other statements queue behind it."""


async def alone(connection: AsyncConnection) -> bool:
    """True if no other transaction maintains the tables; prevents others until this one ends."""
    limited = func.set_config("lock_timeout", _YIELD_AFTER, True)
    taken = select(func.pg_try_advisory_xact_lock(_LOCK), limited)
    return bool((await connection.execute(taken)).scalar_one())


async def today(connection: AsyncConnection) -> date:
    """Return the day, in UTC, that has come by the clocks of both the database and this machine."""
    now: datetime = (await connection.execute(select(past()))).scalar_one()
    return now.astimezone(UTC).date()


async def make(connection: AsyncConnection, log: Log, months: Iterable[date]) -> None:
    """Create the partitions of ``months`` (first days), and of all months with rows in the default one.

    Those rows move into their partitions.
    """
    there = set(await present(connection, log))
    for month in sorted({*months, *await _strays(connection, log)} - there):
        await _make(connection, log, month)


async def ended(connection: AsyncConnection, log: Log, day: date) -> list[date]:
    """Return the months that have a partition and ended on or before ``day``."""
    return [month for month in await present(connection, log) if _next(month) <= day]


async def drop(connection: AsyncConnection, log: Log, month: date) -> list[Head]:
    """Drop the partition of ``month``; return the heads of its days, marked as dropped, not yet sealed."""
    await connection.execute(text(f"DROP TABLE {_name(log, month)}"))
    heads = await chain.heads(connection, log)
    gone = [head for head in heads if month <= head.day < _next(month) and not head.dropped]
    return [replace(head, dropped=True) for head in gone]


async def present(connection: AsyncConnection, log: Log) -> list[date]:
    """Return the months that have a partition, in order."""
    statement = text(
        "SELECT right(child.relname, 7) FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid"
        " WHERE inhparent = CAST(:parent AS regclass) AND child.relname ~ '_[0-9]{4}_[0-9]{2}$' ORDER BY 1"
    )
    names = (await connection.execute(statement, {"parent": f"{SCHEMA}.{log}"})).scalars()
    return [date(int(name[:4]), int(name[5:]), 1) for name in names]


async def _strays(connection: AsyncConnection, log: Log) -> list[date]:
    month = "CAST(date_trunc('month', create_time AT TIME ZONE 'UTC') AS date)"
    statement = text(f"SELECT DISTINCT {month} FROM {SCHEMA}.{log}_default")  # noqa: S608 - names of ours
    return list((await connection.execute(statement)).scalars())


async def _make(connection: AsyncConnection, log: Log, month: date) -> None:
    """Create one partition: fill it from the default one first, then attach it.

    Attaching fails while the default partition has rows in its range.
    """
    bounds = [datetime.combine(day, time(), UTC).isoformat() for day in (month, _next(month))]
    parent = f"{SCHEMA}.{log}"
    default = f"{SCHEMA}.{log}_default"
    new = _name(log, month)
    inside = f"create_time >= '{bounds[0]}' AND create_time < '{bounds[1]}'"
    await connection.execute(text(f"LOCK TABLE {parent} IN ACCESS EXCLUSIVE MODE"))
    await connection.execute(
        text(f"CREATE TABLE {new} (LIKE {parent} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)")
    )
    moved = f"WITH moved AS (DELETE FROM {default} WHERE {inside} RETURNING *)"  # noqa: S608 - as above
    await connection.execute(text(f"{moved} INSERT INTO {new} SELECT * FROM moved"))  # noqa: S608 - as above
    await connection.execute(
        text(
            f"ALTER TABLE {parent} ATTACH PARTITION {new} FOR VALUES FROM ('{bounds[0]}') TO ('{bounds[1]}')"
        )
    )


def _name(log: Log, month: date) -> str:
    return f"{SCHEMA}.{log}_{month:%Y_%m}"


def _next(month: date) -> date:
    return (month + timedelta(days=31)).replace(day=1)
