"""Writing resources and their bindings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from service.administration import resource_edits
from service.administration.resource_edits import Match
from service.administration.unit_of_work import UnitsOfWork
from service.authz.engine.policy import Policy
from service.kernel.identity import Caller
from service.records.menus import Button
from service.records.resources import Resource, ResourceValues


class ResourceChanges:
    """Writes resources, for callers who reach them; each change publishes the resulting policy.

    ``match`` is called with the stored values, under the lock; its exceptions roll the change back.

    All raise ``PermissionDenied`` if a bound resource that the caller doesn't reach would be moved, enabled,
    disabled or deleted, or would lose requests; ``Conflict`` if no policy can be built from the result; and
    what ``edits`` and ``UnitsOfWork`` raise.
    """

    def __init__(self, units: UnitsOfWork) -> None:
        self._units = units

    async def create(self, caller: Caller, values: ResourceValues) -> tuple[Resource, Policy]:
        """Register a resource."""
        async with self._units.publishing(caller, f"{values.method} {values.path} registered") as unit:
            saved = await resource_edits.create(unit, values)
            await unit.made(saved)
        return saved, unit.policy

    async def update(
        self, caller: Caller, resource_id: int, given: Mapping[str, Any], match: Match
    ) -> tuple[Resource, Policy]:
        """Store the given fields of ``ResourceValues``; absent fields are unchanged."""
        async with self._units.publishing(caller, f"resource {resource_id} edited") as unit:
            saved = await resource_edits.update(unit, resource_id, given, match)
        return saved, unit.policy

    async def set_enabled(
        self, caller: Caller, resource_id: int, enabled: bool, match: Match
    ) -> tuple[Resource, Policy]:
        """Enable or disable a resource."""
        cause = f"resource {resource_id} {'enabled' if enabled else 'disabled'}"
        async with self._units.publishing(caller, cause) as unit:
            saved = await resource_edits.set_enabled(unit, resource_id, enabled, match)
        return saved, unit.policy

    async def delete(self, caller: Caller, resource_id: int, match: Match) -> Policy:
        """Delete a resource with its bindings."""
        async with self._units.publishing(caller, f"resource {resource_id} deleted") as unit:
            await resource_edits.delete(unit, resource_id, match)
        return unit.policy

    async def bind_buttons(
        self,
        caller: Caller,
        resource_id: int,
        menu_ids: Sequence[int],
        match: Callable[[tuple[Button, ...]], None],
    ) -> tuple[tuple[Button, ...], Policy]:
        """Bind a resource to exactly these Buttons; return them."""
        async with self._units.publishing(caller, f"Buttons of resource {resource_id} replaced") as unit:
            saved = await resource_edits.bind_buttons(unit, resource_id, menu_ids, match)
        return saved, unit.policy

    async def bind_resources(
        self,
        caller: Caller,
        menu_id: int,
        resource_ids: Sequence[int],
        match: Callable[[tuple[Resource, ...]], None],
    ) -> tuple[tuple[Resource, ...], Policy]:
        """Bind exactly these resources to a Button; return them."""
        async with self._units.publishing(caller, f"resources of Button {menu_id} replaced") as unit:
            saved = await resource_edits.bind_resources(unit, menu_id, resource_ids, match)
        return saved, unit.policy
