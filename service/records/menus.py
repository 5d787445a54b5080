"""``sys.menu``: the tree of Menus and Buttons, as it is read; ``menu_writes`` changes it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, Literal

from sqlalchemy import Column, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import NotFound, ValidationFailed
from service.records.paging import Page, containing, order_by, page_of
from service.records.schema import menu, role, role_menu, user_role

MenuType = Literal["Menu", "Button"]


@dataclass(frozen=True, slots=True)
class Button:
    """A Button as bindings show it."""

    id: int
    title: str
    auth_mark: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """A Menu or a Button; ``version`` rises with each edit."""

    id: int
    parent_id: int | None
    menu_type: MenuType
    title: str
    name: str | None
    path: str | None
    component: str | None
    icon: str | None
    auth_mark: str | None
    bit_position: int | None
    sort: int
    enabled: bool
    version: int


@dataclass(frozen=True, slots=True)
class MenuFilter:
    """Which menus: part of the title or code, the parent, the type, and the state; None asks nothing."""

    title: str | None = None
    auth_mark: str | None = None
    parent_id: int | None = None
    menu_type: MenuType | None = None
    enabled: bool | None = None


SORTS: Final = {
    "id": menu.c.id,
    "parentId": menu.c.parent_id,
    "title": menu.c.title,
    "authMark": menu.c.auth_mark,
    "sort": menu.c.sort,
}
"""What a list of menus can be sorted by."""

COLUMNS: Final[tuple[Column[Any], ...]] = (
    menu.c.id,
    menu.c.parent_id,
    menu.c.menu_type,
    menu.c.title,
    menu.c.name,
    menu.c.path,
    menu.c.component,
    menu.c.icon,
    menu.c.auth_mark,
    menu.c.bit_position,
    menu.c.sort,
    menu.c.enabled,
    menu.c.version,
)
"""The columns of a ``Menu``, in order."""


async def page(
    connection: AsyncConnection, wanted: MenuFilter, *, page: int = 1, size: int = 20, sort: str = "id"
) -> Page[Menu]:
    """Return page ``page`` (from 1) of the menus that fit; ValidationFailed for a sort not in ``SORTS``."""
    title = wanted.title
    statement = select(*COLUMNS).where(
        *containing(func.lower(menu.c.title), title and title.lower()),
        *containing(menu.c.auth_mark, wanted.auth_mark),
        *(() if wanted.parent_id is None else (menu.c.parent_id == wanted.parent_id,)),
        *(() if wanted.menu_type is None else (menu.c.menu_type == wanted.menu_type,)),
        *(() if wanted.enabled is None else (menu.c.enabled == wanted.enabled,)),
    )
    order = order_by(sort, SORTS, menu.c.id)
    found = await page_of(connection, statement, page=page, size=size, order=order)
    return Page(tuple(Menu(*row) for row in found.items), found.total)


async def read(connection: AsyncConnection, menu_id: int) -> Menu:
    """Return the menu of that id; NotFound when there is none."""
    row = (await connection.execute(select(*COLUMNS).where(menu.c.id == menu_id))).one_or_none()
    if row is None:
        raise NotFound("There is no such menu")
    return Menu(*row)


async def every(connection: AsyncConnection) -> list[Menu]:
    """Return all menus, disabled ones too, by ``sort`` and id."""
    found = await connection.execute(select(*COLUMNS).order_by(menu.c.sort, menu.c.id))
    return [Menu(*row) for row in found]


async def given_to(connection: AsyncConnection, user_id: int) -> set[int]:
    """Return the ids of the menus and Buttons that the enabled roles of a user give, disabled ones too."""
    statement = (
        select(role_menu.c.menu_id)
        .join(role, role.c.id == role_menu.c.role_id)
        .join(user_role, user_role.c.role_id == role.c.id)
        .where(user_role.c.user_id == user_id, role.c.enabled)
    )
    return set((await connection.execute(statement.distinct())).scalars())


async def permission_bits(
    connection: AsyncConnection, codes: Collection[str] | None = None
) -> dict[str, int]:
    """Return the bit position of every permission code, that is of every enabled Button, or of ``codes``."""
    statement = select(menu.c.auth_mark, menu.c.bit_position).where(
        menu.c.menu_type == "Button", menu.c.enabled
    )
    if codes is not None:
        statement = statement.where(menu.c.auth_mark.in_(codes))
    return {row.auth_mark: row.bit_position for row in await connection.execute(statement)}


async def button(connection: AsyncConnection, menu_id: int) -> Button:
    """Return the Button of that id; NotFound when there is none, and ValidationFailed for a Menu."""
    found = await read(connection, menu_id)
    if found.menu_type != "Button" or found.auth_mark is None:
        raise ValidationFailed(("id", "This is no Button, and only Buttons are bound"))
    return Button(found.id, found.title, found.auth_mark, found.enabled)


async def buttons_by_code(connection: AsyncConnection) -> dict[str, int]:
    """Return the ids of all enabled Buttons by their codes."""
    wanted = (menu.c.menu_type == "Button", menu.c.enabled)
    found = await connection.execute(select(menu.c.auth_mark, menu.c.id).where(*wanted))
    return {row.auth_mark: row.id for row in found}
