"""The caller's own menus: ``/api/menu/mine``."""

from __future__ import annotations

import asyncio

from service.administration.menu_tree import seen
from service.authz.engine.rules import GRANT
from service.authz.publishing.live import LivePolicy
from service.kernel.codes import HeldCodes
from service.records import menus, role_rights
from service.records.database.transactions import Database
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import login, named
from service.web.messages.schema import Id, Schema


class OwnMenu(Schema):
    """A Menu visible to the caller; `buttons` are the held codes of the Buttons directly below."""

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

    def __init__(self, database: Database, live: LivePolicy) -> None:
        self._database = database
        self._live = live

    @login
    @named("getOwnMenus")
    async def on_get(self, context: RequestContext) -> list[OwnMenu]:
        """Read the caller's own tree of menus, each list ordered by `sort`."""
        user_id = context.user.user_id
        async with self._database.snapshot() as connection:
            stored = await role_rights.of(connection, user_id)
            given = await menus.given_to(connection, user_id)
            known = await menus.every(connection) if given else []
        context.policy = policy = self._live.current
        held = HeldCodes(stored.permissions)

        def holds(code: str) -> bool:
            return policy.judge(GRANT, code, held).allowed

        # Ten thousand Buttons take a while to be decided.
        return [OwnMenu.of(menu) for menu in await asyncio.to_thread(seen, known, given, holds)]
