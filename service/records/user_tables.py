"""Users as tables name them, by name and by the codes of roles: to export and to import many at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records import user_list
from service.records.schema import role, user
from service.records.user_list import User


@dataclass(frozen=True, slots=True)
class Directory:
    """What is stored of that which a table names: users by the key of their name, ids of roles by code."""

    users: Mapping[str, User]
    roles: Mapping[str, int]


async def directory(
    connection: AsyncConnection, keys: Collection[str], role_codes: Collection[str]
) -> Directory:
    """Return the users whose names have the keys, and the roles with the codes, of those that there are."""
    named = select(user.c.id, user.c.user_name_key).where(user.c.user_name_key.in_(keys))
    key_of = {row.id: row.user_name_key for row in await connection.execute(named)}
    users = await user_list.read_all(connection, list(key_of))
    coded = select(role.c.role_code, role.c.id).where(role.c.role_code.in_(role_codes))
    roles = {row.role_code: row.id for row in await connection.execute(coded)}
    return Directory({key_of[one.id]: one for one in users}, roles)


async def after(connection: AsyncConnection, user_id: int, most: int) -> tuple[User, ...]:
    """Return the first ``most`` users whose id is greater than ``user_id``, in order."""
    found = await connection.execute(
        select(user.c.id).where(user.c.id > user_id).order_by(user.c.id).limit(most)
    )
    return await user_list.read_all(connection, list(found.scalars()))
