"""Monthly partitions of the logs: created before they are needed, dropped as a whole."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from sqlalchemy import func, select, text

from service.features.audit_proof import store_chain as chain
from service.features.audit_proof.store_chain import Head
from service.records.database.transactions import Connection
from service.records.logs.inserts import Log
from service.records.schema.base import SCHEMA, past

_LOCK: Final = 0x6C6F67_6D6F6E  # one number for all workers of all nodes
PORTION: Final = 20_000
"""The most rows that are copied in one transaction; takes about a second."""
_LATE: Final = 10_000
"""Number of ids by which a row may be saved late; writers take turns, so none is."""
_MONTH: Final = "CAST(date_trunc('month', create_time AT TIME ZONE 'UTC') AS date)"
_INSIDE: Final = "inside_month"
_YIELD_AFTER: Final = "1s"
"""Time for which a change of the tables waits for a lock; other statements queue behind it."""


async def alone(connection: Connection) -> bool:
    """True if no other transaction maintains the tables; prevents others until this one ends."""
    limited = func.set_config("lock_timeout", _YIELD_AFTER, True)
    taken = select(func.pg_try_advisory_xact_lock(_LOCK), limited)
    return bool((await connection.execute(taken)).scalar_one())


async def today(connection: Connection) -> date:
    """Return the day, in UTC, that has begun by the clocks of both the database and this machine."""
    now: datetime = (await connection.execute(select(past()))).scalar_one()
    return now.astimezone(UTC).date()


async def make(connection: Connection, log: Log, months: Iterable[date]) -> None:
    """Create the partitions of ``months`` (first days), and of all months with rows in the default one.

    Those rows move into their partitions.
    """
    there = set(await present(connection, log))
    for month in sorted({*months, *await _strays(connection, log)} - there):
        await _make(connection, log, month)


async def stage(connection: Connection, log: Log, most: int) -> int:
    """Copy at most ``most`` rows of the default partition to tables of their months; return their number.

    The rows stay in place until ``attach``: nothing is locked, and an interrupted copy continues at its last
    row. Rows of a log never change, and come in the order of their ids.
    """
    last = await _last_staged(connection, log)
    default = f"{SCHEMA}.{log}_default"
    part = f"SELECT id, create_time FROM {default} WHERE id > :last ORDER BY id LIMIT :most"  # noqa: S608 - names of ours
    months = f"array_agg(DISTINCT {_MONTH}) AS months"
    facts = text(f"SELECT max(id) AS upper, count(*) AS rows, {months} FROM ({part}) AS part")  # noqa: S608
    portion = (await connection.execute(facts, {"last": last, "most": most})).one()
    for month in portion.months or ():
        await _copy(connection, log, month, last, portion.upper)
    return int(portion.rows)


async def attach(connection: Connection, log: Log) -> None:
    """Make partitions of the tables that ``stage`` has filled, and empty the default partition.

    The log is locked meanwhile, for as long as the last rows take that ``stage`` has not copied.
    """
    if not await _staged(connection, log):
        return
    parent, default = f"{SCHEMA}.{log}", f"{SCHEMA}.{log}_default"
    await connection.execute(text(f"LOCK TABLE {parent} IN ACCESS EXCLUSIVE MODE"))
    last = await _last_staged(connection, log) - _LATE
    months = f"SELECT DISTINCT {_MONTH} FROM {default} WHERE id > :last"  # noqa: S608 - names of ours
    for month in (await connection.execute(text(months), {"last": last})).scalars().all():
        await _copy(connection, log, month, last)
    await connection.execute(text(f"ALTER TABLE {parent} DETACH PARTITION {default}"))
    await connection.execute(text(f"DROP TABLE {default}"))
    for month in await _staged(connection, log):
        name = _name(log, month).removeprefix(f"{SCHEMA}.")
        await connection.execute(text(f"ALTER TABLE {_staging(log, month)} RENAME TO {name}"))
        begin, end = _bounds(month)
        attached = f"ATTACH PARTITION {SCHEMA}.{name} FOR VALUES FROM ('{begin}') TO ('{end}')"
        await connection.execute(text(f"ALTER TABLE {parent} {attached}"))
        await connection.execute(text(f"ALTER TABLE {SCHEMA}.{name} DROP CONSTRAINT {_INSIDE}"))
    await connection.execute(text(f"CREATE TABLE {default} PARTITION OF {parent} DEFAULT"))


async def is_staged(connection: Connection, log: Log) -> bool:
    """Return true if rows were copied that ``attach`` has not put in place: changes of rows would be lost."""
    return bool(await _staged(connection, log))


async def ended(connection: Connection, log: Log, day: date) -> list[date]:
    """Return the months that have a partition and ended on or before ``day``."""
    return [month for month in await present(connection, log) if _next(month) <= day]


async def drop(connection: Connection, log: Log, month: date) -> list[Head]:
    """Drop the partition of ``month``; return the heads of its days, marked as dropped, not yet sealed."""
    await connection.execute(text(f"DROP TABLE {_name(log, month)}"))
    heads = await chain.heads(connection, log)
    gone = [head for head in heads if month <= head.day < _next(month) and not head.dropped]
    return [replace(head, dropped=True) for head in gone]


async def present(connection: Connection, log: Log) -> list[date]:
    """Return the months that have a partition, in order."""
    statement = text(
        "SELECT right(child.relname, 7) FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid"
        " WHERE inhparent = CAST(:parent AS regclass) AND child.relname ~ '_[0-9]{4}_[0-9]{2}$' ORDER BY 1"
    )
    names = (await connection.execute(statement, {"parent": f"{SCHEMA}.{log}"})).scalars()
    return [date(int(name[:4]), int(name[5:]), 1) for name in names]


async def _strays(connection: Connection, log: Log) -> list[date]:
    statement = text(f"SELECT DISTINCT {_MONTH} FROM {SCHEMA}.{log}_default")  # noqa: S608 - names of ours
    return list((await connection.execute(statement)).scalars())


async def _make(connection: Connection, log: Log, month: date) -> None:
    """Create one partition: fill it from the default one first, then attach it.

    Attaching fails while the default partition has rows in its range.
    """
    bounds = _bounds(month)
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


async def _copy(connection: Connection, log: Log, month: date, last: int, upper: int | None = None) -> None:
    """Copy the rows of a month behind the id ``last``, up to ``upper``, that are not copied yet."""
    begin, end = _bounds(month)
    staging, default = _staging(log, month), f"{SCHEMA}.{log}_default"
    inside = f"create_time >= '{begin}' AND create_time < '{end}'"
    if month not in await _staged(connection, log):
        like = "INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES"
        check = f"CONSTRAINT {_INSIDE} CHECK ({inside})"  # attaching need not look at the rows then
        await connection.execute(text(f"CREATE TABLE {staging} (LIKE {SCHEMA}.{log} {like}, {check})"))
    until = "" if upper is None else f" AND id <= {upper:d}"
    copied = f"SELECT FROM {staging} AS copy WHERE copy.id = each.id AND copy.create_time = each.create_time"
    rows = f"SELECT * FROM {default} AS each WHERE id > {last:d}{until} AND {inside}"  # noqa: S608
    await connection.execute(text(f"INSERT INTO {staging} {rows} AND NOT EXISTS ({copied})"))


async def _staged(connection: Connection, log: Log) -> list[date]:
    """Return the months of which rows were copied, in order."""
    names = text(
        "SELECT right(relname, 7) FROM pg_class WHERE relnamespace = CAST(:schema AS regnamespace)"
        " AND relkind = 'r' AND relname ~ :form ORDER BY 1"
    )
    given = {"schema": SCHEMA, "form": f"^{log}_moving_[0-9]{{4}}_[0-9]{{2}}$"}
    months = (await connection.execute(names, given)).scalars()
    return [date(int(name[:4]), int(name[5:]), 1) for name in months]


async def _last_staged(connection: Connection, log: Log) -> int:
    """Return the highest id of the rows that were copied; 0 for none."""
    last = 0
    for month in await _staged(connection, log):
        highest = text(f"SELECT coalesce(max(id), 0) FROM {_staging(log, month)}")  # noqa: S608 - names of ours
        last = max(last, (await connection.execute(highest)).scalar_one())
    return last


def _staging(log: Log, month: date) -> str:
    return f"{SCHEMA}.{log}_moving_{month:%Y_%m}"


def _bounds(month: date) -> list[str]:
    return [datetime.combine(day, time(), UTC).isoformat() for day in (month, _next(month))]


def _name(log: Log, month: date) -> str:
    return f"{SCHEMA}.{log}_{month:%Y_%m}"


def _next(month: date) -> date:
    return (month + timedelta(days=31)).replace(day=1)
