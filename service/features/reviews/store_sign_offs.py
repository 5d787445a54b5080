"""``sys.policy_sign_off``: sign-offs of policy revisions, and the changes since a sign-off."""

from collections.abc import Collection
from datetime import datetime
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa
from msgspec import Struct

from service.features.reviews.schema import NewSignOff, SignOff, policy_sign_off
from service.kernel.fields import values_of
from service.kernel.value_rules import Id, RoleCode, UserName
from service.records.assignments import instant
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.rights import Source, ended_assignment, role, user, user_role

Change: TypeAlias = Literal["given", "edited", "ended"]
"""The kind of change to an assignment."""


class ChangedAssignment(Struct, frozen=True, kw_only=True):
    """An assignment that was given, edited or ended since an instant; ``at`` is when."""

    id: Id
    change: Change
    at: datetime
    user_name: UserName
    role_code: RoleCode
    valid_from: datetime | None
    valid_until: datetime | None
    reason: str | None
    source: Source


_SIGN_OFF: Final = RowMapper(SignOff, policy_sign_off)


async def create(connection: Connection, new: NewSignOff) -> SignOff:
    written = sa.insert(policy_sign_off).values(values_of(new)).returning(*_SIGN_OFF.columns)
    return await _SIGN_OFF.returned(connection, written)


async def of_revisions(connection: Connection, revisions: Collection[int]) -> dict[int, list[SignOff]]:
    """Return the sign-offs of each of these revisions, in the order of time."""
    table = policy_sign_off.c
    by_revision: dict[int, list[SignOff]] = {revision: [] for revision in revisions}
    for each in await _SIGN_OFF.where(connection, table.revision.in_(revisions), order=table.id):
        by_revision[each.revision].append(each)
    return by_revision


async def last_before(connection: Connection, revision: int) -> int:
    """Return the last signed-off revision before another one; 0 if there is none."""
    table = policy_sign_off.c
    last = sa.select(sa.func.max(table.revision)).where(table.revision < revision)
    return (await connection.execute(last)).scalar_one() or 0


async def last_of(connection: Connection, user_id: int) -> SignOff | None:
    """Return the last sign-off of a user; None if there is none."""
    chosen = _SIGN_OFF.select.where(policy_sign_off.c.user_id == user_id)
    return await _SIGN_OFF.one_or_none(connection, chosen.order_by(policy_sign_off.c.id.desc()).limit(1))


async def changed_assignments(
    connection: Connection, since: datetime, *, size: int, offset: int
) -> list[ChangedAssignment]:
    """Return the assignments that were created, edited or ended since an instant, by time.

    Assignments both created and ended since then count as ended.
    """
    live, over = user_role.c, ended_assignment.c
    moment = instant(since)
    names = "valid_from", "valid_until", "reason", "source"
    given = live.create_time > moment
    now = (
        sa.select(
            live.id,
            sa.case((given, "given"), else_="edited").label("change"),
            sa.case((given, live.create_time), else_=live.edit_time).label("at"),
            *(user.c.user_name, role.c.role_code),
            *(live[name] for name in names),
        )
        .join(user, user.c.id == live.user_id)
        .join(role, role.c.id == live.role_id)
        .where(given | (live.edit_time > moment))
    )
    past = (
        sa.select(
            over.id,
            sa.literal("ended").label("change"),
            over.end_time.label("at"),
            *(user.c.user_name, over.role_code),
            *(over[name] for name in names),
        )
        .join(user, user.c.id == over.user_id)
        .where(over.end_time > moment)
    )
    both = sa.union_all(now, past).subquery()
    rows = RowMapper(ChangedAssignment, both)
    chosen = rows.select.order_by(both.c.at, both.c.id).limit(size).offset(offset)
    return await rows.all(connection, chosen)
