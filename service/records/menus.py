"""``sys.menu``: the tree of Menus and Buttons."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.schema import menu


async def permission_bits(connection: AsyncConnection) -> dict[str, int]:
    """Return the bit position of every permission code, that is of every enabled Button."""
    statement = select(menu.c.auth_mark, menu.c.bit_position).where(
        menu.c.menu_type == "Button", menu.c.enabled
    )
    return {row.auth_mark: row.bit_position for row in await connection.execute(statement)}


async def type_of(connection: AsyncConnection, menu_id: int) -> Literal["Menu", "Button"] | None:
    """Return what the row of that id is; None when there is none."""
    found = await connection.execute(select(menu.c.menu_type).where(menu.c.id == menu_id))
    return found.scalar_one_or_none()
