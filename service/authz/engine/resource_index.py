"""Finds the most specific registered resource of a request, as the HTTP router would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from service.authz.engine.errors import PolicyError
from service.authz.engine.paths import shape
from service.kernel.cooperative_yield import cooperatively

_PARAMETER: Final = "{}"
_NO_LITERAL: Final = "\0"


class ResourceIndex:
    """An immutable index of objects (``"METHOD /path"``) by the requests that fit them.

    A ``{name}`` matches exactly one non-empty segment. If several objects match, the most specific wins:
    literal before parameter, compared from left to right. This is what a router finds that tries the literal
    branch first and backtracks; here it needs no tree, only a dictionary of shapes. For each method and
    number of segments the index has the combinations of parameter positions, of which real routes have a
    handful. They are tried from the most specific one; the first that gives a known shape is the answer.
    """

    __slots__ = ("_by_shape", "_combinations", "_counts")

    def __init__(self, objects: Iterable[str] = ()) -> None:
        """Index ``objects``; raises PolicyError if two of them match the same requests."""
        self._by_shape: dict[str, str] = {}
        self._counts: Counter[tuple[str, tuple[bool, ...]]] = Counter()
        self._change((), objects)

    def changed(self, removed: Iterable[str], added: Iterable[str]) -> ResourceIndex:
        """Return the index without the objects ``removed`` and with ``added``; PolicyError as above."""
        made = ResourceIndex()
        made._by_shape = self._by_shape.copy()
        made._counts = self._counts.copy()
        made._change(removed, added)
        return made

    def _change(self, removed: Iterable[str], added: Iterable[str]) -> None:
        for name in cooperatively(removed):
            key = shape(name)
            del self._by_shape[key]
            self._count(name, key, -1)
        for name in cooperatively(added):
            key = shape(name)
            if (other := self._by_shape.setdefault(name if key == name else key, name)) != name:
                raise PolicyError(f"{other} and {name} fit the same requests")
            self._count(name, key, 1)
        found: dict[tuple[str, int], list[tuple[bool, ...]]] = {}
        for method, marks in sorted(combination for combination, number in self._counts.items() if number):
            found.setdefault((method, len(marks)), []).append(marks)
        self._combinations = {
            group: tuple(tuple(at for at, marked in enumerate(marks) if marked) for marks in combinations)
            for group, combinations in found.items()
        }

    def _count(self, name: str, key: str, number: int) -> None:
        if key != name:
            marks = tuple(segment == _PARAMETER for segment in key.split("/"))
            self._counts[name.partition(" ")[0], marks] += number

    def find(self, method: str, path: str) -> str | None:
        """Return the most specific object for ``method`` and the canonical ``path``, or None."""
        # A segment sent as {} is an ordinary value, never the parameter of a shape.
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
