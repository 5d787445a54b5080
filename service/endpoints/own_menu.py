"""The menus that a caller sees: ``/api/menu/mine``."""

from __future__ import annotations

from service.administration.menu_tree import seen
from service.kernel.codes import HeldCodes
from service.records import menus, rights
from service.records.database import Database
from service.web.call import Call
from service.web.marks import login
from service.web.wire import Id, Wire


class OwnMenu(Wire):
    """A Menu that the caller sees: `buttons` are the codes that he holds of the Buttons directly below."""

    id: Id
    parent_id: Id | None
    title: str
    name: str | None
    path: str | None
    component: str | None
    icon: str | None
    sort: int
    buttons: list[str]
    children: list[OwnMenu]


class MenuMine:
    """``/api/menu/mine``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @login
    async def on_get(self, call: Call) -> list[OwnMenu]:
        """Return the caller's own tree of menus, each list by `sort`."""
        user_id = call.user.user_id
        async with self._database.snapshot() as connection:
            held = await rights.of(connection, user_id)
            given = await menus.given_to(connection, user_id)
            known = await menus.every(connection) if given else []
        return [OwnMenu.of(one) for one in seen(known, given, HeldCodes(held.permissions))]
