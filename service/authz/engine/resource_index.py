"""Finds the most specific registered resource of a request, as the HTTP router would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from service.authz.engine.paths import shape
from service.authz.engine.rules import PolicyError
from service.kernel.cooperative_yield import cooperatively
from service.kernel.core_sentences import sentence
from service.kernel.services import OWN, Service, split_object

_PARAMETER: Final = "{}"
_NO_LITERAL: Final = "\0"


class ResourceIndex:
    """An immutable index of objects (``"METHOD /path"``) by the requests that fit them.

    A ``{name}`` matches exactly one non-empty segment. If several objects match, the most specific wins:
    literal before parameter, compared from left to right. This is what a router finds that tries the literal
    branch first and backtracks; here it needs no tree, only a dictionary of shapes. For each method and
    number of segments the index has the combinations of parameter positions, of which real routes have a
    handful. They are tried from the most specific one; the first that gives a known shape is the answer.

    Shapes and requests are compared as the router of ``service`` does. All objects are of that service.
    """

    __slots__ = ("_by_shape", "_combinations", "_counts", "service")

    def __init__(self, objects: Iterable[str] = (), service: Service = OWN) -> None:
        """Index ``objects``; raises PolicyError if two of them match the same requests."""
        self.service = service
        self._by_shape: dict[str, str] = {}
        self._counts: Counter[tuple[str, tuple[bool, ...]]] = Counter()
        self._change((), objects)

    def changed(self, removed: Iterable[str], added: Iterable[str]) -> ResourceIndex:
        """Return the index without the objects ``removed`` and with ``added``; PolicyError as above."""
        made = ResourceIndex(service=self.service)
        made._by_shape = self._by_shape.copy()
        made._counts = self._counts.copy()
        made._change(removed, added)
        return made

    def _change(self, removed: Iterable[str], added: Iterable[str]) -> None:
        for name in cooperatively(removed):
            key = self._key(name)
            del self._by_shape[key]
            self._count(key, -1)
        for name in cooperatively(added):
            key = self._key(name)
            if (other := self._by_shape.setdefault(name if key == name else key, name)) != name:
                raise PolicyError(sentence("same_requests", first=other, second=name))
            self._count(key, 1)
        groups: dict[tuple[str, int], list[tuple[bool, ...]]] = {}
        for method, marks in sorted(combination for combination, number in self._counts.items() if number):
            groups.setdefault((method, len(marks)), []).append(marks)
        self._combinations = {
            group: tuple(tuple(at for at, marked in enumerate(marks) if marked) for marks in combinations)
            for group, combinations in groups.items()
        }

    def _key(self, name: str) -> str:
        """Return the shape of an object, without its service; equal for objects that match alike."""
        if self.service is OWN:
            return shape(name)
        method, _, path = split_object(name)[1].partition(" ")
        return f"{method} {comparable(self.service, shape(path))}"

    def _count(self, key: str, number: int) -> None:
        if _PARAMETER in key:
            marks = tuple(segment == _PARAMETER for segment in key.split("/"))
            self._counts[key.partition(" ")[0], marks] += number

    def find(self, method: str, path: str) -> str | None:
        """Return the most specific object for ``method`` and the canonical ``path``, or None."""
        # A segment sent as {} is an ordinary value, never the parameter of a shape.
        if self.service is not OWN:
            path = comparable(self.service, path)
        key = f"{method} {path}"
        if "{" in key:
            key = key.replace(_PARAMETER, _NO_LITERAL)
        if (exact := self._by_shape.get(key)) is not None:
            return exact
        segments = key.split("/")
        for positions in self._combinations.get((method, len(segments)), ()):
            blanked = segments.copy()
            for position in positions:
                blanked[position] = _PARAMETER
            if (name := self._by_shape.get("/".join(blanked))) is not None and all(
                segments[position] for position in positions
            ):
                return name
        return None

    def readings(self, method: str, path: str) -> set[str | None]:
        """Return the results of ``find`` for each way in which a router may fold the letters of ``path``.

        A router that ignores case may fold letters outside ASCII, such as the long s or the Kelvin sign, and
        another router may not. With more than one result, the deciding resource is unknown.
        """
        if path.isascii() or not self.service.ignore_case:
            return {self.find(method, path)}
        return {self.find(method, folded) for folded in (path, path.lower(), path.upper(), path.casefold())}


class RouteIndex(ResourceIndex):
    """An index of the routes of this service; requests that fit one of ``absent`` best have no route.

    The worker answers them 404, even where a more general route would fit: a feature that is off would serve
    them.
    """

    __slots__ = ("absent",)

    def __init__(self, routes: Collection[str], absent: Collection[str] = ()) -> None:
        """Index ``routes``; raises PolicyError if two routes match the same requests."""
        super().__init__({*routes, *absent})
        self.absent = absent

    def find(self, method: str, path: str) -> str | None:
        """Return the route that serves ``method`` and the canonical ``path``, or None."""
        route = super().find(method, path)
        return None if route in self.absent else route

    def is_absent(self, method: str, path: str) -> bool:
        """Return True if a feature that is off would serve the request."""
        return bool(self.absent) and super().find(method, path) in self.absent


_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def comparable(service: Service, path: str) -> str:
    """Return a path, or the shape of one, as the router of ``service`` compares it."""
    if service.ignore_trailing_slash and len(path) > 1 and path.endswith("/"):
        path = path[:-1]
    return path.translate(_LOWER) if service.ignore_case else path


PARAMETER: Final = "{}"
"""A segment of a shape that fits any value."""

Group = tuple[str, int]
"""Method and number of segments: requests of different groups are never the same."""

Met = tuple[str, list[str]]
"""A name, and the segments of the shape of the requests that fit it and another shape."""


def group_of(name: str) -> Group:
    """Return the group of a route, a resource or a shape."""
    return name.partition(" ")[0], name.count("/")


def by_group(names: Iterable[str]) -> dict[Group, list[str]]:
    """Return ``names`` by their group."""
    groups: dict[Group, list[str]] = {}
    for name in names:
        groups.setdefault(group_of(name), []).append(name)
    return groups


class _Members(NamedTuple):
    """The names of one group: all of them, and indexed by the segment in which most of them differ."""

    place: int
    every: list[Met]
    by_segment: dict[str, list[Met]]

    def near(self, segments: list[str]) -> Iterable[Met]:
        """Return the names that may fit the same requests as ``segments``."""
        at = segments[self.place]
        if at == PARAMETER:
            return self.every
        return (*self.by_segment.get(at, ()), *self.by_segment.get(PARAMETER, ()))


class OverlappingPatterns:
    """An index of names; a thousand of one group take no longer than the few that meet."""

    def __init__(self, names: Iterable[str]) -> None:
        self._groups = {group: _members(members) for group, members in by_group(names).items()}

    def __bool__(self) -> bool:
        """Return True if it has any name."""
        return bool(self._groups)

    def __iter__(self) -> Iterator[Met]:
        """Yield all names, with the segments of their shapes."""
        for members in self._groups.values():
            yield from members.every

    def overlapping(self, segments: list[str]) -> Iterator[Met]:
        """Yield each name that fits some of the requests that fit ``segments``, and the shape of these."""
        if members := self._groups.get((segments[0].partition(" ")[0], len(segments) - 1)):
            for name, theirs in members.near(segments):
                if met := _both(theirs, segments):
                    yield name, met


def _members(names: list[str]) -> _Members:
    every = [(name, shape(name).split("/")) for name in names]
    places = range(len(every[0][1]))
    place = max(places, key=lambda at: len({segments[at] for _, segments in every}))
    by_segment: dict[str, list[Met]] = {}
    for name, segments in every:
        by_segment.setdefault(segments[place], []).append((name, segments))
    return _Members(place, every, by_segment)


def _both(first: list[str], other: list[str]) -> list[str] | None:
    """Return the shape of the requests that fit both shapes; None when there are none."""
    met = []
    for mine, theirs in zip(first, other, strict=True):
        if mine != theirs and (PARAMETER not in (mine, theirs) or "" in (mine, theirs)):
            return None  # the empty segment of a slash at the end is no value
        met.append(theirs if mine == PARAMETER else mine)
    return met
