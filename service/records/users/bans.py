"""``sys.user_ban``: who is kept out, until when, why and by whom.

Together with the status of a user this decides who may log in and refresh; the session store repeats it for
the requests in between. A ban that has ended stays as a row until the next one, and keeps nobody out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, Interval, Join, bindparam, case, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.target import Target
from service.records.schema import user, user_ban

DISABLED: Final = "disabled"
"""The reason why a disabled user is kept out."""


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a user is kept out, and until when; None when that does not end by itself."""

    until: datetime | None
    reason: str


def in_force() -> ColumnElement[bool]:
    """Return the condition that a row of ``sys.user_ban`` has not ended, by the database's clock."""
    return or_(user_ban.c.until.is_(None), user_ban.c.until > func.clock_timestamp())


def with_bans() -> Join:
    """Return all users, each with the ban that is in force, if there is one."""
    return user.outerjoin(user_ban, (user_ban.c.user_id == user.c.id) & in_force())


async def ban(
    connection: AsyncConnection, target: Target, seconds: int | None, reason: str, *, by: int
) -> datetime | None:
    """Ban an existing user for ``seconds``, or without end; return when that ends by itself.

    A ban that lasts longer already keeps its end. ``by`` is the id of the user who bans.
    """
    until = None
    if seconds is not None:
        # Whole milliseconds, as the session store and the API tell it.
        lasts = bindparam("lasts", timedelta(seconds=seconds), Interval())
        until = func.date_trunc("milliseconds", func.clock_timestamp() + lasts)
    new = upsert(user_ban).values(user_id=target.user_id, until=until, reason=reason, banned_by=by)
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
    """Clear the ban of a user; tell whether it was in force."""
    cleared = delete(user_ban).where(user_ban.c.user_id == user_id).returning(in_force())
    return bool((await connection.execute(cleared)).scalar_one_or_none())


async def denial_of(connection: AsyncConnection, user_id: int) -> Denial | None:
    """Return why a user is kept out; None for one who is not, or who is gone."""
    columns = (user.c.status, user_ban.c.user_id, user_ban.c.until, user_ban.c.reason)
    statement = select(*columns).select_from(with_bans()).where(user.c.id == user_id)
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        return None
    status, banned, until, reason = row
    if status != "enabled":
        return Denial(None, DISABLED)
    return None if banned is None else Denial(until, reason)
