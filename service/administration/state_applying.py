"""Makes the edits that lead to a wanted state: all in one transaction, or none."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from service.administration import menu_edits, resource_edits, role_edits, service_edits, stored_state
from service.administration.given_roles import Given
from service.administration.state import (
    ButtonState,
    Item,
    Kind,
    MenuState,
    ResourceState,
    RoleState,
    ServiceState,
    State,
    above,
    identity,
    values_of,
)
from service.administration.state_edits import Edit, Edits, edits_between
from service.administration.stored_state import Stored
from service.administration.unit_of_work import UnitOfWork, UnitsOfWork, unconditionally
from service.errors import Refusal, Unavailable
from service.kernel.change_record import ChangeRecord
from service.kernel.names import name_key
from service.kernel.services import split_object
from service.kernel.write import Write
from service.records import openings
from service.records.menus import MenuType
from service.records.openings import OpenTo

WITHIN: Final = 600.0
"""Seconds that the transaction may take: a thousand new resources take up to a minute on a busy machine."""

_NAMED: Final[tuple[Kind, ...]] = ("resource", "role")  # with a unique field beside the key


class EditRefusedError(Exception):
    """An edit was refused, so that nothing was saved; ``refusal`` says why."""

    def __init__(self, edit: Edit, refusal: Refusal) -> None:
        super().__init__(f"{edit.kind} {edit.key}: {refusal.detail}")
        self.edit = edit
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Applied:
    """What was done, and the revision of the policy from which it is in force.

    ``recorded`` is what the operation log tells of it.
    """

    edits: Edits
    revision: int
    recorded: ChangeRecord


class StateChanges:
    """Leads an installation to a wanted state, under the rights of a caller."""

    def __init__(self, units: UnitsOfWork) -> None:
        self._units = units

    async def apply(self, write: Write, requested: State, *, prune: bool, cause: str) -> Applied:
        """Make what is stored equal to ``requested``; delete what it does not have only with ``prune``.

        The edits are those between ``requested`` and what is stored when the locks are held. Each is refused
        where the request of the API that does the same would be: EditRefusedError names it. Raises what
        ``UnitsOfWork.publishing`` raises. Nothing is saved then.
        """
        async with self._units.publishing(write, cause, within=WITHIN) as unit:
            result = await stored_state.read(unit.connection)
            edits = edits_between(result.state, requested, prune=prune)
            await _Application(unit, result, edits).make()
        recorded = ChangeRecord()
        recorded.changes += unit.changes
        recorded.concern([*(change.target for change in unit.changes), *unit.targets])
        return Applied(edits, unit.policy.revision, recorded)


class _Application:
    """The edits of one transaction; ``ids`` grows by what they create."""

    def __init__(self, unit: UnitOfWork, current: Stored, edits: Edits) -> None:
        self._unit = unit
        self._state = current.state
        self._ids = dict(current.ids)
        self._edits = edits.edits

    async def make(self) -> None:
        """Make all edits, each when what it refers to is there."""
        for edit in self._in_order():
            try:
                await self._make(edit)
            except Unavailable:
                raise
            except Refusal as refusal:
                raise EditRefusedError(edit, refusal) from refusal

    def _in_order(self) -> Iterator[Edit]:
        """Yield the edits, and those that make way for them.

        Deleted roles and resources come first, since others may get their names; deleted Buttons and Menus
        last, when nothing refers to them, each before the Menu above it.
        """
        deleted = [edit for edit in self._edits if edit.action == "delete"]
        yield from (edit for edit in deleted if edit.kind in ("resource", "role"))
        yield from (edit for edit in deleted if edit.kind == "service")
        yield from self._making_way()
        yield from (edit for edit in self._edits if edit.action != "delete")
        yield from (edit for edit in deleted if edit.kind == "button")
        yield from reversed([edit for edit in deleted if edit.kind == "menu"])

    def _making_way(self) -> Iterator[Edit]:
        """Yield edits that give another name to what has a name that another object is to get.

        So that two roles can swap their names, which are unique, and two resources their codes.
        """
        updates = {(edit.kind, edit.old_key): edit for edit in self._edits if edit.action == "update"}
        for kind in _NAMED:
            holders = {_unique(item): key for key, item in self._state.of(kind).items()}
            for edit in self._edits:
                if edit.kind != kind or edit.after is None:
                    continue
                holder = holders.get(_unique(edit.after), edit.old_key)
                moving = updates.get((kind, holder))
                if holder == edit.old_key or moving is None or moving.before is None or moving.after is None:
                    continue
                if _unique(moving.before) != _unique(moving.after):
                    yield Edit(kind, holder, moving.before, _with_other_name(moving.before), holder)

    async def _make(self, edit: Edit) -> None:
        match edit.after:
            case MenuState() | ButtonState():
                await self._menu(edit, edit.after)
            case ServiceState():
                await self._service(edit, edit.after)
            case ResourceState():
                await self._resource(edit, edit.after)
            case RoleState():
                await self._role(edit, edit.after)
            case None:
                await self._delete(edit)

    async def _menu(self, edit: Edit, item: MenuState | ButtonState) -> None:
        place = above(edit.key) if isinstance(item, MenuState) else item.menu
        code = None if isinstance(item, MenuState) else edit.key
        values = values_of(edit.kind, item) | {
            "parent_id": None if place is None else self._ids["menu", place],
            "auth_mark": code,
        }
        if edit.before is None:
            self._unit.require_request("POST", "/api/menu")
            menu_type: MenuType = "Menu" if code is None else "Button"
            given = {"menu_type": menu_type, **values}
            self._note(edit, (await menu_edits.create(self._unit, given)).id)
        else:
            self._unit.require_request("PUT", "/api/menu/{id}", self._id(edit))
            await menu_edits.update(self._unit, self._id(edit), values, unconditionally)

    async def _resource(self, edit: Edit, item: ResourceState) -> None:
        service, route = split_object(edit.key)
        method, _, path = route.partition(" ")
        values = values_of("resource", item) | {"method": method, "path": path, "service": service}
        before = edit.before if isinstance(edit.before, ResourceState) else None
        if before is None:
            self._unit.require_request("POST", "/api/resource")
            self._note(edit, (await resource_edits.create(self._unit, values)).id)
        elif edit.key != edit.old_key or replace(before, buttons=item.buttons, opened=item.opened) != item:
            self._unit.require_request("PUT", "/api/resource/{id}", self._id(edit))
            await resource_edits.update(self._unit, self._id(edit), values, unconditionally)
        if item.buttons != (() if before is None else before.buttons):
            self._unit.require_request("PUT", "/api/resource/{id}/buttons", self._id(edit))
            buttons = [self._ids["button", code] for code in item.buttons]
            await resource_edits.bind_buttons(self._unit, self._id(edit), buttons, unconditionally)
        await self._open(service, self._id(edit), None if before is None else before.opened, item.opened)

    async def _service(self, edit: Edit, item: ServiceState) -> None:
        values = values_of("service", item)
        before = edit.before if isinstance(edit.before, ServiceState) else None
        if before is None:
            self._unit.require_request("POST", "/api/service")
            self._note(edit, (await service_edits.create(self._unit, {"name": edit.key, **values})).id)
        elif replace(before, opened=item.opened) != item:
            self._unit.require_request("PUT", "/api/service/{id}", self._id(edit))
            await service_edits.update(self._unit, self._id(edit), values, unconditionally)
        await self._open(edit.key, None, None if before is None else before.opened, item.opened)

    async def _open(
        self, service: str, resource_id: int | None, before: OpenTo | None, after: OpenTo | None
    ) -> None:
        """Make an opening what it is to be; ``resource_id`` is None for what is not registered."""
        if before == after:
            return
        stored = await openings.of(self._unit.connection, service, resource_id)
        if stored is not None:
            self._unit.require_request("DELETE", "/api/opening/{id}", stored.id)
            await service_edits.close(self._unit, stored.id, unconditionally)
        if after is not None:
            self._unit.require_request("POST", "/api/opening")
            given = {"service": service, "resource_id": resource_id, "code": after}
            await service_edits.open_up(self._unit, given)

    async def _role(self, edit: Edit, item: RoleState) -> None:
        values = values_of("role", item)
        before = edit.before if isinstance(edit.before, RoleState) else None
        if before is None:
            self._unit.require_request("POST", "/api/role")
            made = await role_edits.create(self._unit, {"role_code": edit.key, **values})
            self._note(edit, made.id)
        elif replace(before, menus=item.menus, buttons=item.buttons) != item:
            self._unit.require_request("PUT", "/api/role/{id}", self._id(edit))
            await role_edits.update(self._unit, self._id(edit), values, unconditionally)
        if (item.menus, item.buttons) != (((), ()) if before is None else (before.menus, before.buttons)):
            self._unit.require_request("PUT", "/api/role/{id}/permissions", self._id(edit))
            given = [self._ids["menu", key] for key in item.menus]
            given += [self._ids["button", code] for code in item.buttons]
            await role_edits.set_menus(self._unit, self._id(edit), Given(given), unconditionally)

    async def _delete(self, edit: Edit) -> None:
        noun = "menu" if edit.kind == "button" else edit.kind
        self._unit.require_request("DELETE", f"/api/{noun}/{{id}}", self._id(edit))
        edits: dict[str, Any] = {
            "menu": menu_edits,
            "service": service_edits,
            "resource": resource_edits,
            "role": role_edits,
        }
        await edits[noun].delete(self._unit, self._id(edit), unconditionally)

    def _id(self, edit: Edit) -> int:
        return self._ids[edit.kind, identity(edit.kind, edit.key)]

    def _note(self, edit: Edit, made: int) -> None:
        self._ids[edit.kind, identity(edit.kind, edit.key)] = made


def _unique(item: Item) -> str:
    """Return what no two objects of the kind may have in common, beside their key."""
    match item:
        case ResourceState():
            return item.resource_code
        case RoleState():
            return name_key(item.role_name)
    return ""


def _with_other_name(item: Item) -> Item:
    other = secrets.token_hex(16)
    if isinstance(item, RoleState):
        return replace(item, role_name=other)
    assert isinstance(item, ResourceState)  # noqa: S101 - those of _NAMED
    return replace(item, resource_code=other)
