"""Proposes resources for unregistered routes, and lists resources without a route."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ANYONE, ENDPOINT, LOGIN, NO_SESSION, RESOURCE, UNREGISTERED
from service.records import bindings, menus, resources
from service.records.database.transactions import Connection
from service.records.resources import Resource, ResourceValues

# A segment that no registered path can have, so that only parameters match it.
_ANY: Final = "\x01"
_PARAMETER: Final = "{}"


def unregistered(routes: Iterable[str], registered: Iterable[str]) -> list[str]:
    """Return the routes without a resource of their own, regardless of parameter names.

    Both are objects such as ``GET /api/user/{id}``. A more general resource may still decide such a route. A
    disabled resource counts, since another could not be registered beside it.
    """
    known = {shape(name) for name in registered}
    return [name for name in routes if shape(name) not in known]


def unrouted(registered: Iterable[str], routes: Iterable[str]) -> list[str]:
    """Return the resources that match no request of any route: their bindings guard nothing."""
    by_length: dict[tuple[str, int], list[list[str]]] = {}
    for route in routes:
        segments = shape(route).split("/")
        by_length.setdefault((segments[0], len(segments)), []).append(segments)
    return [name for name in registered if not _meets(shape(name).split("/"), by_length)]


def _meets(resource: list[str], routes: dict[tuple[str, int], list[list[str]]]) -> bool:
    return any(
        all(
            mine == theirs or _PARAMETER in (mine, theirs)
            for mine, theirs in zip(resource, route, strict=True)
        )
        for route in routes.get((resource[0], len(resource)), ())
    )


@dataclass(frozen=True, slots=True)
class RouteGuard:
    """Guard of a route: ``required`` are the codes of its endpoint lines.

    ``resource`` decides, in the resource layer, a request whose parameters no literal path fits.
    """

    method: str
    path: str
    required: tuple[str, ...]
    resource: str
    resource_codes: tuple[str, ...]


def guard_of(policy: Policy, method: str, template: str) -> RouteGuard:
    """Return the guard of the route of this method and template in ``policy``."""
    required = policy.rules.codes(ENDPOINT, f"{method} {template}")
    # A public route does not authenticate.
    resource = NO_SESSION if required == (ANYONE,) else policy.resource_at(method, any_request(template))
    name = resource or UNREGISTERED
    return RouteGuard(method, template, required, name, policy.rules.codes(RESOURCE, name))


def any_request(template: str) -> str:
    """Return a path for ``template`` with parameter values that match no literal segment."""
    return shape(template).replace(_PARAMETER, _ANY)


_LONGEST_CODE: Final = 64
_LONGEST_NAME: Final = 128


@dataclass(frozen=True, slots=True)
class KnownRoute:
    """A route of the code: its object, summary, and the codes of its operation metadata."""

    object: str
    summary: str
    access: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A resource for a route, bound to the Buttons of the required codes; to none if a login is enough."""

    route: KnownRoute
    buttons: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Differences:
    """Routes to register, routes that cannot be registered, and resources that fit no route.

    A route cannot be registered when no enabled Button has a code that it requires.
    """

    proposed: tuple[Proposal, ...]
    unbindable: tuple[KnownRoute, ...]
    unrouted: tuple[Resource, ...]


async def differences(
    connection: Connection, routes: Iterable[KnownRoute], absent: Iterable[str] = ()
) -> Differences:
    """Compare the routes with the registered resources, including disabled ones.

    Public routes are left out: they have no logged-in callers, so no resource would ever decide them.
    Resources for ``absent``, the endpoints of features that are off, are no differences: they stay.
    """
    known = {route.object: route for route in routes}
    stored = {
        f"{resource.method} {resource.path}": resource for resource in await resources.of_service(connection)
    }
    guarded = [name for name, route in known.items() if route.access != (ANYONE,)]
    buttons = await menus.buttons_by_code(connection)
    missing = [
        Proposal(known[name], {code: buttons[code] for code in known[name].access if code in buttons})
        for name in unregistered(guarded, stored)
    ]
    bindable = [proposal for proposal in missing if proposal.buttons or proposal.route.access == (LOGIN,)]
    return Differences(
        tuple(bindable),
        # Registered without a binding, the route would be open to every login; bound to disabled Buttons, it
        # would be closed to all its present callers.
        tuple(proposal.route for proposal in missing if proposal not in bindable),
        tuple(stored[name] for name in unrouted(stored, [*known, *absent])),
    )


async def register(connection: Connection, proposals: Iterable[Proposal]) -> None:
    """Register and bind the proposals, within a change of ``PolicyChanges``."""
    taken = {resource.resource_code for resource in await resources.every(connection)}
    for proposal in proposals:
        method, _, path = proposal.route.object.partition(" ")
        code = _free_code(method, path, taken)
        taken.add(code)
        values = ResourceValues(proposal.route.summary[:_LONGEST_NAME], code, method, path)
        made = await resources.create(connection, values)
        await bindings.bind_buttons(connection, made.id, list(proposal.buttons.values()))


def _free_code(method: str, path: str, taken: set[str]) -> str:
    """Return an unused resource code: ``put.api.role.id`` or, if taken, ``put.api.role.id-2``."""
    words = re.findall(r"[A-Za-z0-9_-]+", path)
    code = ".".join([method.lower(), *words])[:_LONGEST_CODE]
    number = 1
    free = code
    while free in taken:
        number += 1
        free = f"{code[: _LONGEST_CODE - 8]}-{number}"
    return free
