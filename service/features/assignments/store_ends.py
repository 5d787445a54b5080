"""Assignments of roles that end soon, and those that are not as their roles demand."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from service.features.assignments.store import Assignment, every
from service.kernel.clock import rfc3339
from service.records import assignments
from service.records.assignments import instant, not_ended
from service.records.schema.of_users import notice
from service.records.schema.rights import role, user_role

NOTICE: Final = (timedelta(days=7), timedelta(days=1))
"""How long before its end the user is told of one, the longest first."""
_LIMITS: Final = tuple(zip(NOTICE, (*NOTICE[1:], timedelta(0)), strict=True))
SETTLED: Final = timedelta(minutes=5)
"""How long ago an assignment must have ended to be set aside: the clock may not be the session store's.

That it has ended is decided by its window, whatever the job does.
"""


def _goes_on() -> sa.ColumnElement[bool]:
    """Return the condition that the user has the role after that end, by another assignment."""
    other = user_role.alias("other")
    beside = (other.c.user_id == user_role.c.user_id) & (other.c.role_id == user_role.c.role_id)
    begun = other.c.valid_from.is_(None) | (other.c.valid_from <= user_role.c.valid_until)
    longer = other.c.valid_until.is_(None) | (other.c.valid_until > user_role.c.valid_until)
    return sa.exists().where(beside, begun, longer)


async def ending(
    connection: AsyncConnection, within: timedelta, at: datetime | None = None
) -> list[Assignment]:
    """Return the assignments by whose end, within that time, the user loses the role; the next end first."""
    moment = instant(at)
    soon = (user_role.c.valid_until > moment) & (user_role.c.valid_until <= moment + within)
    return await every(connection, soon & ~_goes_on(), user_role.c.valid_until, at)


async def breaking(connection: AsyncConnection, at: datetime | None = None) -> list[Assignment]:
    """Return the assignments that last longer than their role says from now on, or lack the reason."""
    moment = instant(at)
    rest = user_role.c.valid_until - sa.func.greatest(moment, user_role.c.valid_from)
    longest = sa.func.make_interval(0, 0, 0, 0, 0, 0, role.c.max_duration)
    endless = user_role.c.valid_until.is_(None)
    too_long = role.c.max_duration.is_not(None) & (endless | (rest > longest))
    silent = role.c.reason_required & (sa.func.btrim(sa.func.coalesce(user_role.c.reason, "")) == "")
    return await every(connection, not_ended(moment) & (too_long | silent), user_role.c.id, at)


def _untold(ahead: timedelta, least: timedelta, at: datetime | None) -> sa.ColumnElement[bool]:
    """Return the condition that an end is between ``least`` and ``ahead`` away, and was not told of so.

    A role that was assigned for a shorter time needs no such notice.
    """
    moment, end = instant(at), user_role.c.valid_until
    known = (
        (notice.c.user_id == user_role.c.user_id)
        & (notice.c.kind == "role_ends")
        & (notice.c.facts["assignment"].astext == sa.cast(user_role.c.id, sa.Text))
        & (notice.c.facts["days"].astext == str(ahead.days))
        & (
            sa.cast(notice.c.facts["until"].astext, sa.DateTime(timezone=True))
            == sa.func.date_trunc("milliseconds", end)
        )
    )
    long = user_role.c.create_time.is_(None) | (user_role.c.create_time <= end - ahead)
    return (
        (end > moment + least)
        & (end <= moment + ahead)
        & long
        & ~_goes_on()
        & ~sa.exists().where(known).correlate(user_role)
    )


async def to_tell(
    connection: AsyncConnection, at: datetime | None = None
) -> list[tuple[Assignment, Mapping[str, str]]]:
    """Return the ends that users are to be told of now, each with the facts of the notice."""
    due: list[tuple[Assignment, Mapping[str, str]]] = []
    for ahead, least in _LIMITS:
        for ends in await every(connection, _untold(ahead, least, at), user_role.c.id, at):
            assert ends.valid_until is not None  # noqa: S101 - its end is what it was chosen by
            facts = {
                "role": ends.role_code,
                "until": rfc3339(ends.valid_until),
                "days": str(ahead.days),
                "assignment": str(ends.id),
            }
            due.append((ends, facts))
    return due


async def is_due(connection: AsyncConnection) -> bool:
    """Return whether assignments are to be set aside, or users to be told of an end."""
    over = user_role.c.valid_until <= instant(None) - SETTLED
    untold = (_untold(*limits, None) for limits in _LIMITS)
    return (
        await connection.execute(sa.select(user_role.c.id).where(sa.or_(over, *untold)).limit(1))
    ).first() is not None


async def set_aside(connection: AsyncConnection, most: int) -> int:
    """Set aside at most ``most`` assignments that ended ``SETTLED`` ago; return of how many users."""
    now: Any = (await connection.execute(sa.select(sa.func.now()))).scalar_one()
    return len(await assignments.set_aside(connection, most, now - SETTLED))
