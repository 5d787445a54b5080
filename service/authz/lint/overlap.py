"""Finds registered paths that would lose requests to a more specific one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from service.authz.engine.paths import shape

_PARAMETER: Final = "{}"

Segments = list[str]


def losing(path: str, registered: Iterable[str]) -> list[str]:
    """Return the paths of ``registered`` that would lose requests to ``path``.

    All are paths of one method, without ``path`` itself. As in ``ResourceIndex``, literal segments win over
    parameters, from left to right. A path loses nothing if a more specific one already takes all requests of
    ``path``.
    """
    mine = _segments(path)
    rivals = sorted(
        (_marks(theirs), other)
        for other in registered
        if _meet(theirs := _segments(other), mine) and _marks(theirs) > _marks(mine)
    )
    losers = []
    for _, other in rivals:
        losers.append(other)
        if _covers(_segments(other), mine):
            break
    return losers


def _segments(path: str) -> Segments:
    return shape(path).split("/")


def _marks(segments: Segments) -> list[bool]:
    return [segment == _PARAMETER for segment in segments]


def _meet(first: Segments, other: Segments) -> bool:
    """True if some request matches both."""
    return len(first) == len(other) and all(
        a == b or _PARAMETER in (a, b) for a, b in zip(first, other, strict=True)
    )


def _covers(general: Segments, special: Segments) -> bool:
    """True if ``general`` matches every request of ``special``; both have the same number of segments."""
    return all(a in (b, _PARAMETER) for a, b in zip(general, special, strict=True))
