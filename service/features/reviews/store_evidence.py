"""Data that explains a user's access between two instants: the roles held, and the requests for them."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from service.errors import NotFound
from service.features.reviews.sentences import sentence
from service.kernel.text import name_key
from service.records.assignments import instant
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.rights import How, Source, ended_assignment, role, user, user_role


class HeldAssignment(Struct, frozen=True, kw_only=True):
    """An assignment that was in force at some time between two instants; see ``sys.ended_assignment``."""

    id: int
    role_id: int
    role_code: str
    valid_from: datetime | None
    valid_until: datetime | None
    reason: str | None
    source: Source
    create_time: datetime | None
    created_by: str | None
    end_time: datetime | None
    ended_by: str | None
    how: How | None


_LIVE = RowMapper(
    HeldAssignment,
    user_role,
    role_code=role.c.role_code,
    end_time=sa.null().cast(sa.DateTime(timezone=True)),
    ended_by=sa.null().cast(sa.Text),
    how=sa.null().cast(sa.Text),
)
_ENDED = RowMapper(HeldAssignment, ended_assignment)


class KnownUser(Struct, frozen=True):
    """A user; before ``create_time``, log entries with the same name may be about another user."""

    id: int
    user_name: str
    create_time: datetime


_KNOWN = RowMapper(KnownUser, user)


async def known(connection: Connection, user_name: str) -> KnownUser:
    """Return the user with that name; NotFound if there is none."""
    stored = await _KNOWN.only(connection, user.c.user_name_key == name_key(user_name))
    if stored is None:
        raise NotFound(sentence("no_user_with_name", user=user_name))
    return stored


async def assignments(
    connection: Connection, user_id: int, since: datetime, until: datetime
) -> list[HeldAssignment]:
    """Return the assignments of a user in force at some time from ``since`` and before ``until``."""

    def during(column: Any, end: Any) -> sa.ColumnElement[bool]:
        begun = sa.func.coalesce(sa.func.greatest(column.valid_from, column.create_time), instant(since))
        over = sa.func.coalesce(end, instant(until))
        return sa.and_(column.user_id == user_id, begun < instant(until), over > instant(since))

    live = _LIVE.select.join(role, role.c.id == user_role.c.role_id)
    over = _ENDED.select
    held = await _LIVE.all(connection, live.where(during(user_role.c, user_role.c.valid_until)))
    held += await _ENDED.all(connection, over.where(during(ended_assignment.c, ended_assignment.c.end_time)))
    return sorted(held, key=lambda each: each.id)
