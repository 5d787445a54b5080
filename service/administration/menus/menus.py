"""Changes of menus: the pages of the tree, and the Buttons that carry permission codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from service.administration.delegation import Delegation, DelegationCheck
from service.administration.menus.tree import place_fault
from service.administration.users.administrators import keeping_an_administrator
from service.authn.revocations import Revocations
from service.authz.engine.policy import Policy
from service.authz.publishing.changes import Change, PolicyChanges
from service.errors import Conflict, ValidationFailed
from service.kernel.codes import is_code
from service.kernel.identity import Caller
from service.records.database.transactions import Connection
from service.records.menus import menus, writes
from service.records.menus import uses as menu_uses
from service.records.menus.menus import Menu, MenuType, MenuValues
from service.records.roles import rights

NAMED: Final = 5
"""The number of menus, roles and resources using a menu that a refusal lists, of each kind."""

_NOT_HELD: Final = "The Button carries a permission that you do not hold"


@dataclass(frozen=True, slots=True)
class SavedMenu:
    """The saved menu, and the policy in which it is in force."""

    menu: Menu
    policy: Policy


class MenuChanges:
    """Writes menus, for callers who hold the code of a Button before and after the change.

    Changes of menus are serialised over all processes, so that two of them can't create a cycle together.
    ``match`` is called with the stored values, under the lock; its exceptions roll the change back. Each
    change publishes the resulting policy; if the code or state of a Button changes, its holders must refresh
    their tokens.

    All raise ``PermissionDenied`` when the caller lacks a code, ``RefreshRequired`` when the caller is gone,
    ``Conflict`` when no policy can be built from what would be stored, and ``Unavailable``.
    """

    def __init__(self, changes: PolicyChanges, delegation: Delegation, revocations: Revocations) -> None:
        self._changes = changes
        self._delegation = delegation
        self._revocations = revocations

    async def create(self, caller: Caller, menu_type: MenuType, values: MenuValues) -> SavedMenu:
        """Create a menu.

        Raises ``ValidationFailed``, ``Conflict`` for a code that another Button has, and ``RateLimited``
        while too many bit positions wait.
        """
        _check(menu_type, values)
        cause = f"{values.auth_mark or values.title!r} created by {caller.user_name}"
        async with self._changes.begin(cause, user_name=caller.user_name) as change:
            check = await self._delegation.check(change.connection, caller)
            await _require(check, change, values.auth_mark)
            await _check_place(change.connection, None, values.parent_id)
            saved = await writes.create(change.connection, menu_type, values, caller.user_id)
        return SavedMenu(saved, change.policy)

    async def update(
        self,
        caller: Caller,
        menu_id: int,
        menu_type: MenuType | None,
        values: MenuValues,
        match: Callable[[Menu], None],
    ) -> SavedMenu:
        """Replace the values of a menu; ``menu_type`` is the current one, or None.

        Raises ``NotFound``, ``ValidationFailed``, and ``Conflict`` for a code of another Button and if no
        administrator would remain; ``RateLimited`` like ``create``.
        """
        cause = f"menu {menu_id} edited by {caller.user_name}"
        async with self._changes.begin(cause, user_name=caller.user_name) as change:
            async with keeping_an_administrator(change.connection):
                check, before = await self._for_change(change, caller, menu_id, match)
                if menu_type not in (None, before.menu_type):
                    raise ValidationFailed(("menuType", "The type of a menu can't change"))
                _check(before.menu_type, values)
                await _require(check, change, values.auth_mark)
                if values.parent_id != before.parent_id:
                    await _check_place(change.connection, menu_id, values.parent_id)
                saved = await writes.update(change.connection, before, values, caller.user_id)
            affected = await _affected(change.connection, before, saved)
            # Nobody has to refresh for a change that the policy it would publish forbids.
            change.before_commit(partial(self._revocations.mark_first, affected))
        await self._revocations.mark_all(affected)
        return SavedMenu(saved, change.policy)

    async def delete(self, caller: Caller, menu_id: int, match: Callable[[Menu], None]) -> Policy:
        """Delete a menu.

        Raises ``NotFound``, and ``Conflict``, naming them, while menus, roles or resources use it.
        """
        cause = f"menu {menu_id} deleted by {caller.user_name}"
        async with self._changes.begin(cause, user_name=caller.user_name) as change:
            _, before = await self._for_change(change, caller, menu_id, match)
            uses = await menu_uses.of(change.connection, menu_id, NAMED)
            if uses:
                raise _in_use(uses)
            await writes.delete(change.connection, before, caller.user_id)
        return change.policy

    async def _for_change(
        self, change: Change, caller: Caller, menu_id: int, match: Callable[[Menu], None]
    ) -> tuple[DelegationCheck, Menu]:
        check = await self._delegation.check(change.connection, caller)
        stored = await menus.read(change.connection, menu_id)
        await check.require([] if stored.auth_mark is None else [stored.auth_mark], _NOT_HELD)
        match(stored)
        return check, stored


def _check(menu_type: MenuType, values: MenuValues) -> None:
    faults = []
    if menu_type == "Menu":
        if values.auth_mark is not None:
            faults.append(("authMark", "Only a Button carries a permission code"))
    else:
        if values.auth_mark is None:
            faults.append(("authMark", "A Button carries a permission code"))
        elif not is_code(values.auth_mark):
            faults.append(("authMark", "Segments of a-z, 0-9, _ and - joined by ':', or '*' for a whole one"))
        faults += [
            (name, "A Button can't be navigated to")
            for name in ("path", "component")
            if getattr(values, name) is not None
        ]
    if faults:
        raise ValidationFailed(*faults)


async def _require(check: DelegationCheck, change: Change, code: str | None) -> None:
    if code is not None:
        await check.require_new(change, code, _NOT_HELD)


async def _check_place(connection: Connection, menu_id: int | None, parent_id: int | None) -> None:
    if parent_id is None:
        return
    known = {one.id: one for one in await menus.every(connection)}
    if parent_id not in known or known[parent_id].menu_type != "Menu":
        raise ValidationFailed(("parentId", "There is no such Menu"))
    parents = {one.id: one.parent_id for one in known.values()}
    if fault := place_fault(parents, menu_id, parent_id):
        raise ValidationFailed(("parentId", fault))


async def _affected(connection: Connection, before: Menu, saved: Menu) -> list[int]:
    """Return the users who hold, or held, the code of a changed Button."""
    same = (before.auth_mark, before.enabled) == (saved.auth_mark, saved.enabled)
    if same or before.menu_type != "Button" or not (before.enabled or saved.enabled):
        return []
    return await rights.holders_of_menus(connection, [saved.id])


def _in_use(uses: menu_uses.Uses) -> Conflict:
    told: dict[str, Any] = {
        "children": uses.children,
        "childCount": uses.child_count,
        "roles": uses.roles,
        "roleCount": uses.role_count,
        "resources": uses.resources,
        "resourceCount": uses.resource_count,
    }
    kinds = {"childCount": "menus below it", "roleCount": "roles", "resourceCount": "resources"}
    by = ", ".join(f"{told[count]} {kind}" for count, kind in kinds.items() if told[count])
    return Conflict(f"The menu is in use: {by}", **told)
