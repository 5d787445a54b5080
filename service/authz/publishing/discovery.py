"""Compares the routes of the code with the registered resources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ANYONE, ENDPOINT, NO_SESSION, RESOURCE, UNREGISTERED

# A segment that no registered path can have, so that only parameters match it.
_ANY: Final = "\x01"
_PARAMETER: Final = "{}"


def unregistered(routes: Iterable[str], registered: Iterable[str]) -> list[str]:
    """Return the routes without a resource of their own, regardless of parameter names.

    Both are objects such as ``GET /api/user/{id}``. A more general resource may decide such a route all the
    same; a disabled one counts, since another could not be registered beside it.
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
    """How a route is guarded: ``required`` are the codes of its endpoint lines.

    ``resource`` decides, in the resource layer, a request whose parameters no literal path fits.
    """

    method: str
    path: str
    required: tuple[str, ...]
    resource: str
    resource_codes: tuple[str, ...]


def guard_of(policy: Policy, method: str, template: str) -> RouteGuard:
    """Return how ``policy`` guards the route of this method and template."""
    required = policy.rules.codes(ENDPOINT, f"{method} {template}")
    # A public route authenticates nobody.
    resource = NO_SESSION if required == (ANYONE,) else policy.resource_at(method, any_request(template))
    name = resource or UNREGISTERED
    return RouteGuard(method, template, required, name, policy.rules.codes(RESOURCE, name))


def any_request(template: str) -> str:
    """Return a path for ``template`` with parameter values that match no literal segment."""
    return shape(template).replace(_PARAMETER, _ANY)
