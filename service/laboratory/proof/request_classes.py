"""The finitely many classes of requests that a policy distinguishes.

A request is decided by its route and the most specific registered resource. Requests with the same route and
the same resource are decided alike, so one request represents its class.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from service.authz.engine.lines import changes
from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy, is_registered
from service.authz.engine.resource_index import PARAMETER, Met, OverlappingPatterns, ResourceIndex
from service.authz.engine.rules import (
    ANYONE,
    ENDPOINT,
    NO_SESSION,
    OF_REQUESTS,
    RESOURCE,
    UNKNOWN,
    UNREGISTERED,
)
from service.kernel.codes import HeldCodes
from service.kernel.services import PORTCULLIS, object_of

# A value that no registered path has, so that only parameters fit it.
ANY: Final = "\x01"


@dataclass(frozen=True, slots=True)
class RequestClass:
    """Requests that one route serves, and that the same registered resources fit.

    ``route`` is the object of the endpoint layer. ``path`` is that of an example request; its values that are
    literal in no registered resource are a character that no path has. ``name`` is for people: method and
    path, with the parameters of the route for free values. A class of another ``service`` has its method as
    ``route``, or ``@unregistered`` with an empty path.
    """

    route: str
    path: str
    name: str
    service: str = PORTCULLIS

    @property
    def is_external(self) -> bool:
        """True if they are requests to another service: only the resource layer is asked about them."""
        return self.service != PORTCULLIS

    def is_public(self, policy: Policy) -> bool:
        """True if the route is open to everyone without authentication."""
        if self.is_external:
            return False
        return policy.rules.codes(ENDPOINT, self.route) == (ANYONE,)

    def resource(self, policy: Policy) -> str:
        """Return the object of the resource layer of ``policy`` for a logged-in caller.

        ``@no-session`` for a public route, since it does not authenticate.
        """
        if self.is_external:
            if self.route == UNREGISTERED:
                known = policy.service(self.service) is not None
                return object_of(self.service, UNREGISTERED) if known else UNKNOWN
            return policy.object_at(self.service, self.route, self.path)
        if self.is_public(policy):
            return NO_SESSION
        return policy.resource_at(self.route.partition(" ")[0], self.path) or UNREGISTERED

    def passes(self, policy: Policy, held: HeldCodes | None) -> bool:
        """True if a caller who holds ``held`` passes both layers of ``policy`` with a request of this class.

        None is a caller without a session, like every caller of a public route.
        """
        if self.is_external:
            return policy.judge(RESOURCE, self.resource(policy), held).allowed
        asking = None if self.is_public(policy) else held
        resource = NO_SESSION if asking is None else self.resource(policy)
        return (
            policy.judge(RESOURCE, resource, asking).allowed
            and policy.judge(ENDPOINT, self.route, asking).allowed
        )


def decided_alike(policy: Policy, other: Policy) -> bool:
    """Return True if the two differ at most in lines that decide no request: all decisions are equal.

    If other lines differ, decisions may still be equal. Compares all lines: call it off the event loop.
    """
    changed = changes(other.rules.by_object, policy.rules.by_object)
    same = policy.model_text == other.model_text and policy.ending == other.ending
    return same and all(layer not in OF_REQUESTS for layer, _ in changed)


def registered(policy: Policy) -> set[str]:
    """Return the registered resources of this service, such as ``GET /api/report/{id}``."""
    return set(filter(is_registered, policy.rules.objects(RESOURCE)))


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
    seen: set[tuple[str, str]] = set()
    for candidate in _candidates(
        OverlappingPatterns(routes), map(shape, resources), OverlappingPatterns(differing)
    ):
        made = _class_of(*candidate)
        if (made.route, made.path) in seen:
            continue
        seen.add((made.route, made.path))
        if serving.find(made.route.partition(" ")[0], made.path) == made.route:
            yield made


Compared = tuple[RequestClass | None, RequestClass | None]
"""One class of requests in two policies; None where the routes of a policy do not serve it."""


def compared_classes(before: Policy, after: Policy) -> Iterator[Compared]:
    """Yield the classes of requests that two policies distinguish, which may have different routes.

    Four objects decide a request: the route and the most specific resource in each policy. A request with
    unregistered values in place of all parameters meets the same four: a more specific object would have to
    fit both. If the routes of the two policies differ, one of the two routes is in one policy alone; the same
    is true of resources. So each class is that of a route, a resource, a resource of one policy alone, and a
    route of one policy alone, if these fit the same requests.
    """
    policies = (before, after)
    served = [policy.routes for policy in policies]
    shapes = [{shape(name) for name in policy.rules.objects(ENDPOINT)} for policy in policies]
    resources = [set(map(shape, registered(policy))) for policy in policies]
    alone = OverlappingPatterns(shapes[0] ^ shapes[1])
    beside = OverlappingPatterns(resources[0] ^ resources[1])
    seen: set[tuple[str, str]] = set()
    for _, segments in _candidates(
        OverlappingPatterns(shapes[0] | shapes[1]), resources[0] | resources[1], beside
    ):
        narrower = (met for _, met in alone.overlapping(segments)) if alone else ()
        for met in (segments, *narrower):
            method, _, shaped = "/".join(met).partition(" ")
            path = shaped.replace(PARAMETER, ANY)
            if (method, path) in seen:
                continue
            seen.add((method, path))
            routes = [index.find(method, path) for index in served]
            if any(routes):
                yield _in_both(routes, met)


def _in_both(routes: Sequence[str | None], segments: list[str]) -> Compared:
    old, new = (None if route is None else _class_of(route, segments) for route in routes)
    return old, new


def _candidates(
    routes: OverlappingPatterns, resources: Iterable[str], beside: OverlappingPatterns
) -> Iterator[Met]:
    """Yield a route and the segments of a shape of some of its requests."""
    yield from routes
    for resource in resources:
        for route, narrowed in routes.overlapping(resource.split("/")):
            yield route, narrowed
            if beside:
                for _, narrower in beside.overlapping(narrowed):
                    yield route, narrower


def _class_of(route: str, segments: list[str]) -> RequestClass:
    method, _, path = route.partition(" ")
    shaped = "/".join(segments).partition(" ")[2]
    named = "/".join(
        written if segment == PARAMETER else segment
        for written, segment in zip(path.split("/"), shaped.split("/"), strict=True)
    )
    return RequestClass(route, shaped.replace(PARAMETER, ANY), f"{method} {named}")
