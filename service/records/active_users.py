"""Users who may log in, with their current rights: many in one statement."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ARRAY, BigInteger, Text, any_, bindparam, exists, func, or_, select

from service.kernel.identity import Kind
from service.records import bans
from service.records.database.prepared import PreparedSelect, Source
from service.records.database.row_mapper import RowMapper
from service.records.schema import menu, role, role_menu, user, user_ban, user_role


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
_KNOWN: Final = PreparedSelect(
    select(user.c.id, user.c.user_name_key).where(
        or_(user.c.id == any_(_IDS), user.c.user_name_key == any_(_KEYS))
    ),
    tuple,
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
_USER: Final = RowMapper(
    ActiveUser,
    user,
    name_key=user.c.user_name_key,
    roles=func.array(_ROLES.scalar_subquery()),
    permissions=func.array(_PERMISSIONS.scalar_subquery()),
)
_ACTIVE: Final = PreparedSelect(
    select(*_USER.columns).where(
        user.c.id == any_(_IDS),
        user.c.status == "enabled",
        ~exists().where(user_ban.c.user_id == user.c.id, bans.in_force()),
    ),
    _USER.of_values,
)


async def known(source: Source, ids: Collection[int], keys: Collection[str]) -> dict[int, str]:
    """Return, by id, the name keys of the users with one of these ids or name keys, disabled ones too."""
    return dict(await _KNOWN.all(source, ids=list(ids), keys=list(keys)))


async def read(source: Source, ids: Collection[int]) -> list[ActiveUser]:
    """Return those of the users who are neither disabled nor banned."""
    return await _ACTIVE.all(source, ids=list(ids))
