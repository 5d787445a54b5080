"""Events about rights: recorded by triggers with their cause, then put in order, and read by position.

Readers see ``sys.rights_event`` only. Transactions that overlap draw ids in no order, so an id is no
position. One transaction at a time moves committed events there: no event appears below a position that was
read. Two events of a user keep their order if the second one was recorded after the commit of the first.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import insert

from service.features.events.schema import (
    rights_event,
    rights_event_dead_letter,
    rights_event_destination,
    rights_event_due,
    rights_event_new,
    rights_event_recording,
)
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.base import SCHEMA
from service.records.schema.rights import role, user_role

AT_ONCE: Final = 1_000
"""Events moved or deleted in one transaction."""
_LOCK: Final = 0x65766E_747300  # the same number for all workers of all nodes


class RightsEvent(Struct, frozen=True):
    """An event in its place; ``user_id`` is None for an event about a role, a review or the policy."""

    position: int
    event_id: UUID
    kind: str
    user_id: int | None
    event_time: datetime
    data: dict[str, Any]


_EVENT: Final = RowMapper(RightsEvent, rights_event)
_MOVE: Final = sa.text(
    f"""
    WITH moved AS (
        DELETE FROM {SCHEMA}.rights_event_new
        WHERE id IN (SELECT id FROM {SCHEMA}.rights_event_new ORDER BY id LIMIT :most) RETURNING *
    )
    INSERT INTO {SCHEMA}.rights_event (event_id, kind, user_id, event_time, data)
    SELECT event_id, kind, user_id, event_time, data FROM moved ORDER BY id
    """  # noqa: S608 - internal names only
)
_CONCERNING: Final = sa.text(
    f"""
    WITH reader AS (
        SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:positions AS bigint[])) AS reader (id, since)
    ), held AS (
        SELECT DISTINCT reader.id, since, role_id
        FROM reader JOIN {SCHEMA}.user_role ON user_id = reader.id
    )
    SELECT reader.id AS reader_id, position, event_id, kind, user_id, event_time, data
    FROM reader JOIN {SCHEMA}.rights_event ON user_id = reader.id
    WHERE position > since AND position <= :until AND kind <> 'review.decided'
    UNION ALL
    SELECT held.id, position, event_id, kind, user_id, event_time, data
    FROM {SCHEMA}.rights_event JOIN held ON role_id = CAST(data ->> 'roleId' AS bigint)
    WHERE user_id IS NULL AND kind = 'role.codes_changed' AND position > since AND position <= :until
        AND position > (SELECT min(since) FROM reader)
    ORDER BY position, reader_id LIMIT :most
    """  # noqa: S608 - internal names only
)
_RECORD: Final = sa.text(f"SELECT {SCHEMA}.record_event(:kind, :user_id, '{{}}')")


async def switch(connection: Connection, *, on: bool) -> None:
    """Begin to record events, or end it and delete all; the port ``switched``."""
    if on:
        begun = insert(rights_event_recording).values(only_row=True).on_conflict_do_nothing()
        if (await connection.execute(begun)).rowcount:
            later = sa.select(user_role.c.id, user_role.c.valid_from).where(
                user_role.c.valid_from > sa.func.clock_timestamp()
            )
            due = insert(rights_event_due).from_select(["assignment_id", "due_time"], later)
            await connection.execute(due.on_conflict_do_nothing())
        return
    stored = (rights_event_recording, rights_event_new, rights_event, rights_event_due)
    for table in (*stored, rights_event_destination, rights_event_dead_letter):
        await connection.execute(sa.delete(table))


async def is_recording(connection: Connection) -> bool:
    """Return whether events are recorded."""
    return bool(await connection.scalar(sa.select(sa.exists().select_from(rights_event_recording))))


async def sessions_end(connection: Connection, user_id: int) -> None:
    """Record that all sessions of a user end; listens to ``all-sessions-end``."""
    await connection.execute(_RECORD, {"kind": "sessions.ended", "user_id": user_id})


async def pending(connection: Connection) -> bool:
    """Return whether events wait for their place, or an assignment has begun."""
    begun = rights_event_due.c.due_time <= sa.func.now()
    asked = sa.or_(sa.exists().select_from(rights_event_new), sa.exists().where(begun))
    return bool(await connection.scalar(sa.select(asked)))


async def order(connection: Connection, most: int = AT_ONCE) -> int:
    """Give committed events their positions, at most ``most`` of them, the oldest first; return their number.

    Return 0 while another transaction does so. The transaction must be short: others wait for its commit.
    """
    locked = await connection.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(_LOCK)))
    return (await connection.execute(_MOVE, {"most": most})).rowcount if locked else 0


async def begin_due(connection: Connection, most: int = AT_ONCE) -> int:
    """Record the assignments that have begun since they were made, at most ``most``; return their number."""
    due = rights_event_due.c
    chosen = sa.select(due.assignment_id).where(due.due_time <= sa.func.now()).order_by(due.due_time)
    chosen = chosen.limit(most).with_for_update(skip_locked=True)
    gone = sa.delete(rights_event_due).where(due.assignment_id.in_(chosen)).returning(due.assignment_id)
    ids = list((await connection.execute(gone)).scalars())
    given = user_role.c
    facts = sa.func.jsonb_build_object(
        *("assignmentId", given.id, "roleId", role.c.id, "roleCode", role.c.role_code),
        *("roleName", role.c.role_name, "from", given.valid_from, "until", given.valid_until),
        *("source", given.source),
    )
    begun = sa.select(sa.literal("role.begun"), given.user_id, facts).join(role, role.c.id == given.role_id)
    begun = begun.where(given.id.in_(ids), given.valid_from <= sa.func.now()).order_by(
        given.valid_from, given.id
    )
    added = sa.insert(rights_event_new).from_select(["kind", "user_id", "data"], begun)
    return (await connection.execute(added)).rowcount


async def last(connection: Connection) -> int:
    """Return the position of the last event; 0 without one."""
    return await connection.scalar(sa.select(sa.func.max(rights_event.c.position))) or 0


async def after(connection: Connection, position: int, most: int) -> list[RightsEvent]:
    """Return at most ``most`` events after ``position``, in order."""
    later = _EVENT.select.where(rights_event.c.position > position)
    return await _EVENT.all(connection, later.order_by(rights_event.c.position).limit(most))


async def concerning(
    connection: Connection, since: Mapping[int, int], until: int, most: int | None = None
) -> list[tuple[int, RightsEvent]]:
    """Return users with events that concern them, in order: none after ``until``, at most ``most``.

    ``since`` has a position for each user; the events follow it. They are the user's own, and changed codes
    of roles that the user has or will have. Decisions of reviewers are left out.
    """
    rows = await connection.execute(
        _CONCERNING, {"ids": list(since), "positions": list(since.values()), "until": until, "most": most}
    )
    return [(row.reader_id, RightsEvent(*row[1:])) for row in rows]


async def forget_old(connection: Connection, kept: timedelta, most: int) -> int:
    """Delete at most ``most`` events older than ``kept``; return their number."""
    old = rights_event.c.event_time < sa.func.now() - kept
    chosen = sa.select(rights_event.c.position).where(old).order_by(rights_event.c.position).limit(most)
    gone = sa.delete(rights_event).where(rights_event.c.position.in_(chosen))
    return (await connection.execute(gone)).rowcount
