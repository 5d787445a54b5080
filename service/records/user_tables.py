"""Users for table exports and imports: identified by name, with the codes of their roles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records import user_list
from service.records.database.row_mapper import RowMapper
from service.records.schema import role, user, user_role
from service.records.user_list import User, UserValues


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedUser(UserValues):
    """A user; ``roles`` are the codes of all roles of the user, in the order of the roles' ids."""

    id: int
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Directory:
    """The stored users and roles that a table names: users by the key of their name, role ids by code."""

    users: Mapping[str, User]
    roles: Mapping[str, int]


async def directory(
    connection: AsyncConnection, keys: Collection[str], role_codes: Collection[str]
) -> Directory:
    """Return the existing users by the keys of their names, and the existing roles by code."""
    named = select(user.c.id, user.c.user_name_key).where(user.c.user_name_key.in_(keys))
    key_of = {row.id: row.user_name_key for row in await connection.execute(named)}
    users = await user_list.read_all(connection, list(key_of))
    return Directory({key_of[record.id]: record for record in users}, await role_ids(connection, role_codes))


async def role_ids(connection: AsyncConnection, codes: Collection[str]) -> dict[str, int]:
    """Return the ids of the existing roles, by code."""
    coded = select(role.c.role_code, role.c.id).where(role.c.role_code.in_(codes))
    return {row.role_code: row.id for row in await connection.execute(coded)}


_CODES: Final = (
    select(role.c.role_code)
    .join(user_role, user_role.c.role_id == role.c.id)
    .where(user_role.c.user_id == user.c.id)
    .order_by(role.c.id)
    .correlate(user)
)
_CODED: Final = RowMapper(CodedUser, user, roles=func.array(_CODES.scalar_subquery()))


async def after(connection: AsyncConnection, user_id: int, most: int) -> list[CodedUser]:
    """Return the first ``most`` users whose id is greater than ``user_id``, in order."""
    following = select(*_CODED.columns).where(user.c.id > user_id)
    return await _CODED.all(connection, following.order_by(user.c.id).limit(most))
