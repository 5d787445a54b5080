"""Edits of resources and their bindings within a unit of work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from service.administration import change_log, resource_reach
from service.administration.change_log import check_record, check_values
from service.administration.role_edits import NO_BUTTON
from service.administration.unit_of_work import UnitOfWork, unconditionally
from service.authz.engine.paths import registered_fault, shape
from service.errors import Conflict, ValidationFailed
from service.kernel.core_sentences import sentence
from service.kernel.origin import field_changes, values_change
from service.kernel.services import OWN, PORTCULLIS, Service
from service.records import bindings, menus, openings, resources, services
from service.records.database.row_mapper import merged
from service.records.database.transactions import Connection
from service.records.menus import Button
from service.records.resources import Resource, ResourceValues

Match = Callable[[Resource], None]
"""Raises ``PreconditionFailed`` if the resource has changed since the caller read it."""


_BINDING: Final = "/api/resource/{id}/buttons"


async def create(unit: UnitOfWork, given: Mapping[str, Any]) -> Resource:
    """Register a resource with the given fields of ``ResourceValues``, bound to the ``menu_ids`` of Buttons.

    Raises ``Conflict`` if another resource matches the same requests. Raises ``ValidationFailed`` for an
    unknown service, and for a path that resources of the service can't have.
    """
    fields = dict(given)
    menu_ids = fields.pop("menu_ids", ())
    values = _settled(ResourceValues(**fields))
    check_record(values)
    if menu_ids:
        unit.require_request("PUT", _BINDING, 0)  # the id comes with the resource
    router = await router_of(unit.connection, values.service)
    unit.check.require_service("create", router.name)
    if menu_ids:
        unit.check.require_service("bind", router.name)
        await unit.check.require_menus(unit.connection, menu_ids)
    route = _require_path(router, values)
    await resource_reach.require_new(unit.connection, unit.check, values)
    if values.enabled:
        await resource_reach.require_taking(unit.connection, unit.check, router, values)
    unit.authorized()
    await resource_reach.require_free(unit.connection, router, route)
    saved = await resources.create(unit.connection, values)
    made = change_log.resource_fields(saved)
    unit.changes += field_changes(change_log.resource_target(saved), {}, made)
    if menu_ids:
        await bind_buttons(unit, saved.id, Buttons(menu_ids), unconditionally)
    return saved


async def update(unit: UnitOfWork, resource_id: int, given: Mapping[str, Any], match: Match) -> Resource:
    """Store the given fields of ``ResourceValues``; absent fields are unchanged. It stays in its service.

    Raises ``NotFound``, and ``Conflict`` if another one has the same requests, or if ``values`` name another
    service.
    """
    check_values(ResourceValues, given)
    before, router = await _for_change(unit, resource_id, "update", match)
    values = _settled(merged(ResourceValues, before, given), before)
    if values.service != before.service:
        raise Conflict(sentence("resource_fixed_to_service"), rule="fixed", field="service")
    route = _require_path(router, values)
    await resource_reach.require_change(unit.connection, unit.check, before, values)
    moves = _requests(before.method, before.path) != _requests(*route)
    if moves or values.enabled != before.enabled:
        await resource_reach.require_reach(unit.connection, unit.check, [resource_id])
        await _require_leaving(unit, router, before)
    if values.enabled and (moves or not before.enabled):
        await _require_opening(unit, before)
        await resource_reach.require_taking(unit.connection, unit.check, router, values, but=resource_id)
    await resource_reach.require_free(unit.connection, router, route, but=resource_id)
    return _edited(unit, before, await resources.update(unit.connection, resource_id, values))


async def set_enabled(unit: UnitOfWork, resource_id: int, enabled: bool, match: Match) -> Resource:
    """Enable or disable a resource; raises ``NotFound``."""
    before, router = await _for_change(unit, resource_id, "update", match)
    if enabled != before.enabled:
        await resource_reach.require_reach(unit.connection, unit.check, [resource_id])
        await _require_leaving(unit, router, before)
        if enabled:
            await _require_opening(unit, before)
            await resource_reach.require_taking(unit.connection, unit.check, router, before, but=resource_id)
    return _edited(unit, before, await resources.set_enabled(unit.connection, resource_id, enabled))


async def delete(unit: UnitOfWork, resource_id: int, match: Match) -> None:
    """Delete a resource with its bindings and its opening; ``NotFound``."""
    before, router = await _for_change(unit, resource_id, "delete", match)
    bound = await resource_reach.require_reach(unit.connection, unit.check, [resource_id])
    await _require_leaving(unit, router, before)
    await resources.delete(unit.connection, resource_id)
    fields = change_log.resource_fields(before, bound.get(resource_id, ()))
    unit.changes += field_changes(change_log.resource_target(before), fields, {})


NO_DEMAND: Final = sentence("services_without_assurance")


def _settled(values: ResourceValues, before: Resource | None = None) -> ResourceValues:
    """Return ``values``, without ``services`` if there is no demand; ``before`` is the stored resource.

    Otherwise the next demand, perhaps by another caller, would not hold for API keys. Raises ValidationFailed
    for an edit that sets ``services`` without a demand.
    """
    if values.assurance is not None or not values.services:
        return values
    if before is None or not before.services:
        raise ValidationFailed(("services", NO_DEMAND))
    return replace(values, services=False)


async def router_of(connection: Connection, name: str) -> Service:
    """Return the service of that name, as its router reads requests; ValidationFailed if there is none."""
    if name == PORTCULLIS:
        return OWN
    service = await services.named(connection, name)
    if service is None:
        raise ValidationFailed(("service", sentence("no_such_service")))
    return service.router


def _require_path(router: Service, values: ResourceValues) -> resource_reach.Route:
    if fault := registered_fault(values.path, may_end_in_slash=router.name != PORTCULLIS):
        raise ValidationFailed(("path", fault))
    return values.method, values.path


async def _require_opening(unit: UnitOfWork, stored: Resource) -> None:
    """Check that the caller may grant public access to the requests that a moved open resource matches."""
    if await openings.of(unit.connection, stored.service, stored.id) is not None:
        unit.check.require_service("open", stored.service)


async def _require_leaving(unit: UnitOfWork, router: Service, stored: Resource) -> None:
    """Check that the caller may open what a resource leaves to an opened one, or to no registered one.

    Its requests may come to demand less, too.
    """
    if stored.enabled:
        await resource_reach.require_lowering(unit.connection, unit.check, [stored])
    opened = {
        opening.resource_id
        for opening in await openings.every(unit.connection)
        if opening.service == stored.service
    }
    if not opened or not stored.enabled:
        return
    route = (stored.method, stored.path)
    gaining = await resource_reach.losing_to(unit.connection, router, route, but=stored.id)
    if not opened.isdisjoint({None, *gaining}):
        unit.check.require_service("open", stored.service)


@dataclass(frozen=True, slots=True)
class Buttons:
    """Buttons by their ids, by their codes, or by both; None is not said."""

    menu_ids: Sequence[int] | None = None
    codes: Sequence[str] | None = None

    async def ids(self, connection: Connection) -> Sequence[int]:
        """Return their ids; ``ValidationFailed`` for a code without a Button, or if ids and codes differ."""
        if self.codes is None:
            if self.menu_ids is None:
                raise ValidationFailed(("menuIds", sentence("menus_or_codes")))
            return self.menu_ids
        known = await menus.with_codes(connection, self.codes)
        lacking = (place for place, code in enumerate(self.codes) if code not in known)
        if faults := [(f"codes[{place}]", NO_BUTTON) for place in lacking]:
            raise ValidationFailed(*faults)
        ids = [known[code].id for code in dict.fromkeys(self.codes)]
        if self.menu_ids is not None and set(self.menu_ids) != set(ids):
            raise ValidationFailed(("codes", sentence("codes_differ_from_menus")))
        return ids


async def bind_buttons(
    unit: UnitOfWork,
    resource_id: int,
    buttons: Buttons,
    match: Callable[[tuple[Button, ...]], None],
) -> tuple[Button, ...]:
    """Bind a resource to exactly these Buttons; return them.

    Raises ``PermissionDenied`` also if the caller lacks the code of an added or removed Button. Raises
    ``NotFound``, and ``ValidationFailed`` for ids that are not Buttons.
    """
    stored = await resources.read(unit.connection, resource_id)
    change_log.concerns(target := change_log.resource_target(stored))
    unit.check.require_service("bind", stored.service)
    before = await bindings.buttons_of(unit.connection, resource_id)
    match(before)
    menu_ids = await buttons.ids(unit.connection)
    if differing := {button.id for button in before} ^ set(menu_ids):
        await unit.check.require_menus(unit.connection, differing)
        await resource_reach.require_reach(unit.connection, unit.check, [resource_id])
    await bindings.bind_buttons(unit.connection, resource_id, menu_ids)
    saved = await bindings.buttons_of(unit.connection, resource_id)
    removed, added = _differing(*({button.auth_mark for button in some} for some in (before, saved)))
    unit.targets += map(change_log.button_target, sorted(removed | added))
    unit.changes += values_change(target, "permissions", removed, added)
    return saved


async def bind_resources(
    unit: UnitOfWork,
    menu_id: int,
    resource_ids: Sequence[int],
    match: Callable[[tuple[Resource, ...]], None],
) -> tuple[Resource, ...]:
    """Bind exactly these resources to a Button; return them.

    Raises ``PermissionDenied`` also if resources are added or removed and the caller lacks the code of the
    Button. Raises ``NotFound``, and ``ValidationFailed`` for ids that are not Buttons or resources.
    """
    button = await menus.button(unit.connection, menu_id)
    change_log.concerns(target := change_log.button_target(button.auth_mark))
    before = await bindings.resources_of(unit.connection, menu_id)
    match(before)
    if differing := {resource.id for resource in before} ^ set(resource_ids):
        for service in sorted(await resources.services_of(unit.connection, differing)):
            unit.check.require_service("bind", service)
        await unit.check.require([button.auth_mark], sentence("button_not_held"))
        await resource_reach.require_reach(unit.connection, unit.check, differing)
    await bindings.bind_resources(unit.connection, menu_id, resource_ids)
    saved = await bindings.resources_of(unit.connection, menu_id)
    removed, added = _differing(
        *({change_log.requests_of(resource) for resource in some} for some in (before, saved))
    )
    unit.targets += (f"resource:{request}" for request in sorted(removed | added))
    unit.changes += values_change(target, "resources", removed, added)
    return saved


async def _for_change(
    unit: UnitOfWork, resource_id: int, action: str, match: Match
) -> tuple[Resource, Service]:
    stored = await resources.read(unit.connection, resource_id)
    change_log.concerns(change_log.resource_target(stored))
    unit.check.require_service(action, stored.service)
    match(stored)
    return stored, await router_of(unit.connection, stored.service)


def _edited(unit: UnitOfWork, before: Resource, saved: Resource) -> Resource:
    unit.targets.append(change_log.resource_target(saved))
    fields = map(change_log.resource_fields, (before, saved))
    unit.changes += field_changes(change_log.resource_target(before), *fields)
    return saved


def _differing(before: set[str], saved: set[str]) -> tuple[set[str], set[str]]:
    """Return the removed and the added members."""
    return before - saved, saved - before


def _requests(method: str, path: str) -> tuple[str, str]:
    """Return a key that is equal for resources that match the same requests."""
    return method, shape(path)
