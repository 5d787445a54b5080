"""Who has which roles, by name: for statements about what single users hold."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.schema import role, user, user_role


async def names_by_roles(connection: AsyncConnection) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the users who are not disabled, by the sorted codes of all roles that they have.

    Banned users are among them, since a ban may end by itself. Users without any role are left out.
    """
    having = func.array_agg(aggregate_order_by(role.c.role_code, role.c.role_code)).label("role_codes")
    each = (
        select(user.c.user_name, having)
        .join(user_role, user_role.c.user_id == user.c.id)
        .join(role, role.c.id == user_role.c.role_id)
        .where(user.c.status == "enabled")
        .group_by(user.c.id)
        .subquery()
    )
    names = func.array_agg(aggregate_order_by(each.c.user_name, each.c.user_name))
    rows = await connection.execute(select(each.c.role_codes, names).group_by(each.c.role_codes))
    return {tuple(role_codes): tuple(user_names) for role_codes, user_names in rows}
