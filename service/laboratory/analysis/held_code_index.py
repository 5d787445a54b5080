"""Index of held codes: find those that may hold a code, without testing each pair."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from service.kernel.codes import HeldCodes

_STAR: Final = "*"
_END: Final = None

_Tree: TypeAlias = dict[str | None, Any]


class HeldCodeIndex:
    """Finds, of many held codes, those that may hold a code: the code itself, and wildcards by a tree."""

    def __init__(self, held_codes: Iterable[str]) -> None:
        self._held_codes = frozenset(held_codes)
        self._wildcards = _tree(code for code in self._held_codes if _STAR in code)
        self._holders: dict[str, HeldCodes] = {}

    def near(self, code: str) -> set[str]:
        """Return the held codes that may hold ``code``; all others do not."""
        return {*({code} & self._held_codes), *_meeting(self._wildcards, code)}

    def alone(self, code: str, holds: Callable[[HeldCodes, str], bool]) -> Iterator[str]:
        """Yield each held code that holds ``code`` by itself, according to ``holds``."""
        for held in self.near(code):
            if held not in self._holders:
                self._holders[held] = HeldCodes([held])
            if holds(self._holders[held], code):
                yield held


class DecisiveCodes:
    """Select the codes of roles that can matter to lines; a caller with these alone gets the same answers.

    Each predicate of the model is true of a caller if it is true of one held code. Thousands of sets of roles
    have few sets of codes that matter to one question.
    """

    def __init__(self, given: Mapping[str, Collection[str]], asked: Iterable[str]) -> None:
        """``given`` are the codes of each role, ``asked`` the codes of the lines that decide."""
        index = HeldCodeIndex(code for codes in given.values() for code in codes)
        near = set[str]().union(*map(index.near, asked))
        self._of_role = {role: some for role, codes in given.items() if (some := near.intersection(codes))}

    def of(self, roles: Iterable[str]) -> frozenset[str]:
        """Return the codes of a user with ``roles`` that can matter."""
        of_role = self._of_role
        return frozenset[str]().union(*(of_role[role] for role in roles if role in of_role))


def _tree(wildcards: Iterable[str]) -> _Tree:
    """Return a tree of the segments of ``wildcards``, each with itself at its end."""
    tree: _Tree = {}
    for code in wildcards:
        node = tree
        for segment in code.split(":"):
            node = node.setdefault(segment, {})
        node[_END] = code
    return tree


def _meeting(tree: _Tree, code: str) -> Iterator[str]:
    """Yield the wildcards of ``tree`` each of whose segments is ``*`` or that of ``code``.

    They have as many segments as the code, or fewer with ``*`` as the last one.
    """
    nodes = [tree]
    for segment in code.split(":"):
        stars = [node[_STAR] for node in nodes if _STAR in node]
        yield from (star[_END] for star in stars if _END in star)
        literals = [node[segment] for node in nodes if segment in node] if segment != _STAR else []
        nodes = [*stars, *literals]
    yield from (node[_END] for node in nodes if _END in node)
