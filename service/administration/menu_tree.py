"""The tree of menus: valid positions, and the part that a user sees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from service.records.menus import Menu

MAX_DEPTH: Final = 10
"""The most levels of the tree."""


def place_fault(parents: Mapping[int, int | None], menu_id: int | None, parent_id: int) -> str | None:
    """Return why a menu can't be put below ``parent_id``; None if it can.

    ``parents`` gives the parent of each menu by id, None for those at the top; ``menu_id`` is the menu that
    moves, with all that is below it, or None for a new one.
    """
    above = 0
    at: int | None = parent_id
    while at is not None and above <= MAX_DEPTH:
        if at == menu_id:
            return "A menu can't be below itself"
        above += 1
        at = parents.get(at)
    if above + _height(parents, menu_id) > MAX_DEPTH:
        return f"The tree has at most {MAX_DEPTH} levels"
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
    """What a user sees: the Menus at the top, with those below, and codes that the user holds.

    ``buttons`` are the codes of the Buttons at the top, which stand below no Menu; ``permissions`` are the
    codes of all Buttons, wherever they stand, sorted.
    """

    menus: list[SeenMenu]
    buttons: list[str]
    permissions: list[str]


def seen(menus: Sequence[Menu], given: Iterable[int], holds: Callable[[str], bool]) -> SeenTree:
    """Return what is visible of the tree of ``menus``, which are in order.

    A Menu is seen when it, or anything below it, is ``given`` by a role; it is not when it, or a Menu above
    it, is disabled. A disabled Button shows nothing. Of the Buttons only those enabled ones are seen for
    whose code ``holds`` is true.
    """
    known = {menu.id: menu for menu in menus}
    menu_ids = _with_ancestors(known, given)
    shown = {
        menu.id: SeenMenu(**asdict(menu))
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
            tree.permissions.append(menu.auth_mark)
    tree.permissions.sort()
    return tree


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
