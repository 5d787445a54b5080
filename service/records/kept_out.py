"""Users who may not log in, disabled or banned: their roles give them nothing until they are let in again."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import ARRAY, BigInteger, any_, func, literal, select
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.role_holdings import ACTIVE, Roles, codes_by_id, each_with_roles, named
from service.records.schema import user


async def by_roles(connection: AsyncConnection) -> dict[Roles, tuple[int, ...]]:
    """Return the ids of these users, by their roles; a hundred thousand take some tenths of a second."""
    each = each_with_roles(~ACTIVE)
    ids = func.array_agg(aggregate_order_by(each.c.id, each.c.id))
    role_codes = await codes_by_id(connection)
    rows = await connection.execute(select(each.c.role_ids, ids).group_by(each.c.role_ids))
    return {named(role_ids, role_codes): tuple(user_ids) for role_ids, user_ids in rows}


async def names_of(connection: AsyncConnection, user_ids: Collection[int], most: int) -> tuple[str, ...]:
    """Return the names of users in order, at most ``most`` of them."""
    condition = user.c.id == any_(literal(list(user_ids), ARRAY(BigInteger)))
    statement = select(user.c.user_name).where(condition).order_by(user.c.user_name).limit(most)
    return tuple((await connection.execute(statement)).scalars())
