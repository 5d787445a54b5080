"""Steps of operations with several edits: restores of revisions, and state files.

Each step is a request of the API, made by the edit behind that endpoint. Each planner computes its steps in
its own way (decision 0038). ``_ORDER`` defines the possible steps and their order for all planners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from service.administration import request_rules, resource_edits, role_edits
from service.administration.changes import MENUS, RESOURCES, ROLES
from service.administration.role_edits import Given
from service.administration.unit_of_work import UnitOfWork, unconditionally
from service.features.services.edits import OPENINGS, SERVICES
from service.kernel.fields import camel

Noun = Literal["menu", "service", "resource", "opening", "role"]
Action = Literal["create", "update", "delete", "bind", "give", "rule", "unrule"]
"""Roles also have `rule`, which sets the request rule, and `unrule`, which removes it."""

Record = tuple[str, str]
"""The kind and name that identify a record in steps, also one that a step creates."""

Ids = dict[Record, int]
"""The ids of records; steps add the ids of created records."""

_ORDER: Final[tuple[tuple[tuple[Noun, Action], ...], ...]] = (
    (("role", "unrule"),),
    (("role", "delete"),),
    (("menu", "create"), ("menu", "update"), ("service", "create")),
    (("opening", "delete"),),
    (("resource", "delete"),),
    (("service", "update"),),
    (("resource", "update"), ("resource", "create")),
    (("resource", "bind"),),
    (("opening", "create"),),
    (("role", "create"), ("role", "update"), ("role", "give")),
    (("role", "rule"),),
    (("menu", "delete"), ("service", "delete")),
)
"""All steps, in an order in which needed names, codes, requests and Buttons are free or exist."""

_PLACES: Final = {kind: place for place, kinds in enumerate(_ORDER) for kind in kinds}
_EDITS: Final = {edits.noun: edits for edits in (MENUS, SERVICES, RESOURCES, OPENINGS, ROLES)}
_PATHS: Final[Mapping[Action, str]] = {
    "create": "",
    "update": "/{id}",
    "delete": "/{id}",
    "bind": "/{id}/buttons",
    "give": "/{id}/permissions",
    "rule": "/{id}/request-rule",
    "unrule": "/{id}/request-rule",
}


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field before and after an edit."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Step:
    """A planned edit of ``record``, whose ``id`` is None if a step creates it.

    A step that creates an opening refers to its resource. ``given`` is the input of the edit: fields, codes
    of Buttons, or ids of menus; a function computes it from the ids of records. ``changes`` are reported with
    the steps.
    """

    noun: Noun
    action: Action
    record: Record
    id: int | None = None
    given: Any = None
    changes: tuple[FieldChange, ...] = ()

    @property
    def name(self) -> str:
        """The name of the record."""
        return self.record[1]

    @property
    def place(self) -> int:
        """The position of the step; lower positions are made first."""
        return _PLACES[self.noun, self.action]

    @property
    def method(self) -> str:
        """The method of the request."""
        return {"create": "POST", "delete": "DELETE", "unrule": "DELETE"}.get(self.action, "PUT")

    @property
    def template(self) -> str:
        """The template of the request."""
        return f"/api/{self.noun}{_PATHS[self.action]}"

    @property
    def request(self) -> str:
        """The request that makes the edit; its path keeps ``{id}`` while there is no id."""
        path = self.template if self.id is None else self.template.replace("{id}", str(self.id))
        return f"{self.method} {path}"

    async def make(self, unit: UnitOfWork, ids: Ids) -> Step:
        """Make the edit if the caller may send its request; return the step with the id of its record.

        Raises what the edit raises, and ``PermissionDenied``.
        """
        record_id = ids.get(self.record) if self.id is None else self.id
        unit.require_request(self.method, self.template, record_id)
        given = self.given(ids) if callable(self.given) else self.given
        if self.noun == "opening" and self.action == "create":
            await OPENINGS.create(unit, {**given, "resource_id": record_id})
        elif self.action == "create":
            record_id = ids[self.record] = (await _EDITS[self.noun].create(unit, given)).id
        else:
            assert record_id is not None  # noqa: S101 - its record is there, or was created before
            await self._change(unit, record_id, given)
        return replace(self, id=record_id)

    async def _change(self, unit: UnitOfWork, record_id: int, given: Any) -> None:
        edits = _EDITS[self.noun]
        match self.action:
            case "bind":
                buttons = resource_edits.Buttons(codes=given)
                await resource_edits.bind_buttons(unit, record_id, buttons, unconditionally)
            case "give":
                await role_edits.set_menus(unit, record_id, Given(given), unconditionally)
            case "rule":
                await request_rules.put(unit, record_id, given, unconditionally)
            case "unrule":
                await request_rules.delete(unit, record_id, unconditionally)
            case "delete":
                await edits.delete(unit, record_id, unconditionally)
            case _:
                assert edits.update is not None  # noqa: S101 - of openings, which no step edits
                await edits.update(unit, record_id, given, unconditionally)


def creation(noun: Noun, record: Record, given: Mapping[str, Any], *reported: str) -> Step:
    """Return the step that creates a record with the fields ``given``, and reports the ``reported`` ones."""
    return Step(
        noun, "create", record, None, given, created(**{camel(name): given[name] for name in reported})
    )


def update(noun: Noun, record: Record, stored: Any, **fields: Any) -> Step:
    """Return the step that sets ``fields`` of a ``stored`` record; other fields stay unchanged."""
    changes = changed(**{camel(name): (getattr(stored, name), value) for name, value in fields.items()})
    return Step(noun, "update", record, stored.id, fields, changes)


def changed(**fields: tuple[Any, Any]) -> tuple[FieldChange, ...]:
    """Return the changes of the ``fields`` with different values before and after."""
    return tuple(FieldChange(name, *pair) for name, pair in fields.items() if pair[0] != pair[1])


def created(**fields: Any) -> tuple[FieldChange, ...]:
    """Return the changes that create a record with ``fields``."""
    return tuple(FieldChange(name, None, value) for name, value in fields.items())
