"""Edits of resources and their bindings within a unit of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from service.administration.resources.reach import require_reach, require_taking
from service.administration.unit_of_work import UnitOfWork
from service.authz.engine.paths import shape
from service.records.menus import menus
from service.records.menus.menus import Button
from service.records.resources import bindings, resources
from service.records.resources.resources import Resource, ResourceValues

Match = Callable[[Resource], None]
"""Raises ``PreconditionFailed`` if the resource has changed since the caller read it."""


async def create(unit: UnitOfWork, values: ResourceValues) -> Resource:
    """Register a resource; raises ``Conflict`` if another one has the same requests."""
    if values.enabled is not False:
        await require_taking(unit.connection, unit.check, values.method, values.path)
    return await resources.create(unit.connection, values)


async def update(unit: UnitOfWork, resource_id: int, values: ResourceValues, match: Match) -> Resource:
    """Replace the values of a resource.

    Raises ``NotFound``, and ``Conflict`` if another one has the same requests.
    """
    before = await resources.read(unit.connection, resource_id)
    match(before)
    enabled = before.enabled if values.enabled is None else values.enabled
    moves = _requests(before.method, before.path) != _requests(values.method, values.path)
    if moves or enabled != before.enabled:
        await require_reach(unit.connection, unit.check, [resource_id])
    if enabled and (moves or not before.enabled):
        await require_taking(unit.connection, unit.check, values.method, values.path, but=resource_id)
    return await resources.update(unit.connection, resource_id, values)


async def set_enabled(unit: UnitOfWork, resource_id: int, enabled: bool, match: Match) -> Resource:
    """Enable or disable a resource; raises ``NotFound``."""
    before = await resources.read(unit.connection, resource_id)
    match(before)
    if enabled != before.enabled:
        await require_reach(unit.connection, unit.check, [resource_id])
        if enabled:
            at = (before.method, before.path)
            await require_taking(unit.connection, unit.check, *at, but=resource_id)
    return await resources.set_enabled(unit.connection, resource_id, enabled)


async def delete(unit: UnitOfWork, resource_id: int, match: Match) -> None:
    """Delete a resource with its bindings; ``NotFound``."""
    match(await resources.read(unit.connection, resource_id))
    await require_reach(unit.connection, unit.check, [resource_id])
    await resources.delete(unit.connection, resource_id)


async def bind_buttons(
    unit: UnitOfWork,
    resource_id: int,
    menu_ids: Sequence[int],
    match: Callable[[tuple[Button, ...]], None],
) -> tuple[Button, ...]:
    """Bind a resource to exactly these Buttons; return them.

    Raises ``PermissionDenied`` also if the caller lacks the code of an added or removed Button, ``NotFound``,
    and ``ValidationFailed`` for ids that are not Buttons.
    """
    await resources.read(unit.connection, resource_id)
    before = await bindings.buttons_of(unit.connection, resource_id)
    match(before)
    if differing := {button.id for button in before} ^ set(menu_ids):
        await unit.check.require_menus(unit.connection, differing)
        await require_reach(unit.connection, unit.check, [resource_id])
    await bindings.bind_buttons(unit.connection, resource_id, menu_ids)
    return await bindings.buttons_of(unit.connection, resource_id)


async def bind_resources(
    unit: UnitOfWork,
    menu_id: int,
    resource_ids: Sequence[int],
    match: Callable[[tuple[Resource, ...]], None],
) -> tuple[Resource, ...]:
    """Bind exactly these resources to a Button; return them.

    Raises ``PermissionDenied`` also if resources are added or removed and the caller lacks the code of the
    Button, ``NotFound``, and ``ValidationFailed`` for ids that are not Buttons or resources.
    """
    button = await menus.button(unit.connection, menu_id)
    before = await bindings.resources_of(unit.connection, menu_id)
    match(before)
    if differing := {one.id for one in before} ^ set(resource_ids):
        await unit.check.require([button.auth_mark], "The Button carries a permission that you do not hold")
        await require_reach(unit.connection, unit.check, differing)
    await bindings.bind_resources(unit.connection, menu_id, resource_ids)
    return await bindings.resources_of(unit.connection, menu_id)


def _requests(method: str, path: str) -> tuple[str, str]:
    """Return a key that is equal for resources that match the same requests."""
    return method, shape(path)
