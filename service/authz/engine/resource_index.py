"""From a request to the most specific registered resource, as the HTTP router would find it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from service.authz.engine.errors import PolicyError
from service.authz.engine.paths import shape
from service.kernel.cooperative_yield import cooperatively

_PARAMETER: Final = "{}"
_NO_LITERAL: Final = "\0"


class ResourceIndex:
    """An immutable index of objects (``"METHOD /path"``) by the requests that fit them.

    A ``{name}`` fits exactly one segment that is not empty. Where several objects fit, the most specific
    wins: literal before parameter, compared from left to right. That is the leaf at which a router arrives
    that tries the literal branch first and backtracks; here it is found without a tree, in one dictionary of
    shapes. For each method and number of segments the index knows which segments are parameters in some
    shape: a handful of combinations in any real set of routes. Tried from the most specific on, the first
    one that turns the request into a known shape is the answer.
    """

    __slots__ = ("_by_shape", "_combinations")

    def __init__(self, objects: Iterable[str]) -> None:
        """Index ``objects``; PolicyFault when two of them fit the same requests."""
        self._by_shape: dict[str, str] = {}
        found: dict[tuple[str, int], set[tuple[bool, ...]]] = {}
        for name in cooperatively(objects):
            key = shape(name)
            if (other := self._by_shape.setdefault(name if key == name else key, name)) != name:
                raise PolicyError(f"{other} and {name} fit the same requests")
            if key != name:
                segments = key.split("/")
                marks = tuple(segment == _PARAMETER for segment in segments)
                found.setdefault((name.partition(" ")[0], len(segments)), set()).add(marks)
        self._combinations = {
            group: tuple(
                tuple(at for at, marked in enumerate(marks) if marked) for marks in sorted(combinations)
            )
            for group, combinations in found.items()
        }

    def find(self, method: str, path: str) -> str | None:
        """Return the object that fits ``method`` and the canonical ``path`` best, or None."""
        # A segment sent as {} is a value like any other, never the parameter of a shape.
        key = f"{method} {path}".replace(_PARAMETER, _NO_LITERAL)
        if (exact := self._by_shape.get(key)) is not None:
            return exact
        segments = key.split("/")
        for positions in self._combinations.get((method, len(segments)), ()):
            blanked = segments.copy()
            for position in positions:
                blanked[position] = _PARAMETER
            if (name := self._by_shape.get("/".join(blanked))) is not None:
                return name
        return None
