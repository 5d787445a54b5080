"""What each role gives, and how many users have which roles: all that decides who may do what."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.roles import roles
from service.records.schema import role, user, user_role


@dataclass(frozen=True, slots=True)
class Holdings:
    """``codes`` are those that each role gives, none for a disabled role.

    ``users`` counts the enabled users by the codes of all roles that they have, sorted.
    """

    codes: dict[str, tuple[str, ...]]
    users: Counter[tuple[str, ...]]


async def read(connection: AsyncConnection) -> Holdings:
    """Return what is stored; a hundred thousand users take some tenths of a second, in the database."""
    given = await roles.held_codes(connection)
    known = (await connection.execute(select(role.c.role_code))).scalars()
    codes = {role_code: given.get(role_code, ()) for role_code in known}
    having = func.array_remove(
        func.array_agg(aggregate_order_by(role.c.role_code, role.c.role_code)), None
    ).label("role_codes")
    each = (
        select(having)
        .select_from(user)
        .outerjoin(user_role, user_role.c.user_id == user.c.id)
        .outerjoin(role, role.c.id == user_role.c.role_id)
        .where(user.c.status == "enabled")
        .group_by(user.c.id)
        .subquery()
    )
    counted = select(each.c.role_codes, func.count()).group_by(each.c.role_codes)
    rows = await connection.execute(counted)
    return Holdings(codes, Counter({tuple(role_codes): number for role_codes, number in rows}))
