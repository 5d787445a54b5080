"""Names of routes and resources, found by those that fit some of the same requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from service.authz.engine.paths import shape

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
    """The names of one group. All of them, and by what they have in the place where most of them differ."""

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

    def __iter__(self) -> Iterator[Met]:
        """Yield all names, with the segments of their shapes."""
        for members in self._groups.values():
            yield from members.every

    def overlapping(self, segments: list[str]) -> Iterator[Met]:
        """Yield each name that fits some of the requests that fit ``segments``, and the shape of these."""
        if members := self._groups.get(group_of("/".join(segments))):
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
