"""``sys.menu``: the tree of Menus and Buttons."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import NotFound, ValidationFailed
from service.records.schema import menu


@dataclass(frozen=True, slots=True)
class Button:
    """A Button as bindings show it."""

    id: int
    title: str
    auth_mark: str
    enabled: bool


async def permission_bits(connection: AsyncConnection) -> dict[str, int]:
    """Return the bit position of every permission code, that is of every enabled Button."""
    statement = select(menu.c.auth_mark, menu.c.bit_position).where(
        menu.c.menu_type == "Button", menu.c.enabled
    )
    return {row.auth_mark: row.bit_position for row in await connection.execute(statement)}


async def button(connection: AsyncConnection, menu_id: int) -> Button:
    """Return the Button of that id; NotFound when there is none, and ValidationFailed for a Menu."""
    columns = (menu.c.id, menu.c.title, menu.c.auth_mark, menu.c.enabled)
    found = await connection.execute(select(menu.c.menu_type, *columns).where(menu.c.id == menu_id))
    row = found.one_or_none()
    if row is None:
        raise NotFound("There is no such menu")
    menu_type, *values = row
    if menu_type != "Button":
        raise ValidationFailed(("id", "This is no Button, and only Buttons are bound"))
    return Button(*values)


async def buttons_by_code(connection: AsyncConnection) -> dict[str, int]:
    """Return the ids of all enabled Buttons by their codes."""
    wanted = (menu.c.menu_type == "Button", menu.c.enabled)
    found = await connection.execute(select(menu.c.auth_mark, menu.c.id).where(*wanted))
    return {row.auth_mark: row.id for row in found}
