"""``sys.log_chain``: for each day of a log, the number of its entries and the hash of the last one."""

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Row, String, Text, cast, func, select, update
from sqlalchemy.dialects.postgresql import ARRAY, insert

from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.logs.inserts import TABLES, Log
from service.records.logs.readable import OUTERMOST, readable, readable_time, start
from service.records.schema.logs import log_chain, log_set_aside, log_verification, operation_log

_PLACE: Final = ("id", "chain_key", "chain_number", "chain_hash", "salts", "erased")
_AT_ONCE = 1000  # rows fetched at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of the chain of one day of a log, made with the key that ``key_id`` names; see the schema."""

    log: Log
    day: date
    key_id: str
    number: int
    hash: bytes
    prior_day: date | None
    dropped: bool = False
    seal: bytes = b""


class Mentioned(Struct, frozen=True):
    """Entries of the operation log that name ``target``, in a time; with ``field``, that have changed it."""

    target: str
    since: datetime
    until: datetime
    field: str | None = None


_DAY: Final = readable(log_chain.c.day, *OUTERMOST)
_HEAD: Final = RowMapper(Head, log_chain, day=_DAY, prior_day=readable(log_chain.c.prior_day, *OUTERMOST))


async def heads_of(connection: Connection, log: Log, key_id: str, days: Collection[date]) -> dict[date, Head]:
    """Return the existing heads of ``days``, by day."""
    conditions = (log_chain.c.log == log, log_chain.c.key_id == key_id, log_chain.c.day.in_(days))
    rows = await connection.execute(_HEAD.select.where(*conditions))
    return {row.day: _HEAD.of(row) for row in rows}


async def day_before(connection: Connection, log: Log, day: date) -> date | None:
    """Return the latest day before ``day`` that has a head, or None."""
    conditions = (log_chain.c.log == log, log_chain.c.day < day)
    latest: date | None = (
        await connection.execute(select(func.max(log_chain.c.day)).where(*conditions))
    ).scalar_one()
    return latest


async def save(connection: Connection, heads: Iterable[Head]) -> None:
    """Insert ``heads``, or replace the ones that they continue."""
    row = insert(log_chain)
    renewed = {name: row.excluded[name] for name in ("number", "hash", "dropped", "seal")}
    statement = row.on_conflict_do_update(index_elements=["log", "day", "key_id"], set_=renewed)
    await connection.execute(statement, [asdict(head) for head in heads])


async def unanchored(connection: Connection) -> list[Head]:
    """Return the heads that have grown since they were last logged, and record that they are logged now."""
    grown = (log_chain.c.told_number < log_chain.c.number, ~log_chain.c.dropped)
    statement = (
        update(log_chain).where(*grown).values(told_number=log_chain.c.number).returning(*_HEAD.columns)
    )
    grown_heads = [_HEAD.of(row) for row in await connection.execute(statement)]
    return sorted(grown_heads, key=lambda head: (head.log, head.day))


async def heads(connection: Connection, log: Log, day: date | None = None) -> list[Head]:
    """Return all heads of ``log``, or those of one day, by day."""
    ordered = _HEAD.select.where(log_chain.c.log == log).order_by(log_chain.c.day, log_chain.c.key_id)
    if day is not None:
        ordered = ordered.where(_DAY.in_([day]))
    return [_HEAD.of(row) for row in await connection.execute(ordered)]


async def lengths(connection: Connection) -> dict[Log, int]:
    """Return the number of entries of all chains of each log, without dropped ones."""
    counted = func.coalesce(func.sum(log_chain.c.number).filter(~log_chain.c.dropped), 0)
    rows = await connection.execute(select(log_chain.c.log, counted).group_by(log_chain.c.log))
    return dict.fromkeys(TABLES, 0) | {log: int(count) for log, count in rows}


async def days_with_entries(connection: Connection, log: Log) -> list[date]:
    """Return every UTC day that has an entry, in order; looks once for each, by an index.

    Days beyond the ``OUTERMOST`` are these.
    """
    moment = TABLES[log].c.create_time
    earliest = select(func.date(func.timezone("UTC", readable_time(func.min(moment)))))
    days: list[date] = []
    day: date | None = (await connection.execute(earliest)).scalar_one()
    while day is not None:
        days.append(day)
        if day == OUTERMOST[1]:
            break
        later = earliest.where(moment >= start(day + timedelta(days=1)))
        day = (await connection.execute(later)).scalar_one()
    return days


async def set_aside_count(connection: Connection) -> int:
    """Return the number of entries that were set aside."""
    return (await connection.execute(select(func.count()).select_from(log_set_aside))).scalar_one()


async def places(connection: Connection, mentioned: Mentioned) -> dict[tuple[date, str], frozenset[int]]:
    """Return the numbers of entries in their chains, by the day and the key of each chain."""
    table = operation_log.c
    day = func.date(func.timezone("UTC", table.create_time))
    chosen = select(day, table.chain_key, func.array_agg(table.chain_number)).where(
        table.targets.contains(cast([mentioned.target], ARRAY(Text))),
        table.create_time >= mentioned.since,
        table.create_time <= mentioned.until,
        table.chain_number.is_not(None),
    )
    if mentioned.field is not None:
        chosen = chosen.where(table.changes.contains([{"field": mentioned.field}]))
    rows = await connection.execute(chosen.group_by(day, table.chain_key))
    return {(on, key): frozenset(numbers) for on, key, numbers in rows}


async def entries(
    connection: Connection,
    log: Log,
    day: date,
    columns: Iterable[str],
    *,
    key: str | None = None,
    first: int = 0,
) -> AsyncGenerator[Row[*tuple[Any, ...]], None]:
    """Yield the entries of a UTC day in the order of their chains.

    A row has the id, the chain columns, ``salts``, ``erased``, and ``columns``, of which addresses and JSON
    are text. With ``key``, only those of its chain from number ``first`` on. The ``OUTERMOST`` days have all
    entries beyond, too. Only ``_AT_ONCE`` entries are in memory at a time.
    """
    table = TABLES[log]
    moment = table.c.create_time
    statement = (
        select(*chained_columns(log, columns))
        .order_by(table.c.chain_key, table.c.chain_number, table.c.id)
        .execution_options(yield_per=_AT_ONCE)
    )
    if day > OUTERMOST[0]:
        statement = statement.where(moment >= start(day))
    if day < OUTERMOST[1]:
        statement = statement.where(moment < start(day + timedelta(days=1)))
    if key is not None:
        statement = statement.where(table.c.chain_key == key, table.c.chain_number >= first)
    async with connection.stream(statement) as rows:
        async for row in rows:
            yield row


def chained_columns(log: Log, columns: Iterable[str]) -> list[ColumnElement[Any]]:
    """Return the columns of an entry as ``entries`` yields them."""
    table = TABLES[log]
    return [*(table.c[name] for name in _PLACE), *(_as_stored(table.c[name]) for name in columns)]


def _as_stored(column: ColumnElement[Any]) -> ColumnElement[Any]:
    if column.name == "create_time":
        return readable_time(column)
    kind = str(column.type)
    return cast(column, String).label(column.name) if kind in ("INET", "JSONB") else column


class Verification(Struct, frozen=True):
    """The last verification of a log: the days that it has read, and those not as they were written."""

    log: Log
    verify_time: datetime
    day_count: int
    faulty_count: int


_VERIFICATION = RowMapper(Verification, log_verification)


async def save_verification(connection: Connection, counts: Mapping[Log, tuple[int, int]]) -> None:
    """Record that logs were verified now; ``counts`` are the days that were read, and the faulty ones."""
    row = insert(log_verification)
    renewed = {name: row.excluded[name] for name in ("day_count", "faulty_count")}
    statement = row.on_conflict_do_update(index_elements=["log"], set_={**renewed, "verify_time": func.now()})
    values = [
        {"log": log, "day_count": days, "faulty_count": faulty} for log, (days, faulty) in counts.items()
    ]
    await connection.execute(statement, values)


async def latest_verifications(connection: Connection) -> list[Verification]:
    """Return the last verification of each log that was ever verified."""
    return await _VERIFICATION.all(connection, _VERIFICATION.select)
