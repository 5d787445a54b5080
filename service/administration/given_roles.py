"""Which menus and Buttons a role is to give: said by their ids, or by the codes of the Buttons."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from service.errors import ValidationFailed
from service.records import roles
from service.records.database.transactions import Connection
from service.records.roles import GivenMenu, MenuTree


@dataclass(frozen=True, slots=True)
class Given:
    """What a role gives: ``menu_ids`` of all its menus and Buttons, ``permissions`` of all its Buttons.

    None is not said. One of them is enough; both must name the same Buttons.
    """

    menu_ids: Sequence[int] | None = None
    permissions: Sequence[str] | None = None

    def __bool__(self) -> bool:
        return self.menu_ids is not None or self.permissions is not None


NO_BUTTON: Final = "There is no such Button"


async def menus_of(connection: Connection, given: Given, before: Collection[GivenMenu]) -> Sequence[int]:
    """Return the ids of all menus and Buttons of a role that gave ``before`` and is to give ``given``.

    Raises ValidationFailed for a code that no Button carries, and if ids and codes name different Buttons.
    """
    if given.permissions is None:
        return given.menu_ids or ()
    tree = await roles.menu_tree(connection)
    if places := unknown(tree, given.permissions):
        raise ValidationFailed(*((f"permissions[{place}]", NO_BUTTON) for place in places))
    if given.menu_ids is None:
        return with_buttons(tree, given.permissions, before)
    named = set(given.menu_ids) & set(tree.buttons.values())
    if named != {tree.buttons[code] for code in given.permissions}:
        raise ValidationFailed(("permissions", "These are not the Buttons of menuIds: give one of the two"))
    return given.menu_ids


def unknown(tree: MenuTree, codes: Sequence[str]) -> list[int]:
    """Return the places of those ``codes`` that no Button carries."""
    return [place for place, code in enumerate(codes) if code not in tree.buttons]


def with_buttons(tree: MenuTree, codes: Collection[str], before: Collection[GivenMenu]) -> list[int]:
    """Return the ids of the Buttons with ``codes``, the Menus of ``before``, and those above new Buttons.

    So a role that is given by codes shows the pages of its Buttons, and keeps those that it has.
    """
    button_ids = {tree.buttons[code] for code in codes}
    had = {menu.id for menu in before if menu.auth_mark is not None}
    kept = {menu.id for menu in before if menu.auth_mark is None}
    return sorted(button_ids | kept | tree.with_menus_above(button_ids - had))
