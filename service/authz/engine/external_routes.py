"""The routes of other services: which object of the resource layer a request to one of them is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from service.authz.engine.lines import Lines
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import (
    ALLOW_PREFLIGHT,
    AMBIGUOUS,
    IGNORE_CASE,
    IGNORE_TRAILING_SLASH,
    RESOURCE,
    SERVICE,
    UNKNOWN,
    UNREGISTERED,
)
from service.kernel.services import PORTCULLIS, Service, object_of, split_object


class ExternalRoutes:
    """The other services of a policy, and an index of the resources of each; immutable."""

    def __init__(self, lines: Lines, like: ExternalRoutes | None = None) -> None:
        """Read them from the lines of a policy; parts shared with ``like`` are not built again.

        Raises PolicyError if two resources match the same requests, as the router of their service reads
        them. Resources of a service without lines of its own are left out: it is unknown.
        """
        self.services: Final[Mapping[str, Service]] = MappingProxyType(
            {
                name: _service(name, lines.codes(SERVICE, name))
                for name in lines.objects(SERVICE)
                if " " not in name
            }
        )
        self.resources: Final = frozenset(_external(lines.objects(RESOURCE)) if self.services else ())
        """The registered resources of other services."""
        self._indices = self._indexed(frozenset(), {}) if like is None else self._following(like)

    def _following(self, like: ExternalRoutes) -> dict[str, ResourceIndex]:
        return self._indexed(like.resources, like._indices)

    def _indexed(
        self, resources: frozenset[str], indices: Mapping[str, ResourceIndex]
    ) -> dict[str, ResourceIndex]:
        """Return an index of each service; ``indices`` are those of another policy with ``resources``."""
        removed, added = _by_service(resources - self.resources), _by_service(self.resources - resources)
        known = {name: index for name, index in indices.items() if self.services.get(name) == index.service}
        others = self.services.keys() - known
        every = (
            _by_service(resource for resource in self.resources if split_object(resource)[0] in others)
            if others
            else {}
        )
        return {
            name: known[name].changed(removed.get(name, ()), added.get(name, ()))
            if name in known
            else ResourceIndex(every.get(name, ()), service)
            for name, service in self.services.items()
        }

    def object_at(self, service: str, method: str, path: str) -> str:
        """Return the object of a request; see ``Policy.object_at``."""
        index = self._indices.get(service)
        if index is None:
            return UNKNOWN
        if method != method.upper():
            # Some routers take ``get`` for GET, others serve it by a handler for all methods.
            return object_of(service, AMBIGUOUS)
        matches = index.readings("GET" if method == "HEAD" else method, path)
        if len(matches) > 1:
            return object_of(service, AMBIGUOUS)
        return matches.pop() or object_of(service, UNREGISTERED)


def _service(name: str, words: Iterable[str]) -> Service:
    return Service(name, IGNORE_CASE in words, IGNORE_TRAILING_SLASH in words, ALLOW_PREFLIGHT in words)


def _external(names: Iterable[str]) -> Iterator[str]:
    """Yield the registered resources of other services among the objects of the resource layer."""
    for name in names:
        service, route = split_object(name)
        if service != PORTCULLIS and not route.startswith("@"):
            yield name


def _by_service(names: Iterable[str]) -> dict[str, list[str]]:
    by_service: dict[str, list[str]] = {}
    for name in names:
        by_service.setdefault(split_object(name)[0], []).append(name)
    return by_service
