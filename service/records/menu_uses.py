"""References to a menu: the menus below it, the roles that give it, the resources bound to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.schema import action_resource, menu, resource, role, role_menu


@dataclass(frozen=True, slots=True)
class Uses:
    """The first few references of each kind, and their number."""

    children: list[str]
    child_count: int
    roles: list[str]
    role_count: int
    resources: list[str]
    resource_count: int

    def __bool__(self) -> bool:
        return bool(self.child_count or self.role_count or self.resource_count)


async def of(connection: AsyncConnection, menu_id: int, most: int) -> Uses:
    """Return the titles of menus below, the codes of roles and the codes of resources, ``most`` of each."""
    below = select(menu.c.title).where(menu.c.parent_id == menu_id).order_by(menu.c.sort, menu.c.id)
    roles = (
        select(role.c.role_code)
        .join(role_menu, role_menu.c.role_id == role.c.id)
        .where(role_menu.c.menu_id == menu_id)
        .order_by(role.c.role_code)
    )
    bound = (
        select(resource.c.resource_code)
        .join(action_resource, action_resource.c.resource_id == resource.c.id)
        .where(action_resource.c.menu_id == menu_id)
        .order_by(resource.c.resource_code)
    )
    return Uses(
        *await _first(connection, below, most),
        *await _first(connection, roles, most),
        *await _first(connection, bound, most),
    )


async def _first(connection: AsyncConnection, names: Select[Any], most: int) -> tuple[list[str], int]:
    number = select(func.count()).select_from(names.order_by(None).subquery())
    rows = await connection.execute(names.limit(most))
    return list(rows.scalars()), (await connection.execute(number)).scalar_one()
