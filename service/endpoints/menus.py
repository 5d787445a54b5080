"""Menus: the tree of pages, with the Buttons that carry permission codes: ``/api/menu``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from service.administration.menu_tree import MAX_DEPTH
from service.administration.menus import MenuChanges
from service.authz.engine.policy import Policy
from service.errors import Conflict, NotFound, PreconditionFailed, RateLimited
from service.kernel.value_rules import SHORT_LINE, SORT, bounds_of
from service.records import menus
from service.records.database.transactions import Database
from service.web.messages.change_answers import published_answer
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import (
    created,
    dry_run,
    example_body,
    idempotent,
    logged,
    named,
    needs,
    publishes,
    refuses,
    tagged,
)
from service.web.messages.partial_bodies import MergePatch, patch_of, replacement_of
from service.web.messages.preconditions import answer_tag, unchanged, version_tag
from service.web.messages.record_schemas import answer_of, body_of, filters_of
from service.web.messages.schema import (
    Id,
    Moment,
    Page,
    PageQuery,
    Published,
    Revision,
    Schema,
    UpdatedBy,
    page_answer,
    sort_keys,
)

MenuType = Literal["Menu", "Button"]

Parent = Annotated[
    Id | None, Meta(description=f"The Menu above; `null` at the top. There are at most {MAX_DEPTH} levels.")
]


@answer_of(menus.MenuValues, before="bit_position", full=True)
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
    version: Annotated[int, Meta(ge=1, examples=[3])]
    update_time: Moment
    updated_by: UpdatedBy


class SavedMenuAnswer(Menu, kw_only=True):
    """The saved menu, and the policy revision from which it is in force."""

    policy_revision: Revision


@body_of(menus.MenuValues, before="menu_type")
class NewMenu(Schema, kw_only=True):
    """A new menu; by default `enabled` is true and `sort` 0."""

    menu_type: MenuType
    parent_id: Parent = None


@replacement_of(NewMenu, fixed=["menu_type"])
class MenuReplacement(Schema):
    """All values of a menu; `menuType` may be omitted, and must be the current one."""


@patch_of(NewMenu)
class MenuPatch(MergePatch):
    """The values of a menu that change (RFC 7396). `null` removes one; `menuType` can't change."""


@filters_of(menus.MenuFilter)
class MenuQuery(PageQuery):
    """Filters and order of menus; title and code match by parts, the title in any case."""

    sort: Annotated[str, sort_keys("MenuSort", menus.SORTS)] = "id"


def answer(context: RequestContext, saved: menus.Menu, policy: Policy) -> SavedMenuAnswer:
    """Return a saved menu, with its ``ETag`` and the policy that follows."""
    return published_answer(context, SavedMenuAnswer, saved, policy)


class MenuList:
    """``/api/menu/list``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @needs("system:menu:list")
    @named("listMenus")
    async def on_get(self, context: RequestContext, query: MenuQuery) -> Page[Menu]:
        """List Menus and Buttons; `parentId` is the position in the tree."""
        criteria = query.filter(menus.MenuFilter)
        async with self._database.snapshot() as connection:
            listed = await menus.page(connection, criteria, page=query.page, size=query.size, sort=query.sort)
        return page_answer(query, listed, Menu)


class Menus:
    """``/api/menu``."""

    def __init__(self, changes: MenuChanges) -> None:
        self._changes = changes

    @created("/api/menu/{id}")
    @idempotent(answer)
    @needs("system:menu:create")
    @dry_run
    @logged("menu", "create", "INSERT")
    @publishes
    @refuses(Conflict, RateLimited)
    @example_body(
        {"menuType": "Menu", "title": "Reports", "path": "/reports", "component": "reports/index", "sort": 10}
    )
    @tagged
    @named("createMenu")
    async def on_post(self, context: RequestContext, body: NewMenu) -> SavedMenuAnswer:
        """Create a Menu, or a Button with a permission code that the caller holds."""
        given = body.given()
        menu_type = given.pop("menu_type")
        saved, policy = await self._changes.create(context.user, menu_type, menus.MenuValues(**given))
        return answer(context, saved, policy)


class OneMenu:
    """``/api/menu/{id}``."""

    def __init__(self, database: Database, changes: MenuChanges) -> None:
        self._database = database
        self._changes = changes

    @needs("system:menu:list")
    @refuses(NotFound)
    @tagged
    @named("getMenu")
    async def on_get(self, context: RequestContext, id: int) -> Menu:
        """Read a menu."""
        async with self._database.transaction() as connection:
            menu = await menus.read(connection, id)
        answer_tag(context, version_tag(menu.version))
        return Menu.of(menu)

    @needs("system:menu:update")
    @dry_run
    @logged("menu", "update", "UPDATE")
    @publishes
    @refuses(NotFound, Conflict, PreconditionFailed, RateLimited)
    @example_body(
        {
            "parentId": None,
            "title": "Reports",
            "name": None,
            "path": "/reports",
            "component": "reports/index",
            "icon": None,
            "authMark": None,
            "sort": 10,
            "enabled": True,
        }
    )
    @tagged
    @named("updateMenu")
    async def on_put(self, context: RequestContext, body: MenuReplacement, id: int) -> SavedMenuAnswer:
        """Replace the values of a menu.

        Callers can't edit a Button whose code they lack, or give it such a code. If the code or state of a
        Button changes, its holders must refresh their tokens; a disabled Button gives no permission.
        """
        return answer(context, *await self._edit(context, id, body))

    @needs("system:menu:update")
    @dry_run
    @logged("menu", "update", "UPDATE")
    @publishes
    @refuses(NotFound, Conflict, PreconditionFailed, RateLimited)
    @example_body({"icon": "chart"})
    @tagged
    @named("patchMenu")
    async def on_patch(self, context: RequestContext, body: MenuPatch, id: int) -> SavedMenuAnswer:
        """Change some values of a menu, by the rules of a `PUT`."""
        return answer(context, *await self._edit(context, id, body))

    async def _edit(
        self, context: RequestContext, id: int, body: MenuReplacement | MenuPatch
    ) -> tuple[menus.Menu, Policy]:
        given = body.given()
        menu_type = given.pop("menu_type", None)
        return await self._changes.update(context.user, id, menu_type, given, unchanged(context))

    @needs("system:menu:delete")
    @dry_run
    @logged("menu", "delete", "DELETE")
    @publishes
    @refuses(NotFound, Conflict, PreconditionFailed)
    @named("deleteMenu")
    async def on_delete(self, context: RequestContext, id: int) -> Published:
        """Delete a menu without menus below it, not given by any role and not bound to any resource."""
        context.policy = await self._changes.delete(context.user, id, unchanged(context))
        return Published(policy_revision=context.policy.revision)
