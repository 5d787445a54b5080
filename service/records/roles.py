"""``sys.role``: named sets of menus and Buttons."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.names import name_key
from service.records.paging import Page, containing, order_by, page_of
from service.records.schema import menu, role, role_menu


@dataclass(frozen=True, slots=True)
class Role:
    """A role as lists show it."""

    id: int
    role_name: str
    role_code: str
    description: str | None
    enabled: bool
    create_time: datetime
    update_time: datetime


@dataclass(frozen=True, slots=True)
class RoleFilter:
    """Which roles: part of the name (compared by ``name_key``) or code, and the state; None asks nothing."""

    role_name: str | None = None
    role_code: str | None = None
    enabled: bool | None = None


SORTS: Final = {
    "id": role.c.id,
    "roleName": role.c.role_name_key,
    "roleCode": role.c.role_code,
    "enabled": role.c.enabled,
    "createTime": role.c.create_time,
    "updateTime": role.c.update_time,
}
"""What a list of roles can be sorted by."""


async def page(
    connection: AsyncConnection, wanted: RoleFilter, *, page: int = 1, size: int = 20, sort: str = "id"
) -> Page[Role]:
    """Return page ``page`` (from 1) of the roles that fit; ValidationFailed for a sort not in ``SORTS``."""
    statement = select(
        role.c.id,
        role.c.role_name,
        role.c.role_code,
        role.c.description,
        role.c.enabled,
        role.c.create_time,
        role.c.update_time,
    ).where(
        *containing(role.c.role_name_key, wanted.role_name and name_key(wanted.role_name)),
        *containing(role.c.role_code, wanted.role_code),
        *(() if wanted.enabled is None else (role.c.enabled == wanted.enabled,)),
    )
    order = order_by(sort, SORTS, role.c.id)
    found = await page_of(connection, statement, page=page, size=size, order=order)
    return Page(tuple(Role(*row) for row in found.items), found.total)


async def held_codes(connection: AsyncConnection) -> dict[str, tuple[str, ...]]:
    """Return, by role code, the permission codes that each enabled role gives, sorted."""
    given = (
        select(role.c.role_code, func.array_agg(aggregate_order_by(menu.c.auth_mark, menu.c.auth_mark)))
        .join(role_menu, role_menu.c.role_id == role.c.id)
        .join(menu, menu.c.id == role_menu.c.menu_id)
        .where(role.c.enabled, menu.c.menu_type == "Button", menu.c.enabled)
        .group_by(role.c.role_code)
        .order_by(role.c.role_code)
    )
    return {role_code: tuple(codes) for role_code, codes in await connection.execute(given)}
