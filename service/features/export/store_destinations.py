"""``sys.export_destination``: lease, progress and attempts of each destination."""

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Column, Double, cast, delete, func, literal, null, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from service.features.export.schema import export_dead_letter, export_decision, export_destination
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.logs.inserts import TABLES, Log
from service.settings import ExportLog

_POSITIONS: Final[Mapping[ExportLog, Column[Any]]] = {
    "operations": export_destination.c.operation_id,
    "logins": export_destination.c.login_id,
    "decisions": export_destination.c.decision_id,
}


class StoredDestination(Struct, frozen=True):
    """The state of a destination; see the schema.

    ``leased_for`` and ``due_in`` are seconds, by the database's clock, until the lease expires and until the
    next attempt is due; None without one.
    """

    name: str
    worker: str | None
    leased_for: float | None
    operation_id: int | None
    login_id: int | None
    decision_id: int | None
    failures: int
    reason: str | None
    due_in: float | None
    success_time: datetime | None
    waiting_time: datetime | None
    sent: int
    dead_letters: int

    def position(self, log: ExportLog) -> int | None:
        """Return the id of the last entry of ``log`` that was sent; None if the log was never exported."""
        last_id: int | None = getattr(self, _POSITIONS[log].name)
        return last_id

    def left(self, logs: Collection[ExportLog]) -> list[ExportLog]:
        """Return the logs that it received and that are not among ``logs``; their entries are held back."""
        return [log for log in _POSITIONS if log not in logs and self.position(log) is not None]


def _seconds_until(column: Column[Any]) -> Any:
    return cast(func.extract("epoch", column - func.clock_timestamp()), Double)


_ROW: Final = RowMapper(
    StoredDestination,
    export_destination,
    leased_for=_seconds_until(export_destination.c.lease_time).label("leased_for"),
    due_in=_seconds_until(export_destination.c.retry_time).label("due_in"),
    dead_letters=select(func.count())
    .where(export_dead_letter.c.destination == export_destination.c.name)
    .scalar_subquery()
    .label("dead_letters"),
)


async def stored(connection: Connection, name: str) -> StoredDestination | None:
    """Return the state of a destination; None before its first attempt."""
    return await _ROW.only(connection, export_destination.c.name == name)


async def all_stored(connection: Connection) -> list[StoredDestination]:
    """Return the state of all destinations, by name, including those not in the settings."""
    return await _ROW.all(connection, _ROW.select.order_by(export_destination.c.name))


async def add(connection: Connection, name: str) -> None:
    """Add a destination, if it is missing."""
    await connection.execute(insert(export_destination).values(name=name).on_conflict_do_nothing())


async def lease(connection: Connection, name: str, worker: str, seconds: float) -> bool:
    """Give ``worker`` the lease for ``seconds``; return false while another worker holds it.

    A lease that expires later than a new one was taken while the database's clock was ahead, and counts as
    expired. A live worker takes it again.
    """
    now = func.clock_timestamp()
    table = export_destination.c
    ends = now + timedelta(seconds=seconds)
    free = or_(table.worker.is_(None), table.worker == worker, ~table.lease_time.between(now, ends))
    taken = update(export_destination).where(table.name == name, free)
    return bool((await connection.execute(taken.values(worker=worker, lease_time=ends))).rowcount)


async def release(connection: Connection, name: str, worker: str) -> None:
    """Release the lease, if ``worker`` holds it."""
    await connection.execute(_of(name, worker).values(worker=None, lease_time=None))


async def begin(connection: Connection, name: str, log: ExportLog, position: int) -> None:
    """Set the first position of ``log``, if it has none."""
    column = _POSITIONS[log]
    unset = update(export_destination).where(export_destination.c.name == name, column.is_(None))
    await connection.execute(unset.values({column: position}))


async def advance(
    connection: Connection,
    name: str,
    worker: str,
    *,
    log: ExportLog,
    position: int,
    sent: int,
    waiting_time: datetime | None,
) -> bool:
    """Record progress of ``log`` to ``position``, with ``sent`` entries; return false without the lease.

    Failures remain, because they may be of another log.
    """
    values = {
        _POSITIONS[log]: position,
        export_destination.c.sent: export_destination.c.sent + sent,
        export_destination.c.waiting_time: waiting_time,
        export_destination.c.success_time: func.clock_timestamp(),
    }
    return bool((await connection.execute(_of(name, worker).values(values))).rowcount)


async def settle(connection: Connection, name: str, worker: str) -> None:
    """Record that nothing fails or waits, if ``worker`` holds the lease."""
    await connection.execute(_of(name, worker).values(_GOOD))


async def fail(
    connection: Connection, name: str, worker: str, *, reason: str, again_in: float, waiting_time: datetime
) -> bool:
    """Record a failed attempt; the next is due in ``again_in`` seconds. Return false without the lease."""
    values = {
        "failures": export_destination.c.failures + 1,
        "reason": reason,
        "retry_time": func.clock_timestamp() + timedelta(seconds=again_in),
        "waiting_time": waiting_time,
    }
    return bool((await connection.execute(_of(name, worker).values(values))).rowcount)


async def retry_now(connection: Connection, name: str) -> bool:
    """Make the next attempt due now; return false for an unknown destination."""
    due = update(export_destination).where(export_destination.c.name == name).values(retry_time=null())
    return bool((await connection.execute(due)).rowcount)


async def leave(connection: Connection, name: str, logs: Collection[ExportLog]) -> None:
    """Delete the positions of a destination in ``logs``, so that they are no longer held back for it."""
    positions = {_POSITIONS[log]: null() for log in logs}
    left = update(export_destination).where(export_destination.c.name == name)
    await connection.execute(left.values(positions))


async def forget(connection: Connection, name: str) -> bool:
    """Delete the state of a destination and its dead letters; return false for an unknown one."""
    await connection.execute(delete(export_dead_letter).where(export_dead_letter.c.destination == name))
    gone = delete(export_destination).where(export_destination.c.name == name)
    return bool((await connection.execute(gone)).rowcount)


def _of(name: str, worker: str) -> Any:
    table = export_destination.c
    return update(export_destination).where(table.name == name, table.worker == worker)


_GOOD: Final = {
    export_destination.c.failures: 0,
    export_destination.c.reason: null(),
    export_destination.c.retry_time: null(),
    export_destination.c.waiting_time: null(),
    export_destination.c.success_time: func.clock_timestamp(),
}


_OF_TABLES: Final = {
    "operation_log": export_destination.c.operation_id,
    "login_log": export_destination.c.login_id,
}


async def kept(connection: Connection) -> tuple[int, str]:
    """Return the number of rows that only the export sends or deletes, with a sentence about them.

    Destinations hold back months of the logs; dead letters and events would remain permanently.
    """
    tables = (export_destination, export_dead_letter, export_decision)
    counts = [select(func.count()).select_from(table).scalar_subquery() for table in tables]
    count: int = (await connection.execute(select(sum(counts, literal(0))))).scalar_one()
    return count, (
        "destinations still have state, dead letters or pending events: turn the feature on, see "
        "portcullis export status, and delete each with portcullis export forget"
    )


async def lagging(connection: Connection, log: Log, month: date) -> list[str]:
    """Return the names of the destinations that export ``log`` and lack entries of ``month``."""
    table, position = TABLES[log], _OF_TABLES[log]
    begin = datetime.combine(month, time(), UTC)
    end = datetime.combine((month + timedelta(days=31)).replace(day=1), time(), UTC)
    last = (
        select(func.max(table.c.id))
        .where(table.c.create_time >= begin, table.c.create_time < end)
        .scalar_subquery()
    )
    statement = select(export_destination.c.name).where(position < last).order_by(export_destination.c.name)
    return list((await connection.execute(statement)).scalars())
