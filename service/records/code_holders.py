"""Persons who can log in and hold given codes, from the Buttons of their roles."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.assignments import in_force, instant
from service.records.role_holdings import ACTIVE
from service.records.schema.rights import menu, role, role_menu, user, user_role


async def holders(
    connection: AsyncConnection, codes: Collection[str], at: datetime, most: int
) -> list[tuple[int, tuple[str, ...]]]:
    """Return at most ``most`` persons who hold one of ``codes``, text for text, with all that they hold.

    By user id.
    """
    mark, user_id = menu.c.auth_mark, user_role.c.user_id
    among = mark == sa.any_(sa.literal(list(codes), sa.ARRAY(sa.Text)))
    giving = (
        user_role.join(role, role.c.id == user_role.c.role_id)
        .join(role_menu, role_menu.c.role_id == role.c.id)
        .join(menu, menu.c.id == role_menu.c.menu_id)
    )
    given = role.c.enabled & in_force(instant(at)) & (menu.c.menu_type == "Button") & menu.c.enabled
    # First the few holders: the codes of all users would be millions of rows.
    holding = sa.select(user_id).select_from(giving).where(given, among)
    chosen = (
        sa.select(user.c.id)
        .where(user.c.kind == "person", ACTIVE, user.c.id.in_(holding))
        .order_by(user.c.id)
        .limit(most)
    )
    statement = (
        sa.select(user_id, sa.func.array_agg(aggregate_order_by(sa.distinct(mark), mark)))
        .select_from(giving)
        .where(given, user_id.in_(chosen))
        .group_by(user_id)
        .order_by(user_id)
    )
    return [(holder, tuple(held)) for holder, held in await connection.execute(statement)]


async def codes_like(connection: AsyncConnection, codes: Collection[str]) -> list[str]:
    """Return the codes of Buttons, enabled or not, that are among ``codes`` or have a wildcard."""
    among = menu.c.auth_mark == sa.any_(sa.literal(list(codes), sa.ARRAY(sa.Text)))
    statement = sa.select(menu.c.auth_mark).where(
        menu.c.menu_type == "Button", among | menu.c.auth_mark.contains("*")
    )
    return list((await connection.execute(statement.distinct())).scalars())
