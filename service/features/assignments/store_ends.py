"""Assignments that expire soon, and assignments that break the demands of their roles."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from service.features.assignments.store import Assignment, every
from service.kernel.clock import rfc3339
from service.records import assignments
from service.records.assignments import instant, not_ended
from service.records.database.transactions import Connection
from service.records.schema.of_users import notice
from service.records.schema.rights import role, user_role

NOTICE: Final = (timedelta(days=7), timedelta(days=1))
"""Times before the expiry at which users are notified, the longest first."""
_LIMITS: Final = tuple(zip(NOTICE, (*NOTICE[1:], timedelta(0)), strict=True))
SETTLED: Final = timedelta(minutes=5)
"""Time since expiry after which an assignment is archived; the database clock may differ from the store's.

The interval alone decides when an assignment expires.
"""


def _goes_on() -> sa.ColumnElement[bool]:
    """Return the condition that another assignment continues the role after the expiry."""
    other = user_role.alias("other")
    beside = (other.c.user_id == user_role.c.user_id) & (other.c.role_id == user_role.c.role_id)
    begun = other.c.valid_from.is_(None) | (other.c.valid_from <= user_role.c.valid_until)
    longer = other.c.valid_until.is_(None) | (other.c.valid_until > user_role.c.valid_until)
    return sa.exists().where(beside, begun, longer)


async def ending(connection: Connection, within: timedelta, at: datetime | None = None) -> list[Assignment]:
    """Return the assignments whose expiry within that time takes a role from the user, by expiry."""
    moment = instant(at)
    soon = (user_role.c.valid_until > moment) & (user_role.c.valid_until <= moment + within)
    return await every(connection, soon & ~_goes_on(), user_role.c.valid_until, at)


async def breaking(connection: Connection, at: datetime | None = None) -> list[Assignment]:
    """Return the assignments that last longer from now than their role allows, or lack a required reason."""
    moment = instant(at)
    rest = user_role.c.valid_until - sa.func.greatest(moment, user_role.c.valid_from)
    longest = sa.func.make_interval(0, 0, 0, 0, 0, 0, role.c.max_duration)
    endless = user_role.c.valid_until.is_(None)
    too_long = role.c.max_duration.is_not(None) & (endless | (rest > longest))
    silent = role.c.reason_required & (sa.func.btrim(sa.func.coalesce(user_role.c.reason, "")) == "")
    return await every(connection, not_ended(moment) & (too_long | silent), user_role.c.id, at)


def _untold(ahead: timedelta, least: timedelta, at: datetime | None) -> sa.ColumnElement[bool]:
    """Return the condition that the expiry is between ``least`` and ``ahead`` away, without a notice yet.

    Roles assigned for less than ``ahead`` need no notice.
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
    connection: Connection, at: datetime | None = None
) -> list[tuple[Assignment, Mapping[str, str]]]:
    """Return the expiries to notify users of now, each with the facts of the notice."""
    due: list[tuple[Assignment, Mapping[str, str]]] = []
    for ahead, least in _LIMITS:
        for ends in await every(connection, _untold(ahead, least, at), user_role.c.id, at):
            assert ends.valid_until is not None  # noqa: S101 - selected by its expiry
            facts = {
                "role": ends.role_code,
                "until": rfc3339(ends.valid_until),
                "days": str(ahead.days),
                "assignment": str(ends.id),
            }
            due.append((ends, facts))
    return due


async def is_due(connection: Connection) -> bool:
    """Return true if assignments must be archived, or users notified of an expiry."""
    over = user_role.c.valid_until <= instant(None) - SETTLED
    untold = (_untold(*limits, None) for limits in _LIMITS)
    return (
        await connection.execute(sa.select(user_role.c.id).where(sa.or_(over, *untold)).limit(1))
    ).first() is not None


async def set_aside(connection: Connection, most: int) -> int:
    """Archive at most ``most`` assignments that expired ``SETTLED`` ago; return the number of users."""
    now: Any = (await connection.execute(sa.select(sa.func.now()))).scalar_one()
    return len(await assignments.set_aside(connection, most, now - SETTLED))
