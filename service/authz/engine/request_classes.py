"""The finitely many classes of requests that a policy distinguishes.

A request is decided by its route and the most specific registered resource. Requests with the same route and
the same resource are decided alike, so one request represents its class.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import ANYONE, ENDPOINT, NO_SESSION, RESOURCE, UNREGISTERED
from service.kernel.codes import HeldCodes

_PARAMETER: Final = "{}"
# A value that no registered path has, so that only parameters fit it.
_ANY: Final = "\x01"


@dataclass(frozen=True, slots=True)
class RequestClass:
    """Requests that one route serves, and that the same registered resources fit.

    ``route`` is the object of the endpoint layer. ``path`` is that of one such request; its values that are
    literal in no registered resource are a character that no path has. ``name`` is for people: method and
    path, with the parameters of the route where any other value would do.
    """

    route: str
    path: str
    name: str

    def resource(self, policy: Policy) -> str:
        """Return the object of the resource layer of ``policy`` for a caller who is logged in.

        ``@no-session`` where the route is public, since it authenticates nobody.
        """
        if policy.rules.codes(ENDPOINT, self.route) == (ANYONE,):
            return NO_SESSION
        return policy.resource_at(self.route.partition(" ")[0], self.path) or UNREGISTERED

    def passes(self, policy: Policy, held: HeldCodes) -> bool:
        """True if a caller who holds ``held`` passes both layers of ``policy`` with such a request."""
        return (
            policy.judge(RESOURCE, self.resource(policy), held).allowed
            and policy.judge(ENDPOINT, self.route, held).allowed
        )


def registered(policy: Policy) -> set[str]:
    """Return the registered resources of ``policy``, such as ``GET /api/report/{id}``."""
    return {name for name in policy.rules.objects(RESOURCE) if not name.startswith("@")}


def request_classes(
    routes: Collection[str],
    resources: Iterable[str],
    differing: Collection[str] = (),
    *,
    serving: ResourceIndex,
) -> Iterator[RequestClass]:
    """Yield the classes of the requests that ``routes`` serve, each once.

    ``serving`` indexes all routes: a request to ``/api/user/list`` is none of ``/api/user/{id}`` where both
    are served. To compare two policies, ``resources`` are those of both, and ``differing`` those of only one:
    a request may fit one resource in the first policy and another one in the second.
    """
    by_length: dict[tuple[str, int], list[str]] = {}
    for route in routes:
        by_length.setdefault(_group(route), []).append(route)
    seen: set[tuple[str, str]] = set()
    beside: dict[tuple[str, int], list[str]] = {}
    for name in differing:
        if (group := _group(name)) in by_length:
            beside.setdefault(group, []).append(shape(name))
    for found in _candidates(by_length, (shape(name) for name in resources), beside):
        made = _class_of(*found)
        if (made.route, made.path) in seen:
            continue
        seen.add((made.route, made.path))
        if serving.find(made.route.partition(" ")[0], made.path) == made.route:
            yield made


def _candidates(
    by_length: Mapping[tuple[str, int], Collection[str]],
    resources: Iterable[str],
    beside: Mapping[tuple[str, int], Collection[str]],
) -> Iterator[tuple[str, list[str]]]:
    """Yield a route and the segments of a shape of some of its requests."""
    for routes in by_length.values():
        for route in routes:
            yield route, shape(route).split("/")
    for resource in resources:
        for route in by_length.get(_group(resource), ()):
            if (narrowed := _both(shape(route).split("/"), resource.split("/"))) is None:
                continue
            yield route, narrowed
            for other in beside.get(_group(resource), ()):
                if narrower := _both(narrowed, other.split("/")):
                    yield route, narrower


def _group(name: str) -> tuple[str, int]:
    return name.partition(" ")[0], name.count("/")


def _both(one: list[str], other: list[str]) -> list[str] | None:
    """Return the shape of the requests that fit both shapes; None when there are none."""
    met = []
    for mine, theirs in zip(one, other, strict=True):
        if mine != theirs and _PARAMETER not in (mine, theirs):
            return None
        met.append(theirs if mine == _PARAMETER else mine)
    return met


def _class_of(route: str, segments: list[str]) -> RequestClass:
    method, _, path = route.partition(" ")
    shaped = "/".join(segments).partition(" ")[2]
    named = "/".join(
        told if segment == _PARAMETER else segment
        for told, segment in zip(path.split("/"), shaped.split("/"), strict=True)
    )
    return RequestClass(route, shaped.replace(_PARAMETER, _ANY), f"{method} {named}")
