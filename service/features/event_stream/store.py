"""Menus that roles grant, by digest."""

from collections.abc import Collection
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by

from service.records.database.transactions import Connection
from service.records.schema.rights import menu, role, role_menu

_MENUS: Final = (
    sa.select(
        role.c.role_code,
        sa.func.md5(
            sa.func.string_agg(
                sa.func.concat(menu.c.id, ":", menu.c.version),
                aggregate_order_by(sa.literal(","), menu.c.id),
            )
        ).label("menus"),
    )
    .join(role_menu, role_menu.c.role_id == role.c.id)
    .join(menu, menu.c.id == role_menu.c.menu_id)
    .group_by(role.c.role_code)
)


async def menus_of_roles(connection: Connection, codes: Collection[str]) -> dict[str, str]:
    """Return a digest of the menus and Buttons of each role, by role code; none for a role without any."""
    rows = await connection.execute(_MENUS.where(role.c.role_code.in_(codes)))
    return {row.role_code: row.menus for row in rows}
