"""``sys.user_ban``: bans of users, with their end, reason and author.

The ban and the status of a user decide whether the user can log in and refresh. The session store has a copy
for the requests in between. The row of an expired ban stays until the next one, and has no effect.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Interval, Join, bindparam, case, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.identity import Target
from service.records.database.portions import delete_some
from service.records.schema.base import past
from service.records.schema.rights import user, user_ban

DISABLED: Final = "disabled"
"""The reason in the denial of a disabled user."""


class Denial(Struct, frozen=True):
    """Why a user may not log in, and until when; ``until`` is None if it does not end by itself."""

    until: datetime | None
    reason: str


def in_force() -> ColumnElement[bool]:
    """Return the SQL condition that a row of ``sys.user_ban`` has not ended, by the database's clock."""
    return or_(user_ban.c.until.is_(None), user_ban.c.until > func.clock_timestamp())


def end_after(seconds: int | None) -> ColumnElement[datetime] | None:
    """Return the SQL of the time ``seconds`` from now; None for no end.

    In whole milliseconds, as in the session store and the API.
    """
    if seconds is None:
        return None
    lasts = bindparam("lasts", timedelta(seconds=seconds), Interval())
    return func.date_trunc("milliseconds", func.clock_timestamp() + lasts)


def with_bans() -> Join:
    """Return a join of all users with their bans in force."""
    return user.outerjoin(user_ban, (user_ban.c.user_id == user.c.id) & in_force())


async def ban(
    connection: AsyncConnection, target: Target, seconds: int | None, reason: str, *, by: int
) -> datetime | None:
    """Ban an existing user for ``seconds``, or without end (None); returns the end, or None.

    If the user has a ban with a later end, that end stays. ``by`` is the id of the user who bans.
    """
    new = upsert(user_ban).values(
        user_id=target.user_id, until=end_after(seconds), reason=reason, banned_by=by
    )
    written = new.on_conflict_do_update(
        index_elements=[user_ban.c.user_id],
        set_={
            "until": case(
                (or_(user_ban.c.until.is_(None), new.excluded.until.is_(None)), None),
                else_=func.greatest(user_ban.c.until, new.excluded.until),
            ),
            "reason": new.excluded.reason,
            "banned_by": new.excluded.banned_by,
            "create_time": func.now(),
        },
    ).returning(user_ban.c.until)
    ends: datetime | None = (await connection.execute(written)).scalar_one()
    return ends


async def unban(connection: AsyncConnection, user_id: int) -> bool:
    """Clear the ban of a user; returns whether one was in force."""
    cleared = delete(user_ban).where(user_ban.c.user_id == user_id).returning(in_force())
    return bool((await connection.execute(cleared)).scalar_one_or_none())


async def denied(connection: AsyncConnection) -> list[int]:
    """Return the ids of all users who cannot log in, in order."""
    statement = select(user.c.id).select_from(with_bans())
    kept_out = (user.c.status != "enabled") | user_ban.c.user_id.is_not(None)
    return list((await connection.execute(statement.where(kept_out).order_by(user.c.id))).scalars())


async def denial_of(connection: AsyncConnection, user_id: int) -> Denial | None:
    """Return why a user cannot log in; None for other users and unknown ones."""
    columns = (user.c.status, user_ban.c.user_id, user_ban.c.until, user_ban.c.reason)
    statement = select(*columns).select_from(with_bans()).where(user.c.id == user_id)
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        return None
    status, banned, until, reason = row
    if status != "enabled":
        return Denial(None, DISABLED)
    return None if banned is None else Denial(until, reason)


async def forget_ended(connection: AsyncConnection, most: int) -> int:
    """Delete at most ``most`` bans that ended a day ago; return their number."""
    return await delete_some(connection, user_ban, user_ban.c.until < past() - timedelta(days=1), most)
