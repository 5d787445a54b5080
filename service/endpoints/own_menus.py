"""The caller's own menus: ``/api/menu/mine``."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta

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
    hidden: bool
    keep_alive: bool
    redirect: str | None
    link: str | None
    badge: str | None
    meta: dict[str, Any] | None
    buttons: list[str]
    children: list[OwnMenu]


Codes = Annotated[list[str], Meta(examples=[["system:user:list"]])]


class OwnMenus(Schema):
    """What a front end needs for its routes and buttons: the visible Menus, and the codes held.

    `buttons` are the held codes of the Buttons that stand below no Menu; `permissions` are those of all
    enabled Buttons, also by a wildcard.
    """

    menus: list[OwnMenu]
    buttons: Codes
    permissions: Codes


class MenuMine:
    """``/api/menu/mine``."""

    def __init__(self, database: Database, live: LivePolicy) -> None:
        self._database = database
        self._live = live

    @login
    @named("getOwnMenus")
    async def on_get(self, context: RequestContext) -> OwnMenus:
        """Read the caller's own tree of menus, each list ordered by `sort`, and all codes of Buttons held."""
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
        return OwnMenus.of(await asyncio.to_thread(seen, known, given, holds))
