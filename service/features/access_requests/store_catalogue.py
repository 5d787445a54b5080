"""The roles of the catalogue, with the Buttons of each."""

from collections.abc import Collection
from typing import Final

from msgspec import Struct
from sqlalchemy import select

from service.records.database.filters import among
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.roles import ROLE, Role
from service.records.schema.rights import menu, role, role_menu


class GivenButton(Struct, frozen=True):
    """A Button of a role; ``menu_title`` is the Menu above it, None for a Button at the top."""

    role_id: int
    title: str
    menu_title: str | None
    auth_mark: str
    enabled: bool


_ABOVE: Final = menu.alias("above")
_BUTTON: Final = RowMapper(GivenButton, menu, role_id=role_menu.c.role_id, menu_title=_ABOVE.c.title)


async def buttons(connection: Connection, role_ids: Collection[int]) -> list[GivenButton]:
    """Return the Buttons of roles, enabled or not, in the order of the tree."""
    statement = (
        _BUTTON.select.join_from(menu, role_menu, role_menu.c.menu_id == menu.c.id)
        .outerjoin(_ABOVE, _ABOVE.c.id == menu.c.parent_id)
        .where(among(role_menu.c.role_id, role_ids), menu.c.menu_type == "Button")
        .order_by(_ABOVE.c.sort.nulls_first(), _ABOVE.c.id, menu.c.sort, menu.c.id)
    )
    return await _BUTTON.all(connection, statement)


async def roles(connection: Connection, role_ids: Collection[int]) -> list[Role]:
    """Return roles by name."""
    return await ROLE.where(connection, among(role.c.id, role_ids), order=role.c.role_name_key)


async def role_names(connection: Connection, role_ids: Collection[int]) -> dict[int, str]:
    """Return the names of the roles that still exist, by id."""
    chosen = select(role.c.id, role.c.role_name).where(among(role.c.id, role_ids))
    return {row.id: row.role_name for row in await connection.execute(chosen)}
