"""``sys.role_code_life``: which codes each role gave at a past instant.

Triggers keep it, so that no edit of roles, Buttons and their codes is missing, by whichever version or hand.
"""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.assignments import assigned
from service.records.database.row_mapper import RowMapper
from service.records.schema.rights import role_code_life


class Life(Struct, frozen=True, kw_only=True):
    """Validity interval of a code in a role; None for still valid. The empty code: existence of the role."""

    role_id: int
    role_code: str
    code: str
    begin_time: datetime
    end_time: datetime | None


_LIFE = RowMapper(Life, role_code_life)


async def between(
    connection: AsyncConnection, role_ids: Collection[int], since: datetime, until: datetime
) -> list[Life]:
    """Return the codes of these roles at some time from ``since`` and before ``until``, by role and time."""
    life, (begin, end) = (
        role_code_life.c,
        (sa.literal(at, sa.DateTime(timezone=True)) for at in (since, until)),
    )
    during = (life.begin_time < end) & (life.end_time.is_(None) | (life.end_time > begin))
    chosen = _LIFE.select.where(life.role_id.in_(role_ids), during)
    return await _LIFE.all(connection, chosen.order_by(life.role_code, life.begin_time, life.code, life.id))


async def changed(connection: AsyncConnection, since: datetime) -> list[Life]:
    """Return the codes that roles grant now and did not grant at an instant, and the reverse, in order.

    A code that was granted and revoked since then, or the reverse, is no difference.
    """
    life, moment = role_code_life.c, sa.literal(since, sa.DateTime(timezone=True))
    new = (life.begin_time > moment) & life.end_time.is_(None)
    gone = (life.begin_time <= moment) & (life.end_time > moment)
    other = role_code_life.alias("other")
    counterpart = sa.exists().where(
        other.c.role_id == life.role_id,
        other.c.code == life.code,
        sa.case(
            (life.end_time.is_(None), (other.c.begin_time <= moment) & (other.c.end_time > moment)),
            else_=other.c.end_time.is_(None),
        ),
    )
    chosen = _LIFE.select.where(life.code != "", new | gone, ~counterpart)
    return await _LIFE.all(connection, chosen.order_by(life.role_code, life.code, life.id))


def alive(then: datetime) -> sa.ColumnElement[bool]:
    """Return the condition that a life contains the instant ``then``."""
    moment, life = sa.literal(then, sa.DateTime(timezone=True)), role_code_life.c
    return (life.begin_time <= moment) & (life.end_time.is_(None) | (life.end_time > moment))


async def known_since(connection: AsyncConnection) -> datetime | None:
    """Return the first instant at which the codes of roles are known; None without any role."""
    first = sa.select(sa.func.min(role_code_life.c.begin_time))
    moment: datetime | None = (await connection.execute(first)).scalar_one()
    return moment


async def codes_by_id(connection: AsyncConnection, then: datetime) -> dict[int, str]:
    """Return the codes of all roles that there were, by their ids."""
    life = role_code_life.c
    rows = await connection.execute(
        sa.select(life.role_id, life.role_code).where(alive(then), life.code == "")
    )
    return {row.role_id: row.role_code for row in rows}


async def held_codes(connection: AsyncConnection, then: datetime) -> dict[str, tuple[str, ...]]:
    """Return the codes that each role gave, sorted; none for one that was disabled."""
    life = role_code_life.c
    rows = await connection.execute(
        sa.select(life.role_code, life.code).where(alive(then)).order_by(life.role_code, life.code)
    )
    given: defaultdict[str, list[str]] = defaultdict(list)
    for role_code, code in rows:
        given[role_code] += [code] if code else []
    return {role_code: tuple(codes) for role_code, codes in given.items()}


async def held_by(connection: AsyncConnection, user_id: int, then: datetime) -> tuple[str, ...]:
    """Return the codes that a user held, sorted."""
    having, life = assigned(then), role_code_life.c
    of_user = sa.select(having.c.role_id).where(having.c.user_id == user_id)
    held = sa.select(life.code).where(alive(then), life.code != "", life.role_id.in_(of_user)).distinct()
    return tuple((await connection.execute(held.order_by(life.code))).scalars())


async def is_past(connection: AsyncConnection, instant: datetime) -> bool:
    """Return True if an instant is before the database's now."""
    now = sa.literal(instant, sa.DateTime(timezone=True)) < sa.func.statement_timestamp()
    return bool((await connection.execute(sa.select(now))).scalar_one())
