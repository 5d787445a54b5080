"""Users who may log in, with their current rights: many in one statement."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ARRAY, BigInteger, Text, any_, bindparam, exists, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.identity import Kind
from service.records.schema import menu, role, role_menu, user, user_ban, user_role
from service.records.users import bans


@dataclass(frozen=True, slots=True)
class ActiveUser:
    """A user, neither disabled nor banned, with sorted role codes and permission codes.

    ``name_key`` is the form in which names are compared. ``service`` is the one that a service account is
    bound to.
    """

    id: int
    user_name: str
    name_key: str
    nick_name: str
    kind: Kind
    service: str | None
    roles: tuple[str, ...]
    permissions: tuple[str, ...]


_IDS: Final = bindparam("ids", type_=ARRAY(BigInteger()))
_KEYS: Final = bindparam("keys", type_=ARRAY(Text()))
_KNOWN: Final = select(user.c.id, user.c.user_name_key).where(
    or_(user.c.id == any_(_IDS), user.c.user_name_key == any_(_KEYS))
)
_ROLES: Final = (
    select(role.c.role_code)
    .join(user_role, user_role.c.role_id == role.c.id)
    .where(user_role.c.user_id == user.c.id, role.c.enabled)
    .order_by(role.c.role_code)
    .correlate(user)
)
_PERMISSIONS: Final = (
    select(menu.c.auth_mark)
    .join(role_menu, role_menu.c.menu_id == menu.c.id)
    .join(role, role.c.id == role_menu.c.role_id)
    .join(user_role, user_role.c.role_id == role.c.id)
    .where(user_role.c.user_id == user.c.id, role.c.enabled, menu.c.menu_type == "Button", menu.c.enabled)
    .distinct()
    .order_by(menu.c.auth_mark)
    .correlate(user)
)
_ACTIVE: Final = select(
    user.c.id,
    user.c.user_name,
    user.c.user_name_key,
    user.c.nick_name,
    user.c.kind,
    user.c.service,
    func.array(_ROLES.scalar_subquery()).label("roles"),
    func.array(_PERMISSIONS.scalar_subquery()).label("permissions"),
).where(
    user.c.id == any_(_IDS),
    user.c.status == "enabled",
    ~exists().where(user_ban.c.user_id == user.c.id, bans.in_force()),
)


async def known(connection: AsyncConnection, ids: Collection[int], keys: Collection[str]) -> dict[int, str]:
    """Return, by id, the name keys of the users with one of these ids or name keys, disabled ones too."""
    found = await connection.execute(_KNOWN, {"ids": list(ids), "keys": list(keys)})
    return {row.id: row.user_name_key for row in found}


async def read(connection: AsyncConnection, ids: Collection[int]) -> list[ActiveUser]:
    """Return those of the users who are neither disabled nor banned."""
    found = await connection.execute(_ACTIVE, {"ids": list(ids)})
    return [ActiveUser(*row[:6], tuple(row.roles), tuple(row.permissions)) for row in found]
