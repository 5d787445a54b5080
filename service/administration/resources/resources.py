"""Writing resources and their bindings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from service.administration.delegation import Delegation, DelegationCheck
from service.administration.resources.reach import require_reach, require_taking
from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy
from service.authz.publishing.changes import Change, PolicyChanges
from service.kernel.identity import Caller
from service.records.menus import menus
from service.records.menus.menus import Button
from service.records.resources import bindings, resources
from service.records.resources.resources import Resource, ResourceValues

Match = Callable[[Resource], None]
"""Raises ``PreconditionFailed`` if the resource has changed since the caller read it."""


class ResourceChanges:
    """Writes resources, for callers who reach them; each change publishes the resulting policy.

    ``match`` is called with the stored values, under the lock; its exceptions roll the change back.

    All raise ``PermissionDenied`` if a bound resource that the caller doesn't reach would be moved, enabled,
    disabled or deleted, or would lose requests; ``RefreshRequired`` if the caller was deleted, disabled or
    banned; ``Conflict`` if no policy can be built from the result; and ``Unavailable``.
    """

    def __init__(self, changes: PolicyChanges, delegation: Delegation) -> None:
        self._changes = changes
        self._delegation = delegation

    async def create(self, caller: Caller, values: ResourceValues) -> tuple[Resource, Policy]:
        """Register a resource; raises ``Conflict`` if another one has the same requests."""
        cause = f"{values.method} {values.path} registered"
        async with self._beginning(caller, cause) as (change, check):
            if values.enabled is not False:
                await require_taking(change.connection, check, values.method, values.path)
            saved = await resources.create(change.connection, values)
        return saved, change.policy

    async def update(
        self, caller: Caller, resource_id: int, values: ResourceValues, match: Match
    ) -> tuple[Resource, Policy]:
        """Replace the values of a resource.

        Raises ``NotFound``, and ``Conflict`` if another one has the same requests.
        """
        async with self._beginning(caller, f"resource {resource_id} edited") as (change, check):
            before = await resources.read(change.connection, resource_id)
            match(before)
            enabled = before.enabled if values.enabled is None else values.enabled
            moves = _requests(before.method, before.path) != _requests(values.method, values.path)
            if moves or enabled != before.enabled:
                await require_reach(change.connection, check, [resource_id])
            if enabled and (moves or not before.enabled):
                await require_taking(change.connection, check, values.method, values.path, but=resource_id)
            saved = await resources.update(change.connection, resource_id, values)
        return saved, change.policy

    async def set_enabled(
        self, caller: Caller, resource_id: int, enabled: bool, match: Match
    ) -> tuple[Resource, Policy]:
        """Enable or disable a resource; raises ``NotFound``."""
        cause = f"resource {resource_id} {'enabled' if enabled else 'disabled'}"
        async with self._beginning(caller, cause) as (change, check):
            before = await resources.read(change.connection, resource_id)
            match(before)
            if enabled != before.enabled:
                await require_reach(change.connection, check, [resource_id])
                if enabled:
                    at = (before.method, before.path)
                    await require_taking(change.connection, check, *at, but=resource_id)
            saved = await resources.set_enabled(change.connection, resource_id, enabled)
        return saved, change.policy

    async def delete(self, caller: Caller, resource_id: int, match: Match) -> Policy:
        """Delete a resource with its bindings; ``NotFound``."""
        async with self._beginning(caller, f"resource {resource_id} deleted") as (change, check):
            match(await resources.read(change.connection, resource_id))
            await require_reach(change.connection, check, [resource_id])
            await resources.delete(change.connection, resource_id)
        return change.policy

    async def bind_buttons(
        self,
        caller: Caller,
        resource_id: int,
        menu_ids: Sequence[int],
        match: Callable[[tuple[Button, ...]], None],
    ) -> tuple[tuple[Button, ...], Policy]:
        """Bind a resource to exactly these Buttons; return them.

        Raises ``PermissionDenied`` also if the caller lacks the code of an added or removed Button,
        ``NotFound``, and ``ValidationFailed`` for ids that are not Buttons.
        """
        async with self._beginning(caller, f"Buttons of resource {resource_id} replaced") as (change, check):
            await resources.read(change.connection, resource_id)
            before = await bindings.buttons_of(change.connection, resource_id)
            match(before)
            if differing := {button.id for button in before} ^ set(menu_ids):
                await check.require_menus(change.connection, differing)
                await require_reach(change.connection, check, [resource_id])
            await bindings.bind_buttons(change.connection, resource_id, menu_ids)
            saved = await bindings.buttons_of(change.connection, resource_id)
        return saved, change.policy

    async def bind_resources(
        self,
        caller: Caller,
        menu_id: int,
        resource_ids: Sequence[int],
        match: Callable[[tuple[Resource, ...]], None],
    ) -> tuple[tuple[Resource, ...], Policy]:
        """Bind exactly these resources to a Button; return them.

        Raises ``PermissionDenied`` also if resources are added or removed and the caller lacks the code of
        the Button, ``NotFound``, and ``ValidationFailed`` for ids that are not Buttons or resources.
        """
        async with self._beginning(caller, f"resources of Button {menu_id} replaced") as (change, check):
            button = await menus.button(change.connection, menu_id)
            before = await bindings.resources_of(change.connection, menu_id)
            match(before)
            if differing := {one.id for one in before} ^ set(resource_ids):
                await check.require(
                    [button.auth_mark], "The Button carries a permission that you do not hold"
                )
                await require_reach(change.connection, check, differing)
            await bindings.bind_resources(change.connection, menu_id, resource_ids)
            saved = await bindings.resources_of(change.connection, menu_id)
        return saved, change.policy

    @asynccontextmanager
    async def _beginning(self, caller: Caller, what: str) -> AsyncIterator[tuple[Change, DelegationCheck]]:
        async with self._changes.begin(f"{what} by {caller.user_name}", user_name=caller.user_name) as change:
            yield change, await self._delegation.check(change.connection, caller)


def _requests(method: str, path: str) -> tuple[str, str]:
    """Return a key that is equal for resources that match the same requests."""
    return method, shape(path)
