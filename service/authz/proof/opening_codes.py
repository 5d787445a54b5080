"""By which of many held codes the lines of many codes open, without asking about each pair of them."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from service.authz.proof.conditions import Condition, Held, line_answers
from service.kernel.codes import HeldCodes

_STAR: Final = "*"
_END: Final = None

_Tree: TypeAlias = dict[str | None, Any]


class OpeningCodes:
    """Tells by which of many held codes the line of a code opens.

    Each predicate is true of a caller if it is true of one held code. So a line opens to somebody logged in
    exactly if it opens to everybody logged in, by one of the held codes alone, or by several together. The
    lint accepts no model that needs several: each predicate by itself has to be enough. ``LineAnswers`` is
    asked about the held codes that may hold a code: the code itself, and the wildcards that a tree of their
    segments leads to.
    """

    def __init__(self, model_text: str, held_codes: Iterable[str]) -> None:
        """Raises PolicyError for a model outside the closed grammar."""
        self._answers = line_answers(model_text)
        self._needs_several = any(way.bit_count() > 1 for way in self._answers.ways(""))
        self._held_codes = frozenset(held_codes)
        self._wildcards = _tree(code for code in self._held_codes if _STAR in code)
        self._holders: dict[str, HeldCodes] = {}
        self._alone: dict[str, tuple[str, ...]] = {}

    def to_all(self, code: str) -> bool:
        """Tell whether a line with ``code`` opens to everybody who is logged in."""
        return self._answers.opened(code, 0)

    def alone(self, code: str) -> tuple[str, ...]:
        """Return each held code by which a line with ``code`` opens; none for a word such as ``@login``."""
        opening = self._alone.get(code)
        if opening is None:
            near = () if code.startswith("@") else self._near(code)
            opening = tuple(held for held in near if self._answers.opens(code, self._holder(held)))
            self._alone[code] = opening
        return opening

    def together(self, code: str) -> list[Held]:
        """Return the smallest sets of several held codes by which a line with ``code`` opens."""
        if not self._needs_several:
            return []
        condition = Condition(self._answers, ((code,),))
        return [held for held in condition.smallest(self._near(code)) if len(held) > 1]

    def _near(self, code: str) -> set[str]:
        """Return the held codes that may hold ``code``."""
        return {*({code} & self._held_codes), *_meeting(self._wildcards, code)}

    def _holder(self, held: str) -> HeldCodes:
        if held not in self._holders:
            self._holders[held] = HeldCodes([held])
        return self._holders[held]


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
