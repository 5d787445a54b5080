"""Menus: the tree of pages, with Buttons that carry permission codes, and the caller's own: ``/api/menu``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from types import SimpleNamespace
from typing import Annotated, Any, Final

from msgspec import Meta

from service.administration.changes import Changes
from service.administration.menu_edits import MAX_DEPTH, seen
from service.authz.engine.rules import GRANT
from service.authz.publishing.live import LivePolicy
from service.endpoints.record_endpoints import RecordEndpoint, RecordKind
from service.errors import Conflict, RateLimited
from service.kernel.codes import HeldCodes
from service.kernel.identity import codes_shown
from service.kernel.languages import MAX_TAG, TAG
from service.kernel.value_rules import SHORT_LINE, SORT, bounds_of
from service.records import accounts, menus, role_rights
from service.records.database.transactions import Database
from service.records.menus import MenuType
from service.web.messages import record_schemas
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, login
from service.web.messages.schema import Id, PageQuery, Revision, Schema, sort_keys

Parent = Annotated[
    Id | None, Meta(description=f"The Menu above; `null` at the top. There are at most {MAX_DEPTH} levels.")
]


@record_schemas.answer_of(menus.MenuValues, before="bit_position", full=True)
class Menu(Schema):
    """A Menu or a Button. Each edit increments `version`, which is its `ETag`."""

    id: Id
    parent_id: Id | None
    menu_type: MenuType
    title: Annotated[str, bounds_of(SHORT_LINE), Meta(examples=["Users"])]
    name: str | None
    path: str | None
    component: str | None
    icon: str | None
    bit_position: Annotated[int, Meta(ge=0)] | None
    sort: Annotated[int, bounds_of(SORT), Meta(description="Smaller values come first.")]
    enabled: bool


class SavedMenuAnswer(Menu, kw_only=True):
    """The saved menu, and the policy revision that has the change."""

    policy_revision: Revision


@record_schemas.body_of(menus.MenuValues, before="menu_type")
class NewMenu(Schema, kw_only=True):
    """A new menu; by default `enabled` is true and `sort` 0."""

    menu_type: MenuType
    parent_id: Parent = None


@record_schemas.replacement_of(NewMenu, fixed=["menu_type"])
class MenuReplacement(Schema):
    """All values of a menu; `menuType` may be omitted, and must be the current one."""


@record_schemas.patch_of(NewMenu)
class MenuPatch(record_schemas.MergePatch):
    """The values of a menu that change (RFC 7396). `null` removes one; `menuType` can't change."""


@record_schemas.filters_of(menus.MenuFilter)
class MenuQuery(PageQuery):
    """Filters and order of menus; title and code match by parts, the title in any case."""

    sort: Annotated[str, sort_keys("MenuSort", menus.SORTS)] = "id"


MENU: Final = RecordKind(
    noun="menu",
    shown=Menu,
    saved=SavedMenuAnswer,
    page=menus.page,
    read=menus.read,
    matching=menus.MenuFilter,
    session_act="change-access",
)


class MenuList(RecordEndpoint[Changes], at="/api/menu/list"):
    on_get = MENU.lists(
        MenuQuery,
        "List Menus and Buttons; `parentId` is the position in the tree.",
        "system:menu:list",
    )


class Menus(RecordEndpoint[Changes], at="/api/menu"):
    on_post = MENU.creates(
        NewMenu,
        "Create a Menu, or a Button with a permission code that the caller holds.",
        "system:menu:create",
        refuses=[RateLimited],
        example={
            "menuType": "Menu",
            "title": "Reports",
            "path": "/reports",
            "component": "reports/index",
            "sort": 10,
        },
    )


class OneMenu(RecordEndpoint[Changes], at="/api/menu/{id}"):
    on_get = MENU.reads("Read a menu.", "system:menu:list")
    on_put = MENU.replaces(
        MenuReplacement,
        """Replace the values of a menu.

        Callers can't edit a Button whose code they lack, or give it such a code. If the code or state of a
        Button changes, its holders must refresh their tokens; a disabled Button gives no permission.
        """,
        "system:menu:update",
        refuses=[RateLimited],
        example={
            "parentId": None,
            "title": "Reports",
            "name": None,
            "path": "/reports",
            "component": "reports/index",
            "icon": None,
            "authMark": None,
            "sort": 10,
            "enabled": True,
        },
    )
    on_patch = MENU.replaces(
        MenuPatch,
        "Change some values of a menu, by the rules of a `PUT`.",
        "system:menu:update",
        refuses=[RateLimited],
        example={"icon": "chart"},
    )
    on_delete = MENU.deletes(
        "Delete a menu; it must have no menu below it, no role and no resource.",
        "system:menu:delete",
        refuses=[Conflict],
    )


class OwnMenu(Schema):
    """A Menu visible to the caller; `buttons` are the held codes of the Buttons directly below.

    `title` is in the language of the request, if `titles` have it.
    """

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
    titles: dict[str, str] | None
    buttons: list[str]
    children: list[OwnMenu]


class OwnMenuQuery(Schema):
    """The language of the titles."""

    language: (
        Annotated[
            str,
            Meta(
                max_length=MAX_TAG,
                pattern=TAG,
                examples=["zh-CN"],
                description="The language of `title`, by Lookup of RFC 4647 in `titles`; by default that "
                "of the caller's profile.",
            ),
        ]
        | None
    ) = None


Codes = Annotated[list[str], Meta(examples=[["system:user:list"]])]


class OwnMenus(Schema):
    """The visible Menus and the held codes, for the routes and buttons of a front end.

    `buttons` are the held codes of Buttons outside any Menu. `permissions` are those of `GET /api/user/info`:
    they may contain wildcards such as `*`. `codes` are all held codes of enabled Buttons, with wildcards
    expanded: a front end compares them as plain texts.
    """

    menus: list[OwnMenu]
    buttons: Codes
    permissions: Annotated[list[str], Meta(examples=[["*"]])]
    codes: Codes


class MenuMine(Responders, at="/api/menu/mine"):
    def __init__(self, database: Database, live: LivePolicy, instant: Callable[[], datetime]) -> None:
        """``instant`` returns that of which rights are read."""
        self._database = database
        self._live = live
        self._instant = instant

    @login(name="getOwnMenus")
    async def on_get(self, context: RequestContext, query: OwnMenuQuery) -> OwnMenus:
        """Read the caller's own tree of menus, each list ordered by `sort`, and the codes held."""
        user_id = context.user.user_id
        async with self._database.snapshot() as connection:
            at = self._instant()
            stored = await role_rights.of(connection, user_id, at)
            given = await menus.given_to(connection, user_id, at)
            known = await menus.every(connection) if given else []
            language = query.language
            if language is None and any(menu.titles for menu in known):
                language, _ = await accounts.choices(connection, user_id)
        context.policy = policy = self._live.current
        permissions = codes_shown(context.user, stored.permissions)
        held = HeldCodes(permissions)

        def holds(code: str) -> bool:
            return policy.judge(GRANT, code, held).allowed

        # Ten thousand Buttons take a while to be decided.
        tree = await asyncio.to_thread(seen, known, given, holds, language)
        shown = {"menus": tree.menus, "buttons": tree.buttons, "codes": tree.codes}
        return OwnMenus.of(SimpleNamespace(**shown, permissions=permissions))
