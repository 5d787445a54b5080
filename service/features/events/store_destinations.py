"""``sys.rights_event_destination``: lease, position, attempts and dead letters of each destination."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import insert

from service.features.events.schema import rights_event, rights_event_dead_letter, rights_event_destination
from service.features.events.store import RightsEvent, last
from service.kernel.clock import now
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.rights import user

_TABLE: Final = rights_event_destination.c
_LETTER: Final = rights_event_dead_letter.c
_NOW: Final = sa.func.clock_timestamp()


class StoredDestination(Struct, frozen=True):
    """The state of a destination; see the schema.

    ``leased_for``, ``failing_for`` and ``due_in`` are seconds, by the database's clock, until the lease
    expires, since the first failure, and until the next attempt; None without one. ``stop_time`` is the time
    from which on nothing is sent, since the receiver is gone. ``waiting_time`` is the time of the oldest
    event after the position.
    """

    name: str
    worker: str | None = None
    leased_for: float | None = None
    position: int = 0
    failures: int = 0
    failing_for: float | None = None
    reason: str | None = None
    due_in: float | None = None
    stop_time: datetime | None = None
    success_time: datetime | None = None
    sent: int = 0
    missed: int = 0
    dead_letters: int = 0
    waiting_time: datetime | None = None

    @property
    def lag(self) -> float:
        """The age of the oldest event after the position, in seconds; 0 without one."""
        return 0.0 if self.waiting_time is None else max(0.0, (now() - self.waiting_time).total_seconds())


class DeadLetter(Struct, frozen=True):
    """An event that a destination has not accepted."""

    destination: str
    position: int
    event_id: UUID
    kind: str
    event_time: datetime
    reason: str
    dead_time: datetime


def _seconds(difference: sa.ColumnElement[Any]) -> sa.ColumnElement[float]:
    return sa.cast(sa.func.extract("epoch", difference), sa.Double)


_STATE: Final = RowMapper(
    StoredDestination,
    rights_event_destination,
    leased_for=_seconds(_TABLE.lease_time - _NOW).label("leased_for"),
    failing_for=_seconds(_NOW - _TABLE.failing_time).label("failing_for"),
    due_in=_seconds(_TABLE.retry_time - _NOW).label("due_in"),
    dead_letters=sa.select(sa.func.count())
    .where(_LETTER.destination == _TABLE.name)
    .scalar_subquery()
    .label("dead_letters"),
    waiting_time=sa.select(rights_event.c.event_time)
    .where(rights_event.c.position > _TABLE.position)
    .order_by(rights_event.c.position)
    .limit(1)
    .scalar_subquery()
    .label("waiting_time"),
)
_LETTERS: Final = RowMapper(DeadLetter, rights_event_dead_letter)


async def all_stored(connection: Connection) -> dict[str, StoredDestination]:
    """Return the state of all destinations, also of those no longer in the settings."""
    return {each.name: each for each in await _STATE.all(connection, _STATE.select.order_by(_TABLE.name))}


async def lease(connection: Connection, name: str, worker: str, seconds: float) -> StoredDestination | None:
    """Give ``worker`` the lease for ``seconds``, and return the state; None while another worker has it.

    A new destination begins with the next event. A lease that expires later than a new one was taken while
    the database's clock was ahead, and counts as expired.
    """
    state = await _STATE.only(connection, _TABLE.name == name)
    if state is None:
        added = insert(rights_event_destination).values(name=name, position=await last(connection))
        await connection.execute(added.on_conflict_do_nothing())
    elif state.worker == worker and seconds / 2 < (state.leased_for or 0.0) <= seconds:
        return state
    ends = _NOW + timedelta(seconds=seconds)
    free = sa.or_(_TABLE.worker.is_(None), _TABLE.worker == worker, ~_TABLE.lease_time.between(_NOW, ends))
    taken = sa.update(rights_event_destination).where(_TABLE.name == name, free)
    if not (await connection.execute(taken.values(worker=worker, lease_time=ends))).rowcount:
        return None
    return await _STATE.only(connection, _TABLE.name == name)


async def renew(connection: Connection, name: str, worker: str, seconds: float) -> bool:
    """Extend the lease of ``worker``; return False if another worker has it."""
    values = {"lease_time": _NOW + timedelta(seconds=seconds)}
    held = (_TABLE.name == name) & (_TABLE.worker == worker)
    return bool(
        (await connection.execute(sa.update(rights_event_destination).where(held).values(values))).rowcount
    )


async def release(connection: Connection, name: str, worker: str) -> None:
    """Release the lease, if ``worker`` holds it."""
    held = sa.update(rights_event_destination).where(_TABLE.name == name, _TABLE.worker == worker)
    await connection.execute(held.values(worker=None, lease_time=_NOW))  # from which ``forget`` counts


async def advance(
    connection: Connection, state: StoredDestination, worker: str, *, to: int, sent: int
) -> bool:
    """Set the position, count ``sent`` accepted events since ``state``, and clear its failures.

    Return False, and change nothing, without the lease, or if a replay has changed the position.
    """
    values: dict[str, Any] = {"position": to, "sent": _TABLE.sent + sent}
    values |= {"failures": 0, "failing_time": None, "reason": None, "retry_time": None}
    if sent:
        values["success_time"] = _NOW
    moved = sa.update(rights_event_destination).where(*_unchanged(state, worker)).values(values)
    return bool((await connection.execute(moved)).rowcount)


async def accept(connection: Connection, name: str, positions: Collection[int]) -> None:
    """Delete the dead letters of events that the destination has now accepted."""
    of_name = (_LETTER.destination == name) & _LETTER.position.in_(positions)
    await connection.execute(sa.delete(rights_event_dead_letter).where(of_name))


async def fail(
    connection: Connection, state: StoredDestination, worker: str, *, reason: str, again_in: float | None
) -> bool:
    """Record a failed attempt for the event after the position of ``state``; see ``advance``.

    Without ``again_in``, in seconds, nothing is sent until a replay.
    """
    values = {
        "failures": _TABLE.failures + 1,
        "failing_time": sa.func.coalesce(_TABLE.failing_time, _NOW),
        "reason": reason,
        "retry_time": None if again_in is None else _NOW + timedelta(seconds=again_in),
        "stop_time": _NOW if again_in is None else None,
    }
    failed = sa.update(rights_event_destination).where(*_unchanged(state, worker)).values(values)
    return bool((await connection.execute(failed)).rowcount)


def _unchanged(state: StoredDestination, worker: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (_TABLE.name == state.name, _TABLE.worker == worker, _TABLE.position == state.position)


async def bury(connection: Connection, name: str, event: RightsEvent, reason: str) -> None:
    """Make ``event`` a dead letter of a destination."""
    letter = {
        "destination": name,
        "position": event.position,
        "event_id": event.event_id,
        "kind": event.kind,
        "event_time": event.event_time,
        "reason": reason,
    }
    added = insert(rights_event_dead_letter).values(letter)
    again = {"reason": reason, "dead_time": sa.func.now()}
    await connection.execute(
        added.on_conflict_do_update(index_elements=["destination", "position"], set_=again)
    )


async def dead_letters(connection: Connection, name: str, most: int) -> list[DeadLetter]:
    """Return the newest dead letters of a destination, at most ``most``."""
    of_name = _LETTERS.select.where(_LETTER.destination == name)
    return await _LETTERS.all(connection, of_name.order_by(_LETTER.position.desc()).limit(most))


async def replay(connection: Connection, name: str, since: datetime) -> int | None:
    """Send the events from ``since`` on again, in order, with the next attempt due now, also if stopped.

    Return the number of events to be sent, of all kinds; None for a destination without state.
    """
    table = rights_event.c
    first = sa.select(sa.func.min(table.position)).where(table.event_time >= since).scalar_subquery()
    before = sa.func.least(_TABLE.position, sa.func.coalesce(first - 1, _TABLE.position))
    values = {"position": before, "failures": 0, "failing_time": None, "reason": None, "retry_time": None}
    values |= {"stop_time": None}
    moved = sa.update(rights_event_destination).where(_TABLE.name == name).values(values)
    position = await connection.scalar(moved.returning(_TABLE.position))
    if position is None:
        return None
    counted = sa.select(sa.func.count()).select_from(rights_event).where(table.position > position)
    return await connection.scalar(counted)


async def note_missed(connection: Connection, kept: timedelta) -> None:
    """Count the events older than ``kept`` that no destination will get any more, and skip them."""
    table = rights_event.c
    old = (table.event_time < sa.func.now() - kept) & (table.position > _TABLE.position)
    counted = sa.select(sa.func.count()).select_from(rights_event).where(old)
    newest = sa.select(sa.func.max(table.position)).where(old)
    values = {
        "missed": _TABLE.missed + counted.correlate(rights_event_destination).scalar_subquery(),
        "position": newest.correlate(rights_event_destination).scalar_subquery(),
        "failures": 0,
        "failing_time": None,
    }
    late = sa.select(table.position).where(old).correlate(rights_event_destination).exists()
    await connection.execute(sa.update(rights_event_destination).where(late).values(values))


async def forget(connection: Connection, names: Collection[str], kept: timedelta) -> None:
    """Delete dead letters older than ``kept``, and other destinations than ``names`` unused so long."""
    old = _LETTER.dead_time < sa.func.now() - kept
    await connection.execute(sa.delete(rights_event_dead_letter).where(old))
    unused = sa.func.coalesce(_TABLE.lease_time, _TABLE.success_time) < sa.func.now() - kept
    gone = sa.delete(rights_event_destination).where(_TABLE.name.not_in(names), unused)
    await connection.execute(gone)


async def persons(connection: Connection, user_ids: Sequence[int]) -> dict[int, dict[str, str | None]]:
    """Return what a destination can include of users, by id; deleted users are left out."""
    columns = (user.c.id, user.c.user_name, user.c.nick_name, user.c.email)
    rows = await connection.execute(sa.select(*columns).where(user.c.id.in_(user_ids)))
    return {row.id: dict(row._mapping) for row in rows}  # noqa: SLF001 - SQLAlchemy's public name
