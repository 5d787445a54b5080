"""``sys.menu``: the tree of Menus and Buttons."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.schema import menu


async def permission_bits(connection: AsyncConnection) -> dict[str, int]:
    """Return the bit position of every permission code, that is of every enabled Button."""
    statement = select(menu.c.auth_mark, menu.c.bit_position).where(
        menu.c.menu_type == "Button", menu.c.enabled
    )
    return {row.auth_mark: row.bit_position for row in await connection.execute(statement)}
