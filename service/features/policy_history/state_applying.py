"""Makes the edits that lead to a requested state, all in one transaction or none."""

import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Final

from service.administration.unit_of_work import UnitOfWork, UnitsOfWork
from service.authz.engine.rules import UNREGISTERED
from service.errors import Refusal, Unavailable
from service.features.policy_history import state as states
from service.features.policy_history import state_edits, stored_state
from service.features.policy_history.steps import Ids, Noun, Record, Step
from service.features.policy_history.stored_state import Stored
from service.kernel.origin import ChangeRecord
from service.kernel.services import object_of, split_object
from service.kernel.text import name_key
from service.kernel.write import Write
from service.records.database.transactions import Connection

WITHIN: Final = 600.0
"""The maximum duration of the transaction; a thousand new resources take up to a minute under load."""

_NAMED: Final[tuple[states.Kind, ...]] = ("resource", "role")  # kinds with another unique field than the key
_PARTS: Final = {"opened", "buttons", "menus", "request_rule"}  # fields that have steps of their own


@dataclass(frozen=True, slots=True)
class Applied:
    """The edits made, and the policy revision from which they are in force.

    ``recorded`` is the record for the operation log.
    """

    edits: state_edits.Edits
    revision: int
    recorded: ChangeRecord


Keep = Callable[[Connection, state_edits.Edits, ChangeRecord], Awaitable[None]]
"""Stores further data in the transaction of the change, before its commit."""


class StateChanges:
    """Applies a requested state to an installation with the rights of a caller."""

    def __init__(self, units: UnitsOfWork) -> None:
        self._units = units

    async def apply(
        self, write: Write, requested: states.State, *, prune: bool, cause: str, keep: Keep | None = None
    ) -> Applied:
        """Make the stored state equal to ``requested``; delete other objects only with ``prune``.

        The edits are computed from the state that is stored once the locks are held. An edit is refused if
        the equivalent API request would be refused; ``EditRefusedError`` names it. Raises ``Conflict`` for
        clashing objects, and what ``UnitsOfWork.publishing`` raises. An error saves nothing, except that
        after ``Unavailable`` the result of the commit may be unknown. ``keep`` is called before the commit if
        there are edits.
        """
        async with self._units.publishing(write, cause, within=WITHIN) as unit:
            before = await stored_state.read(unit.connection)
            edits = state_edits.edits_between(before.state, requested, prune=prune)
            state_edits.require_no_clash(before.state, state_edits.after(before.state, edits))
            await _make(unit, before, edits.edits)
            recorded = ChangeRecord()
            recorded.changes += unit.changes
            recorded.concern([*(change.target for change in unit.changes), *unit.targets])
            if keep is not None and edits:
                await keep(unit.connection, edits, recorded)
        return Applied(edits, unit.policy.revision, recorded)


async def _make(unit: UnitOfWork, stored: Stored, edits: Sequence[state_edits.Edit]) -> None:
    """Make the steps of all edits, and of the renaming edits before them, in order."""
    ids = dict(stored.ids)
    planned = [
        (edit, step)
        for edit in (*_making_way(stored.state, edits), *_deleted_last(edits))
        for step in _steps(stored, edit)
    ]
    for edit, step in sorted(planned, key=lambda pair: pair[1].place):
        try:
            await step.make(unit, ids)
        except Unavailable:
            raise
        except Refusal as refusal:
            raise state_edits.EditRefusedError(edit, refusal) from refusal


def _deleted_last(edits: Sequence[state_edits.Edit]) -> Iterator[state_edits.Edit]:
    """Yield ``edits``, deletions last and in reverse: Buttons and Menus before the Menu above them."""
    yield from (edit for edit in edits if edit.action != "delete")
    yield from reversed([edit for edit in edits if edit.action == "delete"])


def _making_way(state: states.State, edits: Sequence[state_edits.Edit]) -> Iterator[state_edits.Edit]:
    """Yield edits that rename objects whose current name another object will get.

    This lets two roles swap their unique names, and two resources their codes.
    """
    updates = {(edit.kind, edit.old_key): edit for edit in edits if edit.action == "update"}
    for kind in _NAMED:
        holders = {_unique(item): key for key, item in state.of(kind).items()}
        for edit in edits:
            if edit.kind != kind or edit.after is None:
                continue
            holder = holders.get(_unique(edit.after), edit.old_key)
            moving = updates.get((kind, holder))
            if holder == edit.old_key or moving is None or moving.before is None or moving.after is None:
                continue
            if _unique(moving.before) != _unique(moving.after):
                yield state_edits.Edit(kind, holder, moving.before, _with_other_name(moving.before), holder)


def _steps(stored: Stored, edit: state_edits.Edit) -> Iterator[Step]:
    """Yield the steps of one edit: those of the record itself, and of its differing parts."""
    record = (edit.kind, states.identity(edit.kind, edit.key))
    record_id = stored.ids.get(record)
    noun: Noun = "menu" if edit.kind == "button" else edit.kind
    item = edit.after
    if item is None:
        yield Step(noun, "delete", record, record_id)
        return
    differing = {field.name for field in fields(item) if _differs(edit.before, item, field.name)}
    if edit.before is None:
        yield Step(noun, "create", record, None, partial(_created, edit.kind, edit.key, item))
    elif edit.key != edit.old_key or differing - _PARTS:
        yield Step(noun, "update", record, record_id, partial(_given, edit.kind, edit.key, item))
    if isinstance(item, states.RoleState) and differing & {"buttons", "menus"}:
        yield Step("role", "give", record, record_id, partial(_menu_ids, item))
    # The caller answers for an applied rule, even if others wrote it for a role that gave less.
    ruled = "request_rule" in differing or (edit.says_rule and "buttons" in differing)
    if isinstance(item, states.RoleState) and ruled:
        rule = item.request_rule
        values = None if rule is None else rule.values()
        yield Step("role", "unrule" if rule is None else "rule", record, record_id, values)
    if isinstance(item, states.ResourceState) and "buttons" in differing:
        yield Step("resource", "bind", record, record_id, item.buttons)
    if isinstance(item, states.ResourceState) and "opened" in differing:
        yield from _opening(stored, edit.old_key, record, split_object(edit.key)[0], item.opened)
    if isinstance(item, states.ServiceState) and "opened" in differing:
        rest = object_of(edit.key, UNREGISTERED)
        yield from _opening(stored, rest, ("resource", rest), edit.key, item.opened)


def _differs(before: states.Item | None, item: states.Item, name: str) -> bool:
    """Return whether a field differs; for a created object, whether the field is set."""
    return bool(getattr(item, name)) if before is None else getattr(before, name) != getattr(item, name)


def _opening(stored: Stored, name: str, record: Record, service: str, code: str | None) -> Iterator[Step]:
    """Yield the steps that change the opening of the object ``name`` to ``code``; None closes it."""
    if (opening_id := stored.ids.get(("opening", name))) is not None:
        yield Step("opening", "delete", ("opening", name), opening_id)
    if code is not None:
        given = {"service": service, "code": code}
        yield Step("opening", "create", record, stored.ids.get(record), given)


def _given(kind: states.Kind, key: str, item: states.Item, ids: Ids) -> dict[str, Any]:
    """Return the fields of ``item`` that edits can change."""
    values = states.values_of(kind, item)
    if isinstance(item, states.MenuState | states.ButtonState):
        place = states.above(key) if isinstance(item, states.MenuState) else item.menu
        values["parent_id"] = None if place is None else ids["menu", place]
    if isinstance(item, states.ResourceState):
        values["method"], _, values["path"] = split_object(key)[1].partition(" ")
    return values


def _created(kind: states.Kind, key: str, item: states.Item, ids: Ids) -> dict[str, Any]:
    """Return all fields of ``item``, including unchangeable ones."""
    fixed: Mapping[states.Kind, dict[str, str]] = {
        "menu": {"menu_type": "Menu"},
        "button": {"menu_type": "Button", "auth_mark": key},
        "service": {"name": key},
        "resource": {"service": split_object(key)[0]},
        "role": {"role_code": key},
    }
    return _given(kind, key, item, ids) | fixed[kind]


def _menu_ids(role: states.RoleState, ids: Ids) -> list[int]:
    return [ids["menu", key] for key in role.menus] + [ids["button", code] for code in role.buttons]


def _unique(item: states.Item) -> str:
    """Return the value that must be unique among objects of the kind, in addition to the key."""
    match item:
        case states.ResourceState():
            return item.resource_code
        case states.RoleState():
            return name_key(item.role_name)
    return ""


def _with_other_name(item: states.Item) -> states.Item:
    other = secrets.token_hex(16)
    if isinstance(item, states.RoleState):
        return replace(item, role_name=other)
    assert isinstance(item, states.ResourceState)  # noqa: S101 - those of _NAMED
    return replace(item, resource_code=other)
