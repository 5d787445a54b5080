"""Menus: the tree of pages, with the Buttons that carry permission codes: ``/api/menu``."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from service.administration.changes import Changes
from service.administration.menu_tree import MAX_DEPTH
from service.endpoints.record_endpoints import RecordEndpoint, RecordKind
from service.errors import Conflict, RateLimited
from service.kernel.value_rules import SHORT_LINE, SORT, bounds_of
from service.records import menus
from service.web.messages.partial_bodies import MergePatch, patch_of, replacement_of
from service.web.messages.record_schemas import answer_of, body_of, filters_of
from service.web.messages.schema import Id, Moment, PageQuery, Revision, Schema, UpdatedBy, sort_keys

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


MENU: Final = RecordKind(
    noun="menu",
    shown=Menu,
    saved=SavedMenuAnswer,
    page=menus.page,
    read=menus.read,
    matching=menus.MenuFilter,
)


class MenuList(RecordEndpoint[Changes]):
    """``/api/menu/list``."""

    on_get = MENU.lists(
        MenuQuery,
        "List Menus and Buttons; `parentId` is the position in the tree.",
        "system:menu:list",
    )


class Menus(RecordEndpoint[Changes]):
    """``/api/menu``."""

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


class OneMenu(RecordEndpoint[Changes]):
    """``/api/menu/{id}``."""

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
        "Delete a menu without menus below it, not given by any role and not bound to any resource.",
        "system:menu:delete",
        refuses=[Conflict],
    )
