"""The edits that a restore makes: each is one request to the API, made by the edit behind that endpoint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, Protocol

from service.administration import menu_edits, resource_edits, service_edits
from service.administration.unit_of_work import UnitOfWork, unconditionally
from service.kernel.fields import camel
from service.kernel.services import object_of, split_object
from service.records import menus
from service.records.menus import Menu, MenuValues
from service.records.openings import Opening, OpenTo
from service.records.resources import Resource, ResourceValues
from service.records.services import ServiceValues, StoredService

Method = Literal["POST", "PUT", "DELETE"]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field before and after an edit."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Edit:
    """What an edit does: its endpoint, the id of its record, its name, and the fields that change.

    ``id`` is None for a record that the restore makes itself. The name is a permission code for a Button,
    and the object, such as ``GET /api/report/{id}``, for a resource.
    """

    method: Method
    template: str
    name: str
    id: int | None = None
    changes: tuple[FieldChange, ...] = ()

    @property
    def request(self) -> str:
        """The request that makes the edit; its path keeps ``{id}`` while there is no id."""
        path = self.template if self.id is None else self.template.replace("{id}", str(self.id))
        return f"{self.method} {path}"


class Step(Protocol):
    """An edit that can be made."""

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:
        """Make it, on the record of that id; return the id of a record that it has created."""


@dataclass(frozen=True, slots=True)
class CreateButton:
    """Creates a Button that is gone."""

    code: str
    values: MenuValues

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""
        fields = {"title": self.values.title, "enabled": self.values.enabled}
        return Edit("POST", "/api/menu", self.code, changes=_new(fields))

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:  # noqa: ARG002 - there is none yet
        """Make it; raises as ``edits.create``."""
        return (await menu_edits.create(unit, {"menu_type": "Button", **asdict(self.values)})).id


@dataclass(frozen=True, slots=True)
class UpdateButton:
    """Gives a Button back its code and its state."""

    menu: Menu
    code: str
    enabled: bool

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""
        changes = _changed(
            authMark=(self.menu.auth_mark, self.code), enabled=(self.menu.enabled, self.enabled)
        )
        return Edit("PUT", "/api/menu/{id}", self.code, self.menu.id, changes)

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:
        """Make it; raises as ``edits.update``."""
        given = {"menu_type": "Button", "auth_mark": self.code, "enabled": self.enabled}
        await menu_edits.update(unit, record_id, given, unconditionally)
        return None


@dataclass(frozen=True, slots=True)
class DeleteButton:
    """Deletes a Button that did not exist."""

    menu: Menu

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""
        return Edit("DELETE", "/api/menu/{id}", self.menu.auth_mark or "", self.menu.id)

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:
        """Make it; raises as ``edits.delete``."""
        await menu_edits.delete(unit, record_id, unconditionally)
        return None


@dataclass(frozen=True, slots=True)
class CreateResource:
    """Registers a resource that is gone."""

    values: ResourceValues

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""
        fields = {"resourceName": self.values.resource_name, "resourceCode": self.values.resource_code}
        return Edit("POST", "/api/resource", self.values.object, changes=_new(fields))

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:  # noqa: ARG002 - there is none yet
        """Make it; raises as ``edits.create``."""
        return (await resource_edits.create(unit, asdict(self.values))).id


@dataclass(frozen=True, slots=True)
class UpdateResource:
    """Moves a resource back, or enables or disables it."""

    resource: Resource
    method: str
    path: str
    enabled: bool

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""
        before = self.resource
        changes = _changed(
            method=(before.method, self.method),
            path=(before.path, self.path),
            enabled=(before.enabled, self.enabled),
        )
        name = object_of(before.service, f"{self.method} {self.path}")
        return Edit("PUT", "/api/resource/{id}", name, before.id, changes)

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:
        """Make it; raises as ``edits.update``."""
        given = {"method": self.method, "path": self.path, "enabled": self.enabled}
        await resource_edits.update(unit, record_id, given, unconditionally)
        return None


@dataclass(frozen=True, slots=True)
class DeleteResource:
    """Deletes a resource that did not exist."""

    resource: Resource

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""
        return Edit("DELETE", "/api/resource/{id}", self.resource.object, self.resource.id)

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:
        """Make it; raises as ``edits.delete``."""
        await resource_edits.delete(unit, record_id, unconditionally)
        return None


@dataclass(frozen=True, slots=True)
class Bind:
    """Binds a resource to the Buttons of these codes; one without ``resource_id`` is created before."""

    name: str
    resource_id: int | None
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""
        changes = _changed(buttons=(list(self.before), list(self.after)))
        return Edit("PUT", "/api/resource/{id}/buttons", self.name, self.resource_id, changes)

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:
        """Make it; raises as ``edits.bind_buttons``."""
        buttons = await menus.with_codes(unit.connection, self.after)
        ids = [buttons[code].id for code in self.after]
        await resource_edits.bind_buttons(unit, record_id, ids, unconditionally)
        return None


@dataclass(frozen=True, slots=True)
class CreateService:
    """Registers a service that is gone."""

    name: str
    values: ServiceValues

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""
        return Edit("POST", "/api/service", self.name, changes=_new(_router(self.values)))

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:  # noqa: ARG002 - there is none yet
        """Make it; raises as ``edits.create``."""
        return (await service_edits.create(unit, {"name": self.name, **asdict(self.values)})).id


@dataclass(frozen=True, slots=True)
class UpdateService:
    """Lets requests to a service be read as before."""

    service: StoredService
    values: ServiceValues

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""
        before, after = _router(self.service), _router(self.values)
        changes = _changed(**{name: (before[name], after[name]) for name in before})
        return Edit("PUT", "/api/service/{id}", self.service.name, self.service.id, changes)

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:
        """Make it; raises as ``edits.update``."""
        given = {name: getattr(self.values, name) for name in _ROUTER}  # all else stays as it is
        await service_edits.update(unit, record_id, given, unconditionally)
        return None


@dataclass(frozen=True, slots=True)
class DeleteService:
    """Deletes a service that did not exist."""

    service: StoredService

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""
        return Edit("DELETE", "/api/service/{id}", self.service.name, self.service.id)

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:
        """Make it; raises as ``edits.delete``."""
        await service_edits.delete(unit, record_id, unconditionally)
        return None


@dataclass(frozen=True, slots=True)
class OpenUp:
    """Opens a resource of another service, or what is not registered there."""

    name: str
    resource_id: int | None
    code: OpenTo

    @property
    def edit(self) -> Edit:
        """Return the edit; the id is that of the resource, None for what is unregistered or not there yet."""
        return Edit("POST", "/api/opening", self.name, self.resource_id, _new({"code": self.code}))

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:
        """Make it; raises as ``edits.open_up``."""
        given = {"service": split_object(self.name)[0], "resource_id": record_id or None, "code": self.code}
        await service_edits.open_up(unit, given)
        return None


@dataclass(frozen=True, slots=True)
class Close:
    """Deletes an opening that did not exist."""

    opening: Opening

    @property
    def edit(self) -> Edit:
        """Return the edit that the step makes."""
        return Edit("DELETE", "/api/opening/{id}", self.opening.object, self.opening.id)

    async def make(self, unit: UnitOfWork, record_id: int) -> int | None:
        """Make it; raises as ``edits.close``."""
        await service_edits.close(unit, record_id, unconditionally)
        return None


_ORDER: Final = (
    (CreateButton, UpdateButton, CreateService),
    (Close,),
    (DeleteResource,),
    (UpdateService,),
    (UpdateResource, CreateResource),
    (Bind,),
    (OpenUp,),
    (DeleteButton, DeleteService),
)


def in_order(steps: Iterable[Step]) -> list[Step]:
    """Return ``steps`` in an order in which each can be made: what others need is free or there by then."""

    def place(step: Step) -> tuple[int, str]:
        number = next(number for number, kinds in enumerate(_ORDER) if isinstance(step, kinds))
        return number, step.edit.name

    return sorted(steps, key=place)


_ROUTER: Final = ("ignore_case", "ignore_trailing_slash", "allow_preflight")


def _router(values: ServiceValues) -> dict[str, Any]:
    return {camel(name): getattr(values, name) for name in _ROUTER}


def _changed(**fields: tuple[Any, Any]) -> tuple[FieldChange, ...]:
    return tuple(FieldChange(name, *pair) for name, pair in fields.items() if pair[0] != pair[1])


def _new(fields: dict[str, Any]) -> tuple[FieldChange, ...]:
    return tuple(FieldChange(name, None, value) for name, value in fields.items())
