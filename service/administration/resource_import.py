"""Registers the operations of an OpenAPI document, disabled until Buttons are bound."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from service.administration import resource_edits
from service.administration.openapi import Imported, Operations
from service.administration.unit_of_work import UnitsOfWork
from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import comparable
from service.kernel.identity import Caller
from service.kernel.services import Service
from service.kernel.write import Write
from service.records import resources
from service.records.database.transactions import Connection
from service.records.resources import Resource, ResourceValues

_FREE_CODE_LENGTH = 56


@dataclass(frozen=True, slots=True)
class Differing:
    """A registered resource that the document tells otherwise: names by what is stored and what it says."""

    resource: Resource
    imported: Imported


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would register; all else stays as it is.

    ``same`` are registered already, ``differing`` too, with another name or path. ``absent`` are registered
    and not in the document.
    """

    operations: Operations
    new: tuple[Imported, ...]
    same: tuple[Resource, ...]
    differing: tuple[Differing, ...]
    absent: tuple[Resource, ...]


async def planned(connection: Connection, router: Service, operations: Operations) -> ImportPlan:
    """Compare ``operations`` with what is registered, disabled resources included; only reads."""
    stored = {
        (resource.method, comparable(router, shape(resource.path))): resource
        for resource in await resources.of_service(connection, router.name)
    }
    new: list[Imported] = []
    same: list[Resource] = []
    differing: list[Differing] = []
    for operation in operations.imported:
        existing = stored.pop((operation.method, comparable(router, shape(operation.path))), None)
        if existing is None:
            new.append(operation)
        elif (existing.path, existing.resource_name) == (operation.path, operation.name):
            same.append(existing)
        else:
            differing.append(Differing(existing, operation))
    return ImportPlan(operations, tuple(new), tuple(same), tuple(differing), tuple(stored.values()))


class ResourceImport:
    """Registers what a plan has as new."""

    def __init__(self, units: UnitsOfWork) -> None:
        self._units = units

    async def register(
        self, caller: Caller, service: str, operations: Operations
    ) -> tuple[ImportPlan, Policy]:
        """Register the operations that are not registered yet, disabled and with nothing bound.

        Raises what ``edits.create`` and ``UnitsOfWork.publishing`` raise; then nothing is registered.
        """
        async with self._units.publishing(Write(caller), f"operations of {service} imported") as unit:
            router = await resource_edits.router_of(unit.connection, service)
            plan = await planned(unit.connection, router, operations)
            taken = {resource.resource_code for resource in await resources.every(unit.connection)}
            for operation in plan.new:
                code = _free(operation.code, taken)
                taken.add(code)
                values = ResourceValues(
                    operation.name, code, operation.method, operation.path, None, False, service
                )
                await resource_edits.create(unit, asdict(values))
        return plan, unit.policy


def _free(code: str, taken: set[str]) -> str:
    candidate, number = code, 1
    while candidate in taken:
        number += 1
        candidate = f"{code[:_FREE_CODE_LENGTH]}-{number}"
    return candidate
