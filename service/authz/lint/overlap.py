"""Which registered paths would lose requests to another one, because it is more specific."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from service.authz.engine.paths import shape

_PARAMETER: Final = "{}"

Segments = list[str]


def losing(path: str, registered: Iterable[str]) -> list[str]:
    """Return those of ``registered`` that decide requests now which ``path`` would decide beside them.

    All are paths of one method; ``path`` itself is not among them. As in ``ResourceIndex``, literal goes
    before parameter, from left to right. A path behind one that fits all requests of ``path``, and is more
    specific, loses none.
    """
    mine = _segments(path)
    rivals = sorted(
        (_marks(theirs), other)
        for other in registered
        if _meet(theirs := _segments(other), mine) and _marks(theirs) > _marks(mine)
    )
    found = []
    for _, other in rivals:
        found.append(other)
        if _covers(_segments(other), mine):
            break
    return found


def _segments(path: str) -> Segments:
    return shape(path).split("/")


def _marks(segments: Segments) -> list[bool]:
    return [segment == _PARAMETER for segment in segments]


def _meet(one: Segments, other: Segments) -> bool:
    """Tell whether a request fits both."""
    return len(one) == len(other) and all(
        a == b or _PARAMETER in (a, b) for a, b in zip(one, other, strict=True)
    )


def _covers(general: Segments, special: Segments) -> bool:
    """Tell whether ``general`` fits every request that ``special`` fits; both have as many segments."""
    return all(a in (b, _PARAMETER) for a, b in zip(general, special, strict=True))
