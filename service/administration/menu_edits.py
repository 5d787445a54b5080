"""Edits of menus within a unit of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from service.administration import change_log
from service.administration.change_log import check_record, check_values
from service.administration.menu_tree import place_fault
from service.administration.unit_of_work import UnitOfWork
from service.errors import Conflict, ValidationFailed
from service.kernel.fields import camel
from service.kernel.origin import field_changes
from service.records import menus, role_rights
from service.records.database.row_mapper import merged
from service.records.database.transactions import Connection
from service.records.menus import Menu, MenuType, MenuValues

NAMED: Final = 5
"""The number of menus, roles and resources using a menu that a refusal lists, of each kind."""

Known = Mapping[int, Menu]
"""Menus by id."""

_PAGE: Final = ("path", "component", "hidden", "keep_alive", "redirect", "link", "badge", "meta")
"""The fields of ``MenuValues`` that say what a page is, and how it is shown: no Button has them."""

_NOT_HELD: Final = "The Button carries a permission that you do not hold"


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
        raise ValidationFailed(("menuType", "The type of a menu can't change"))
    values = merged(MenuValues, before, changed)
    _check_type(before.menu_type, values)
    await _require(unit, values.auth_mark)
    known: Known = {}
    if values.parent_id != before.parent_id:
        known = await _check_place(unit.connection, before, values.parent_id)
    saved = await menus.update(unit.connection, before, values, _asking(unit))
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
            faults.append(("authMark", "Only a Button carries a permission code"))
    else:
        if values.auth_mark is None:
            faults.append(("authMark", "A Button carries a permission code"))
        faults += [(camel(name), "A Button can't be navigated to") for name in _PAGE if getattr(values, name)]
    if faults:
        raise ValidationFailed(*faults)


def _asking(unit: UnitOfWork) -> int | None:
    """Return the user whose quota of bit positions counts; None for the operator, who has none."""
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
        raise ValidationFailed(("parentId", "There is no such Menu"))
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
    kinds = {"childCount": "menus below it", "roleCount": "roles", "resourceCount": "resources"}
    by = ", ".join(f"{details[count]} {kind}" for count, kind in kinds.items() if details[count])
    return Conflict(f"The menu is in use: {by}", rule="in_use", **details)
