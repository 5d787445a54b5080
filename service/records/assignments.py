"""``sys.user_role``: the assignments of roles to users, with start, expiry, reason and author.

An assignment is in force from ``valid_from`` on, and no longer at ``valid_until``. A user may have several
assignments of one role: their union counts. The caller gives the instant of the session store (decision
0019). Without a store, as in commands, the database's instant counts. Rights expire by the statements that
read them: ``set_aside`` only moves expired rows to ``sys.ended_assignment``.

Callers that change an assignment hold ``role_rights.lock``.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict
from service.kernel.core_sentences import sentence
from service.kernel.feature import sole
from service.kernel.identity import Target
from service.kernel.origin import acting
from service.records.database.filters import among, each_of
from service.records.database.row_mapper import RowMapper
from service.records.schema.rights import Source, ended_assignment, role, user_role

_MOMENT: Final = sa.DateTime(timezone=True)
AT: Final[sa.ColumnElement[datetime]] = sa.func.coalesce(
    sa.bindparam("at", type_=_MOMENT), sa.func.statement_timestamp()
)
"""The instant that prepared statements are about, as the parameter ``at``; the database's now for None."""


class Present(Struct, frozen=True):
    """The present instant by the session store's clock; all stored rows count, whenever they were written.

    By the database's clock, a row may have been written a little later.
    """

    at: datetime


def instant(at: datetime | None) -> sa.ColumnElement[datetime]:
    """Return the SQL of ``at``; of the database's now for None."""
    return sa.func.statement_timestamp() if at is None else sa.literal(at, _MOMENT)


def not_ended(at: sa.ColumnElement[datetime]) -> sa.ColumnElement[bool]:
    """Return the condition that an assignment has not ended at that instant; it may begin later."""
    return user_role.c.valid_until.is_(None) | (user_role.c.valid_until > at)


def in_force(at: sa.ColumnElement[datetime]) -> sa.ColumnElement[bool]:
    """Return the condition that an assignment is in force at that instant: half-open, its end excluded."""
    return _begun(user_role.c.valid_from, at) & not_ended(at)


def _was_in_force(at: sa.ColumnElement[datetime]) -> sa.ColumnElement[bool]:
    """Return the condition that an assignment that has ended since was in force at that instant."""
    table = ended_assignment.c
    return _begun(table.create_time, at) & _begun(table.valid_from, at) & (table.end_time > at)


def assigned(at: datetime | Present | None) -> sa.Subquery:
    """Return which users have which roles at that instant, past or future, as ``user_id`` and ``role_id``.

    A row may come twice. Without ``at``, as of the database's now.
    """
    pair = user_role.c.user_id, user_role.c.role_id
    if at is None or isinstance(at, Present):
        now = instant(None if at is None else at.at)
        return sa.select(*pair).where(in_force(now)).subquery("assigned")
    moment, ended = instant(at), ended_assignment.c
    live = sa.select(*pair).where(in_force(moment), _begun(user_role.c.create_time, moment))
    over = sa.select(ended.user_id, ended.role_id).where(_was_in_force(moment))
    return sa.union_all(live, over).subquery("assigned")


def approved(assignment_id: sa.ColumnElement[int]) -> list[sa.ColumnElement[Any]]:
    """Return the columns ``access_request_id`` and ``approved_by`` of an assignment.

    The first is the id of the request that led to the assignment; null for none. The second has the names of
    its approvers at that time, in the order of approval.
    """
    of_assignment: list[sa.ColumnElement[Any]] = sole("assignment-origin")(assignment_id)
    return of_assignment


def of_user(user_id: int, at: datetime | None) -> sa.Subquery:
    """Return the assignments of a user in force at that instant, past or future, with author and reason.

    Its columns are ``id``, ``role_id``, ``since``, ``until``, ``reason``, ``source``, ``created_by`` and
    those of ``approved``. ``since`` is null for assignments by an older version. ``until`` is the actual end
    of an ended assignment.
    """
    live, ended = user_role.c, ended_assignment.c
    moment = instant(at)

    def shown(column: Any, until: sa.ColumnElement[datetime | None]) -> list[sa.ColumnElement[Any]]:
        since = sa.func.greatest(column.valid_from, column.create_time)
        decided = column.reason, column.source, column.created_by
        held = column.id, column.role_id, since.label("since"), until.label("until")
        return [*held, *decided, *approved(column.id)]

    now = sa.select(*shown(live, live.valid_until)).where(live.user_id == user_id, in_force(moment))
    if at is None:
        return now.subquery("held")
    over = sa.select(*shown(ended, ended.end_time)).where(ended.user_id == user_id, _was_in_force(moment))
    return sa.union_all(now.where(_begun(live.create_time, moment)), over).subquery("held")


def _begun(
    column: sa.ColumnElement[datetime | None], moment: sa.ColumnElement[datetime]
) -> sa.ColumnElement[bool]:
    return column.is_(None) | (column <= moment)


def changes_at(user_id: sa.ColumnElement[int], at: sa.ColumnElement[datetime]) -> sa.ColumnElement[datetime]:
    """Return the SQL of when the roles of a user change next after that instant; null for never."""
    begins = sa.func.min(user_role.c.valid_from).filter(user_role.c.valid_from > at)
    ends = sa.func.min(user_role.c.valid_until).filter(user_role.c.valid_until > at)
    windows = user_role.c.valid_from.is_not(None) | user_role.c.valid_until.is_not(None)
    following = sa.select(sa.func.least(begins, ends)).where(user_role.c.user_id == user_id, windows)
    return following.scalar_subquery().label("changes_at")


class Ending(Struct, frozen=True):
    """A role that a user has now, and when its last assignment that is in force ends."""

    role_code: str
    until: datetime


async def endings(connection: AsyncConnection, user_id: int, at: datetime | None = None) -> list[Ending]:
    """Return the enabled roles of a user at ``at`` that end by themselves, the first to end first."""
    until = sa.func.max(user_role.c.valid_until).label("until")
    held = sa.select(role.c.role_code, until).join_from(user_role, role, role.c.id == user_role.c.role_id)
    held = held.where(user_role.c.user_id == user_id, role.c.enabled, in_force(instant(at)))
    ends = held.group_by(role.c.role_code).having(sa.func.bool_and(user_role.c.valid_until.is_not(None)))
    rows = await connection.execute(ends.order_by(until, role.c.role_code))
    return [Ending(row.role_code, row.until) for row in rows]


@dataclass(frozen=True, slots=True)
class Given:
    """A role to assign: ``valid_from`` None from now on, ``valid_until`` None without an end.

    ``directory`` is the name of the one that assigns it, None for the other sources.
    """

    role_id: int
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    reason: str | None = None
    source: Source = "direct"
    directory: str | None = None


async def give(connection: AsyncConnection, target: Target, given: Collection[Given]) -> list[int]:
    """Assign roles to a user, and return the ids of the assignments.

    None of them may be there already: see ``identical``.
    """
    if not given:
        return []
    rows = [{"user_id": target.user_id, **_columns_of(each)} for each in given]
    written = sa.insert(user_role).returning(user_role.c.id, sort_by_parameter_order=True)
    return list((await connection.execute(written, rows)).scalars())


async def give_each(connection: AsyncConnection, user_ids: Collection[int], given: Given) -> None:
    """Assign a role to users alike; an existing assignment with the same source and window stays."""
    values = {name: sa.literal(value, user_role.c[name].type) for name, value in _columns_of(given).items()}
    rows = sa.select(each_of(user_ids), *values.values())
    written = upsert(user_role).from_select(["user_id", *values], rows, include_defaults=False)
    await connection.execute(written.on_conflict_do_nothing())


async def lacking(connection: AsyncConnection, user_ids: Collection[int], given: Given) -> list[int]:
    """Return those of the users who have no assignment like ``given`` by its directory."""
    mine = (user_role.c.role_id == given.role_id) & (user_role.c.directory == given.directory)
    mine &= user_role.c.valid_until.is_not_distinct_from(given.valid_until)
    has = sa.select(user_role.c.user_id).where(mine, among(user_role.c.user_id, user_ids))
    return sorted({*user_ids}.difference((await connection.execute(has)).scalars()))


def _columns_of(given: Given) -> dict[str, Any]:
    return {
        "role_id": given.role_id,
        "valid_from": given.valid_from,
        "valid_until": given.valid_until,
        "reason": given.reason,
        "source": given.source,
        "directory": given.directory,
        "created_by": acting() or (None if given.directory is None else f"@{given.directory}"),
    }


async def identical(connection: AsyncConnection, target: Target, given: Given, but: int = 0) -> int | None:
    """Return the id of another assignment of the same role and source with the same window, or None."""
    same = sa.select(user_role.c.id).where(
        user_role.c.user_id == target.user_id,
        user_role.c.role_id == given.role_id,
        user_role.c.source == given.source,
        user_role.c.valid_from.is_not_distinct_from(given.valid_from),
        user_role.c.valid_until.is_not_distinct_from(given.valid_until),
        user_role.c.id != but,
    )
    return (await connection.execute(same)).scalar_one_or_none()


async def change(connection: AsyncConnection, target: Target, assignment_id: int, given: Given) -> None:
    """Store the window and the reason of ``given`` in an assignment of that role, and raise its version."""
    of_user = (user_role.c.user_id == target.user_id) & (user_role.c.id == assignment_id)
    values = {"valid_from": given.valid_from, "valid_until": given.valid_until, "reason": given.reason}
    await connection.execute(
        sa.update(user_role).where(of_user).values(**values, version=user_role.c.version + 1)
    )


async def revoke_roles(
    connection: AsyncConnection, target: Target, role_ids: Collection[int], at: datetime | None = None
) -> None:
    """End all assignments of these roles to a user, those that begin later too."""
    if role_ids:
        of_user = (user_role.c.user_id == target.user_id) & user_role.c.role_id.in_(role_ids)
        await _set_aside(connection, of_user, at)


async def revoke(
    connection: AsyncConnection, target: Target, assignment_id: int, at: datetime | None = None
) -> None:
    of_user = (user_role.c.user_id == target.user_id) & (user_role.c.id == assignment_id)
    await _set_aside(connection, of_user, at)


async def revoke_of_directory(
    connection: AsyncConnection, source: str, kept_role_ids: Collection[int], at: datetime
) -> list[int]:
    """End a directory's assignments except these roles; return the ids of the users."""
    given = user_role.c.directory == source
    return await _set_aside(connection, given & user_role.c.role_id.not_in(kept_role_ids), at)


async def revoke_all(
    connection: AsyncConnection, assignment_ids: Collection[int], at: datetime, by: str | None = None
) -> None:
    """End assignments of any users; ``by`` as ``ended_by``, None for who acts."""
    if assignment_ids:
        await _set_aside(connection, among(user_role.c.id, assignment_ids), at, by)


async def shorten_reviewed(connection: AsyncConnection, assignment_id: int, end: datetime) -> None:
    """Let an assignment end at ``end`` that a review has shortened; its version rises.

    Conflict, after which the transaction can't continue, if there is the same assignment already.
    """
    values = {"valid_until": end, "version": user_role.c.version + 1}
    try:
        await connection.execute(sa.update(user_role).where(user_role.c.id == assignment_id).values(values))
    except IntegrityError:
        raise Conflict(sentence("assignment_taken"), rule="unique") from None


async def forget_ended_of_role(connection: AsyncConnection, role_id: int, at: datetime | None = None) -> None:
    """Set the assignments of a role aside that have ended by themselves, so that it can be deleted."""
    of_role = (user_role.c.role_id == role_id) & (user_role.c.valid_until <= instant(at))
    await _set_aside(connection, of_role, at)


async def set_aside(connection: AsyncConnection, most: int, at: datetime | None = None) -> list[int]:
    """Set aside at most ``most`` assignments that have ended by themselves; return their users' ids."""
    ended = sa.select(user_role.c.id).where(user_role.c.valid_until <= instant(at))
    chosen = ended.order_by(user_role.c.valid_until).limit(most).with_for_update(skip_locked=True)
    return await _set_aside(connection, user_role.c.id.in_(chosen), at)


async def _set_aside(
    connection: AsyncConnection, condition: sa.ColumnElement[bool], at: datetime | None, by: str | None = None
) -> list[int]:
    now = instant(at)
    gone = sa.delete(user_role).where(condition).returning(*user_role.c).cte("gone")
    over = gone.c.valid_until <= now
    ended: dict[str, Any] = {
        column.name: gone.c[column.name] for column in ended_assignment.c if column.name in gone.c
    }
    ended |= {
        "role_code": sa.select(role.c.role_code).where(role.c.id == gone.c.role_id).scalar_subquery(),
        "end_time": sa.case((over, gone.c.valid_until), else_=now),
        "ended_by": sa.case((over, sa.null()), else_=sa.literal(by or acting(), sa.Text)),
        "how": sa.case((over, "expired"), else_="revoked"),
    }
    rows = sa.select(*(value.label(name) for name, value in ended.items()))
    kept = sa.insert(ended_assignment).from_select(list(ended), rows, include_defaults=False)
    written = await connection.execute(kept.returning(ended_assignment.c.user_id))
    return sorted(set(written.scalars()))


async def now(connection: AsyncConnection) -> datetime:
    """Return the database's now."""
    moment: datetime = (await connection.execute(sa.select(sa.func.statement_timestamp()))).scalar_one()
    return moment


class Window(Struct, frozen=True):
    """Window in which a user has a role; None for no beginning and no end."""

    user_id: int
    role_id: int
    valid_from: datetime | None
    valid_until: datetime | None


_WINDOW: Final = RowMapper(Window, user_role)


async def windows(connection: AsyncConnection, at: datetime | None = None) -> list[Window]:
    """Return all assignments, not ended, of the users of whom one begins later or ends.

    These users' roles change by themselves; all others have the same at every instant from ``at`` on.
    """
    moment = instant(at)
    changing = sa.select(user_role.c.user_id).where(
        (user_role.c.valid_from > moment) | (user_role.c.valid_until > moment)
    )
    return await _WINDOW.where(
        connection, user_role.c.user_id.in_(changing), not_ended(moment), order=user_role.c.id
    )


async def stored(
    connection: AsyncConnection, assignment_ids: Collection[int], at: datetime
) -> dict[int, Window]:
    """Return those of the assignments that have not ended, by id, and lock them."""
    chosen = sa.select(user_role.c.id.label("assignment_id"), *_WINDOW.columns)
    live = chosen.where(among(user_role.c.id, assignment_ids), not_ended(instant(at))).with_for_update()
    return {row.assignment_id: _WINDOW.of(row) for row in await connection.execute(live)}
