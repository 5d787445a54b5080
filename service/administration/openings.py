"""Writing what is open in other services."""

from __future__ import annotations

from service.administration import service_edits
from service.administration.unit_of_work import UnitsOfWork
from service.authz.engine.policy import Policy
from service.kernel.identity import Caller
from service.records.openings import Opening, OpenTo


class OpeningChanges:
    """Makes and deletes openings; each change publishes the resulting policy.

    All raise what ``edits`` and ``UnitsOfWork`` raise.
    """

    def __init__(self, units: UnitsOfWork) -> None:
        self._units = units

    async def create(
        self, caller: Caller, service: str, resource_id: int | None, code: OpenTo
    ) -> tuple[Opening, Policy]:
        """Open a resource of another service, or with None what is not registered there."""
        what = "@unregistered" if resource_id is None else f"resource {resource_id}"
        async with self._units.publishing(caller, f"{what} of {service} opened to {code}") as unit:
            saved = await service_edits.open_up(unit, service, resource_id, code)
            await unit.made(saved)
        return saved, unit.policy

    async def delete(self, caller: Caller, opening_id: int) -> Policy:
        """Delete an opening."""
        async with self._units.publishing(caller, f"rule {opening_id} of public access deleted") as unit:
            await service_edits.close(unit, opening_id)
        return unit.policy
