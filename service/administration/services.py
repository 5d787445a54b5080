"""Writing other services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.administration import service_edits
from service.administration.service_edits import Match
from service.administration.unit_of_work import UnitsOfWork
from service.authz.engine.policy import Policy
from service.kernel.identity import Caller
from service.records.services import ServiceValues, StoredService


class ServiceChanges:
    """Writes services; each change publishes the resulting policy.

    ``match`` is called with the stored values, under the lock; its exceptions roll the change back. All raise
    what ``edits`` and ``UnitsOfWork`` raise, ``Conflict`` also if no policy can be built from the result.
    """

    def __init__(self, units: UnitsOfWork) -> None:
        self._units = units

    async def create(self, caller: Caller, name: str, values: ServiceValues) -> tuple[StoredService, Policy]:
        """Register a service."""
        async with self._units.publishing(caller, f"service {name} registered") as unit:
            saved = await service_edits.create(unit, name, values)
            await unit.made(saved)
        return saved, unit.policy

    async def update(
        self, caller: Caller, service_id: int, given: Mapping[str, Any], match: Match
    ) -> tuple[StoredService, Policy]:
        """Store the given fields of ``ServiceValues``; absent fields are unchanged."""
        async with self._units.publishing(caller, f"service {service_id} edited") as unit:
            saved = await service_edits.update(unit, service_id, given, match)
        return saved, unit.policy

    async def delete(self, caller: Caller, service_id: int, match: Match) -> Policy:
        """Delete a service without resources."""
        async with self._units.publishing(caller, f"service {service_id} deleted") as unit:
            await service_edits.delete(unit, service_id, match)
        return unit.policy
