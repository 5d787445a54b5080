"""Edits of menus within a unit of work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from service.administration import change_log, suspended_rules
from service.administration.change_log import check_record, check_values
from service.administration.unit_of_work import UnitOfWork
from service.errors import Conflict, ValidationFailed
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.fields import camel
from service.kernel.languages import text_in
from service.kernel.origin import field_changes
from service.records import menus, role_rights
from service.records.database.row_mapper import merged
from service.records.database.transactions import Connection
from service.records.menus import Menu, MenuType, MenuValues

MAX_DEPTH: Final = 10
"""The most levels of the tree."""


def place_fault(parents: Mapping[int, int | None], menu_id: int | None, parent_id: int) -> Sentence | None:
    """Return why a menu can't be put below ``parent_id``; None if it can.

    ``parents`` maps each menu id to its parent, None at the top. ``menu_id`` is the menu that moves with its
    descendants; None for a new menu.
    """
    above = 0
    at: int | None = parent_id
    while at is not None and above <= MAX_DEPTH:
        if at == menu_id:
            return sentence("menu_below_itself")
        above += 1
        at = parents.get(at)
    if above + _height(parents, menu_id) > MAX_DEPTH:
        return sentence("menus_too_deep", most=MAX_DEPTH)
    return None


def _height(parents: Mapping[int, int | None], menu_id: int | None) -> int:
    """Return the levels of a menu and everything below it; at most one more than ``MAX_DEPTH``."""
    level: Collection[int | None] = {menu_id}
    height = 1
    while menu_id is not None and height <= MAX_DEPTH:
        level = {child for child, parent in parents.items() if parent in level}
        if not level:
            break
        height += 1
    return height


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMenu(Menu):
    """A Menu visible to a user; ``buttons`` are the held codes of the Buttons directly below."""

    buttons: list[str] = field(default_factory=list)
    children: list[SeenMenu] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SeenTree:
    """The menu tree that a user sees, and the codes that the user holds.

    ``buttons`` are the codes of top-level Buttons; ``codes`` are the sorted codes of all Buttons.
    """

    menus: list[SeenMenu]
    buttons: list[str]
    codes: list[str]


def seen(
    menus: Sequence[Menu], given: Iterable[int], holds: Callable[[str], bool], language: str | None = None
) -> SeenTree:
    """Return the visible part of the tree of ``menus``, which are in order, with titles in ``language``.

    A Menu is visible if a role gives the Menu or any descendant (``given``), and no Menu on its path is
    disabled. A disabled Button shows nothing. An enabled Button is visible if ``holds`` is true for its code.
    """
    known = {menu.id: menu for menu in menus}
    menu_ids = _with_ancestors(known, given)
    shown = {
        menu.id: SeenMenu(**asdict(menu) | {"title": title_in(menu, language)})
        for menu in menus
        if menu.id in menu_ids and menu.menu_type == "Menu" and menu.enabled
    }
    tree = SeenTree([], [], [])
    places: dict[int | None, tuple[list[str], list[SeenMenu]]] = {None: (tree.buttons, tree.menus)}
    places |= {menu.id: (menu.buttons, menu.children) for menu in shown.values()}
    for menu in menus:
        buttons, below = places.get(menu.parent_id, ([], []))
        if menu.id in shown:
            below.append(shown[menu.id])
        elif menu.auth_mark is not None and menu.enabled and holds(menu.auth_mark):
            buttons.append(menu.auth_mark)
            tree.codes.append(menu.auth_mark)
    tree.codes.sort()
    return tree


def title_in(menu: Menu, language: str | None) -> str:
    """Return the title of a menu in ``language``, else its only title that has no language."""
    translated = text_in(menu.titles, language) if menu.titles and language else None
    return menu.title if translated is None else translated


def _with_ancestors(known: Mapping[int, Menu], given: Iterable[int]) -> set[int]:
    menu_ids: set[int] = set()
    for menu_id in given:
        at: int | None = menu_id
        if (menu := known.get(menu_id)) is None or not menu.enabled:
            continue
        while at is not None and at not in menu_ids:
            menu_ids.add(at)
            at = known[at].parent_id if at in known else None
    return menu_ids


NAMED: Final = 5
"""The number of menus, roles and resources using a menu that a refusal lists, of each kind."""

Known = Mapping[int, Menu]
"""Menus by id."""

_PAGE: Final = ("path", "component", "hidden", "keep_alive", "redirect", "link", "badge", "meta")
"""The fields of ``MenuValues`` that say what a page is, and how it is shown: no Button has them."""

_NOT_HELD: Final = sentence("button_not_held")


async def create(unit: UnitOfWork, given: Mapping[str, Any]) -> Menu:
    """Create a menu of the ``menu_type`` and with the fields of ``MenuValues`` that are given.

    Raises ``ValidationFailed``, ``Conflict`` for a code that another Button has, and ``RateLimited`` while
    too many bit positions wait.
    """
    menu_type, fields = _parts(given)
    values = MenuValues(**fields)
    check_record(values)
    _check_type(menu_type, values)
    await _require(unit, values.auth_mark)
    unit.authorized()
    known = await _check_place(unit.connection, None, values.parent_id)
    parent = _title(known, values.parent_id)
    saved = await menus.create(unit.connection, menu_type, values, _asking(unit))
    unit.changes += field_changes(change_log.menu_target(saved), {}, change_log.menu_fields(saved, parent))
    return saved


async def update(
    unit: UnitOfWork, menu_id: int, given: Mapping[str, Any], match: Callable[[Menu], None]
) -> Menu:
    """Store the given fields of ``MenuValues``; absent fields are unchanged.

    A ``menu_type`` that is given must be the current one. The rules are those of the menu as it will be.
    Raises ``NotFound``, ``ValidationFailed``, ``Conflict`` for a code of another Button, and ``RateLimited``
    like ``create``.
    """
    menu_type, changed = _parts(given)
    check_values(MenuValues, changed)
    before = await _for_change(unit, menu_id, match)
    if menu_type not in (None, before.menu_type):
        raise ValidationFailed(("menuType", sentence("menu_type_fixed")))
    values = merged(MenuValues, before, changed)
    _check_type(before.menu_type, values)
    await _require(unit, values.auth_mark)
    known: Known = {}
    if values.parent_id != before.parent_id:
        known = await _check_place(unit.connection, before, values.parent_id)
    renamed = before.auth_mark not in (None, values.auth_mark)
    asked = await suspended_rules.grantable_codes(unit.connection, before.id) if renamed else {}
    saved = await menus.update(unit.connection, before, values, _asking(unit))
    for role_id, reach in asked.items():
        await suspended_rules.suspend_if_unauthorized(unit, role_id, reach)
    unit.targets.append(change_log.menu_target(saved))
    fields = (change_log.menu_fields(menu, _title(known, menu.parent_id)) for menu in (before, saved))
    unit.changes += field_changes(change_log.menu_target(before), *fields)
    unit.refreshing.update(await _affected(unit.connection, before, saved))
    return saved


async def delete(unit: UnitOfWork, menu_id: int, match: Callable[[Menu], None]) -> None:
    """Delete a menu.

    Raises ``NotFound``, and ``Conflict``, naming them, while menus, roles or resources use it.
    """
    before = await _for_change(unit, menu_id, match)
    uses = await menus.uses_of(unit.connection, menu_id, NAMED)
    if uses:
        raise _in_use(uses)
    await menus.delete(unit.connection, before, _asking(unit))
    unit.changes += field_changes(change_log.menu_target(before), change_log.menu_fields(before), {})


def _parts(given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the type, None if it is not given, and the fields of ``MenuValues``."""
    fields = dict(given)
    return fields.pop("menu_type", None), fields


async def _for_change(unit: UnitOfWork, menu_id: int, match: Callable[[Menu], None]) -> Menu:
    stored = await menus.read(unit.connection, menu_id)
    change_log.concerns(change_log.menu_target(stored))
    await _require(unit, stored.auth_mark)
    match(stored)
    return stored


def _check_type(menu_type: MenuType, values: MenuValues) -> None:
    """Check that ``values`` go with the type of the menu."""
    faults = []
    if menu_type == "Menu":
        if values.auth_mark is not None:
            faults.append(("authMark", sentence("menu_with_code")))
    else:
        if values.auth_mark is None:
            faults.append(("authMark", sentence("button_without_code")))
        faults += [(camel(name), sentence("button_with_page")) for name in _PAGE if getattr(values, name)]
    if faults:
        raise ValidationFailed(*faults)


def _asking(unit: UnitOfWork) -> int | None:
    """Return the user whose quota of bit positions counts; None for the operator, who has no quota."""
    return None if unit.caller.is_operator else unit.caller.user_id


async def _require(unit: UnitOfWork, code: str | None) -> None:
    if code is not None:
        await unit.check.require([code], _NOT_HELD)


async def _check_place(connection: Connection, before: Menu | None, parent_id: int | None) -> Known:
    """Check that ``before``, None for a new menu, can stand below ``parent_id``.

    Returns all menus, or none if it neither was nor will be below one.
    """
    if parent_id is None and (before is None or before.parent_id is None):
        return {}
    known = {menu.id: menu for menu in await menus.every(connection)}
    if parent_id is None:
        return known
    if parent_id not in known or known[parent_id].menu_type != "Menu":
        raise ValidationFailed(("parentId", sentence("no_such_page")))
    parents = {menu.id: menu.parent_id for menu in known.values()}
    if fault := place_fault(parents, None if before is None else before.id, parent_id):
        raise ValidationFailed(("parentId", fault))
    return known


def _title(known: Known, menu_id: int | None) -> str | None:
    return known[menu_id].title if menu_id is not None and menu_id in known else None


async def _affected(connection: Connection, before: Menu, saved: Menu) -> list[int]:
    """Return the users who hold, or held, the code of a changed Button."""
    same = (before.auth_mark, before.enabled) == (saved.auth_mark, saved.enabled)
    if same or before.menu_type != "Button" or not (before.enabled or saved.enabled):
        return []
    return await role_rights.holders_of_menus(connection, [saved.id])


def _in_use(uses: menus.Uses) -> Conflict:
    details: dict[str, Any] = {
        "children": uses.children,
        "childCount": uses.child_count,
        "roles": uses.roles,
        "roleCount": uses.role_count,
        "resources": uses.resources,
        "resourceCount": uses.resource_count,
    }
    stated = sentence(
        "menu_in_use", children=uses.child_count, roles=uses.role_count, resources=uses.resource_count
    )
    return Conflict(stated, rule="in_use", **details)
