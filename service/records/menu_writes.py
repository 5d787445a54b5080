"""Writing ``sys.menu``.

Callers hold ``policy_revisions.lock`` and ``role_rights.lock``, so that what they have checked stays true
until the commit.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from sqlalchemy import delete as delete_from
from sqlalchemy import insert, null, select
from sqlalchemy import update as change
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict
from service.records import bit_positions
from service.records.database.row_mapper import RowWriter
from service.records.menus import MENU, Menu, MenuType, MenuValues
from service.records.schema import menu

_WRITER: Final = RowWriter(MenuValues, menu)


async def create(
    connection: AsyncConnection, menu_type: MenuType, values: MenuValues, user_id: int | None
) -> Menu:
    """Write a new menu, enabled unless ``values`` say otherwise; a Button gets its own bit position.

    ``user_id`` is the user who asks for it, if any. Conflict if the code belongs to another Button;
    RateLimited as ``bit_positions.give``.
    """
    stored = _WRITER.new(values, menu_type=menu_type)
    if menu_type == "Button":
        await _refuse_taken(connection, values)
        stored["bit_position"] = await bit_positions.give(connection, user_id)
    else:
        stored["bit_position"] = null()
    written = insert(menu).values(stored).returning(*MENU.columns)
    return await MENU.returned(connection, written)


async def update(connection: AsyncConnection, before: Menu, values: MenuValues, user_id: int | None) -> Menu:
    """Store ``values`` in the existing menu ``before``; ``user_id`` is the user who asks for it, if any.

    A Button whose code changes gets another bit: a token with the old bit must not grant the new code.
    Conflict if the code belongs to another Button; RateLimited as ``bit_positions.give``.
    """
    stored = _WRITER.edited(asdict(values))
    if before.menu_type == "Button" and values.auth_mark != before.auth_mark:
        await _refuse_taken(connection, values)
        stored["bit_position"] = await bit_positions.give(connection, user_id)
        await _retire(connection, before, user_id)
    written = change(menu).where(menu.c.id == before.id).values(stored).returning(*MENU.columns)
    return await MENU.returned(connection, written)


async def delete(connection: AsyncConnection, before: Menu, user_id: int | None) -> None:
    """Delete a menu that nothing refers to; ``user_id`` is the user who asks for it, if any."""
    await connection.execute(delete_from(menu).where(menu.c.id == before.id))
    await _retire(connection, before, user_id)


async def _retire(connection: AsyncConnection, before: Menu, user_id: int | None) -> None:
    if before.bit_position is not None:
        await bit_positions.retire(connection, before.bit_position, user_id)


async def _refuse_taken(connection: AsyncConnection, values: MenuValues) -> None:
    taken = select(menu.c.id).where(menu.c.menu_type == "Button", menu.c.auth_mark == values.auth_mark)
    other = (await connection.execute(taken)).scalar_one_or_none()
    if other is not None:
        raise Conflict(
            f"The permission code belongs to Button {other}", rule="unique", field="authMark", menuId=other
        )
