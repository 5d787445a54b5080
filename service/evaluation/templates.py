"""All requests that fit a template, as the few of them that are decided by different lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from weakref import WeakKeyDictionary

from service.authz.engine.overlapping_patterns import PARAMETER, OverlappingPatterns
from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy
from service.authz.engine.request_classes import registered
from service.authz.engine.resource_index import ResourceIndex, comparable
from service.authz.engine.rules import ASSURANCE, ENDPOINT, RESOURCE, UNREGISTERED, assured
from service.evaluation.questions import RequestsTo
from service.kernel.services import PORTCULLIS, split_object

_ANY: Final = "\x01"  # a value that no registered path has, so that only parameters fit it
MOST_PATHS: Final = 1000
"""How many paths of one template are looked at; each of them is a question."""
_MOST_KEPT: Final = 100_000  # paths of all templates


class _Known:
    """What was found out about one policy."""

    def __init__(self, policy: Policy) -> None:
        self.routes = ResourceIndex(policy.rules.objects(ENDPOINT))
        self.overlapping: dict[str, tuple[OverlappingPatterns, OverlappingPatterns]] = {}
        self._paths: dict[RequestsTo, tuple[str, ...] | None] = {}
        self._kept = 0

    def paths(self, policy: Policy, asked: RequestsTo) -> tuple[str, ...] | None:
        """Return the paths of a template, as ``Templates`` does; they are found once."""
        if asked not in self._paths:
            if self._kept >= _MOST_KEPT:
                self._paths.clear()
                self._kept = 0
            distinct_paths = self._paths[asked] = _distinct(policy, self, asked)
            self._kept += 1 + len(distinct_paths or ())
        return self._paths[asked]


class Templates:
    """Finds the paths that stand for all requests of a template; remembers them while a policy is in use."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Policy, _Known] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def paths(self, policy: Policy, asked: RequestsTo) -> tuple[str, ...] | None:
        """Return paths such that any request that fits the template is decided by the lines of one of them.

        The first is that of a request whose values nobody has registered. Of ``GET /orders/{id}`` the others
        are those that a more specific resource takes, such as ``/orders/new``. None if more than
        ``MOST_PATHS`` would have to be looked at.
        """
        if (known := self._known.get(policy)) is None:
            known = self._known[policy] = _Known(policy)
        # The names of parameters make no difference.
        return known.paths(policy, RequestsTo(asked.service, asked.method, shape(asked.template)))


def _distinct(policy: Policy, known: _Known, asked: RequestsTo) -> tuple[str, ...] | None:
    """Return the candidates whose lines differ from those of the candidates before; None for too many."""
    by_lines: dict[tuple[object, ...], str] = {}
    for number, path in enumerate(_candidates(policy, known, asked)):
        if number == MOST_PATHS:
            return None
        by_lines.setdefault(_lines(policy, known, asked, path), path)
    return tuple(by_lines.values())


def _lines(policy: Policy, known: _Known, asked: RequestsTo, path: str) -> tuple[object, ...]:
    """Return what is equal for requests that are decided alike."""
    method = asked.method
    if asked.service != PORTCULLIS:
        return _of_object(policy, RESOURCE, policy.object_at(asked.service, method, path))
    route = known.routes.find(method, path)
    resource = policy.resource_at(method, path) or UNREGISTERED
    return _of_object(policy, RESOURCE, resource), route and _of_object(policy, ENDPOINT, route)


def _of_object(policy: Policy, layer: str, name: str) -> tuple[object, ...]:
    """Return the codes that open an object, and the words that are demanded for it."""
    codes = policy.rules.codes
    return codes(layer, name), codes(ASSURANCE, assured(layer, name))


def _candidates(policy: Policy, known: _Known, asked: RequestsTo) -> Iterator[str]:
    """Yield a path for each way in which resources and routes meet the template."""
    service = policy.service(asked.service)
    if service is None:
        yield asked.template
        return
    if asked.service not in known.overlapping:
        known.overlapping[asked.service] = _overlapping(policy, asked.service)
    resources, routes = known.overlapping[asked.service]
    method = "GET" if asked.method == "HEAD" and asked.service != PORTCULLIS else asked.method
    whole = f"{method} {comparable(service, shape(asked.template))}".split("/")
    yield _path(whole)
    for _, narrowed in routes.overlapping(whole):
        yield _path(narrowed)
    for _, narrowed in resources.overlapping(whole):
        yield _path(narrowed)
        for _, narrower in routes.overlapping(narrowed):
            yield _path(narrower)


def _overlapping(policy: Policy, name: str) -> tuple[OverlappingPatterns, OverlappingPatterns]:
    """Return the resources and the routes of a service; those of another one have no routes here."""
    if name == PORTCULLIS:
        return OverlappingPatterns(registered(policy)), OverlappingPatterns(policy.rules.objects(ENDPOINT))
    service = policy.other_services[name]
    shapes = []
    for resource in policy.rules.objects(RESOURCE):
        owner, route = split_object(resource)
        if owner != name or route.startswith("@"):
            continue
        method, _, path = route.partition(" ")
        shapes.append(f"{method} {comparable(service, shape(path))}")
    return OverlappingPatterns(shapes), OverlappingPatterns(())


def _path(segments: list[str]) -> str:
    return "/".join(segments).partition(" ")[2].replace(PARAMETER, _ANY)
