"""Roles with their permission codes in place of ids: for tables that are exported and imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.schema import menu, role, role_menu


@dataclass(frozen=True, slots=True)
class CodedRole:
    """A role; ``permissions`` are the codes of its Buttons, enabled or not, sorted."""

    id: int
    role_code: str
    role_name: str
    description: str | None
    enabled: bool
    permissions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MenuTree:
    """``buttons`` are the ids of all Buttons by code, ``parents`` the menu above each menu that has one."""

    buttons: Mapping[str, int]
    parents: Mapping[int, int]

    def with_menus_above(self, menu_ids: Iterable[int]) -> set[int]:
        """Return the menus and all that are above them."""
        found: set[int] = set()
        for one in menu_ids:
            above: int | None = one
            while above is not None and above not in found:
                found.add(above)
                above = self.parents.get(above)
        return found


async def after(connection: AsyncConnection, role_id: int, most: int) -> list[CodedRole]:
    """Return the first ``most`` roles whose id is greater than ``role_id``, in order."""
    statement = _coded().where(role.c.id > role_id).order_by(role.c.id).limit(most)
    return [_read(row) for row in await connection.execute(statement)]


async def by_code(connection: AsyncConnection, codes: Sequence[str]) -> dict[str, CodedRole]:
    """Return those of the roles that there are."""
    found = await connection.execute(_coded().where(role.c.role_code.in_(codes)))
    return {one.role_code: one for one in map(_read, found)}


async def menu_tree(connection: AsyncConnection) -> MenuTree:
    """Return all Buttons, enabled or not, and what is above each menu."""
    rows = (
        await connection.execute(select(menu.c.id, menu.c.parent_id, menu.c.menu_type, menu.c.auth_mark))
    ).all()
    return MenuTree(
        {row.auth_mark: row.id for row in rows if row.menu_type == "Button"},
        {row.id: row.parent_id for row in rows if row.parent_id is not None},
    )


def _coded() -> Select[Any]:
    marks = (
        select(menu.c.auth_mark)
        .join(role_menu, role_menu.c.menu_id == menu.c.id)
        .where(role_menu.c.role_id == role.c.id, menu.c.menu_type == "Button")
        .order_by(menu.c.auth_mark)
        .correlate(role)
    )
    columns = (role.c.id, role.c.role_code, role.c.role_name, role.c.description, role.c.enabled)
    return select(*columns, func.array(marks.scalar_subquery()))


def _read(row: Any) -> CodedRole:
    role_id, role_code, role_name, description, enabled, permissions = row
    return CodedRole(role_id, role_code, role_name, description, enabled, tuple(permissions))
