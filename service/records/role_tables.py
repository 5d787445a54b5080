"""Roles for table exports and imports: with permission codes in place of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.database.row_mapper import RowMapper
from service.records.roles import RoleValues
from service.records.schema import menu, role, role_menu


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedRole(RoleValues):
    """A role; ``permissions`` are the codes of its Buttons, enabled or not, sorted."""

    id: int
    role_code: str
    permissions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MenuTree:
    """``buttons`` are the ids of all Buttons by code; ``parents`` maps a menu to the menu above it."""

    buttons: Mapping[str, int]
    parents: Mapping[int, int]

    def with_menus_above(self, menu_ids: Iterable[int]) -> set[int]:
        """Return the menus and all menus above them."""
        reached: set[int] = set()
        for menu_id in menu_ids:
            above: int | None = menu_id
            while above is not None and above not in reached:
                reached.add(above)
                above = self.parents.get(above)
        return reached


_PERMISSIONS: Final = (
    select(menu.c.auth_mark)
    .join(role_menu, role_menu.c.menu_id == menu.c.id)
    .where(role_menu.c.role_id == role.c.id, menu.c.menu_type == "Button")
    .order_by(menu.c.auth_mark)
    .correlate(role)
)
_CODED: Final = RowMapper(CodedRole, role, permissions=func.array(_PERMISSIONS.scalar_subquery()))


async def after(connection: AsyncConnection, role_id: int, most: int) -> list[CodedRole]:
    """Return the first ``most`` roles whose id is greater than ``role_id``, in order."""
    following = select(*_CODED.columns).where(role.c.id > role_id)
    return await _CODED.all(connection, following.order_by(role.c.id).limit(most))


async def by_code(connection: AsyncConnection, codes: Sequence[str]) -> dict[str, CodedRole]:
    """Return the existing roles, by code."""
    named = select(*_CODED.columns).where(role.c.role_code.in_(codes))
    return {coded.role_code: coded for coded in await _CODED.all(connection, named)}


async def menu_tree(connection: AsyncConnection) -> MenuTree:
    """Return the ids of all Buttons, enabled or not, and the parents of all menus."""
    rows = (
        await connection.execute(select(menu.c.id, menu.c.parent_id, menu.c.menu_type, menu.c.auth_mark))
    ).all()
    return MenuTree(
        {row.auth_mark: row.id for row in rows if row.menu_type == "Button"},
        {row.id: row.parent_id for row in rows if row.parent_id is not None},
    )
