"""Changes of menus: the pages of the tree, and the Buttons that carry permission codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from service.administration import menu_edits
from service.administration.unit_of_work import UnitsOfWork
from service.authz.engine.policy import Policy
from service.kernel.identity import Caller
from service.records.menus import Menu, MenuType, MenuValues


class MenuChanges:
    """Writes menus, for callers who hold the code of a Button before and after the change.

    Changes of menus are serialised over all processes, so that two of them can't create a cycle together.
    ``match`` is called with the stored values, under the lock; its exceptions roll the change back. Each
    change publishes the resulting policy, and returns it, after the saved menu if there is one. If the code
    or state of a Button changes, its holders must refresh their tokens.

    All raise ``PermissionDenied`` when the caller lacks a code, ``Conflict`` when no policy can be built from
    what would be stored, and what ``edits`` and ``UnitsOfWork`` raise.
    """

    def __init__(self, units: UnitsOfWork) -> None:
        self._units = units

    async def create(self, caller: Caller, menu_type: MenuType, values: MenuValues) -> tuple[Menu, Policy]:
        """Create a menu."""
        async with self._units.publishing(caller, f"{values.auth_mark or values.title!r} created") as unit:
            saved = await menu_edits.create(unit, menu_type, values)
            await unit.made(saved)
        return saved, unit.policy

    async def update(
        self,
        caller: Caller,
        menu_id: int,
        menu_type: MenuType | None,
        given: Mapping[str, Any],
        match: Callable[[Menu], None],
    ) -> tuple[Menu, Policy]:
        """Store the given fields of ``MenuValues``, as ``edits.update`` does."""
        async with self._units.publishing(caller, f"menu {menu_id} edited") as unit:
            saved = await menu_edits.update(unit, menu_id, menu_type, given, match)
        return saved, unit.policy

    async def delete(self, caller: Caller, menu_id: int, match: Callable[[Menu], None]) -> Policy:
        """Delete a menu that nothing uses."""
        async with self._units.publishing(caller, f"menu {menu_id} deleted") as unit:
            await menu_edits.delete(unit, menu_id, match)
        return unit.policy
