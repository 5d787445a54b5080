"""What the code of a line answers to a caller, for every code and every caller, as the enforcer says it."""

from __future__ import annotations

from functools import lru_cache
from itertools import compress, product
from typing import Final

from service.authz.engine.policy import Policy
from service.authz.engine.predicates import HOLDING
from service.authz.engine.rules import ANYONE, LOGIN, NOBODY, RESOURCE, Rule
from service.authz.lint.model import require_grammar
from service.kernel.codes import HeldCodes

KINDS: Final = tuple(1 << place for place in range(len(HOLDING)))
"""One bit for each predicate about held codes: the ways in which a caller can hold the code of a line."""

_BY_KIND: Final = tuple(zip(KINDS, HOLDING.values(), strict=True))
_CODE: Final = "a:b:c"
# For each predicate a held code of which it is true, and no other one is.
_FIRING: Final = {
    "holdsExactly": _CODE,
    "holdsEverything": "*",
    "holdsSubtree": "a:*",
    "holdsPattern": "*:b:c",
}
_ALONE: Final = tuple(_FIRING[name] for name in HOLDING)


def kinds_of(code: str, held: HeldCodes) -> int:
    """Return the ways in which a caller who holds ``held`` holds ``code``: the sum of some of ``KINDS``."""
    kinds = 0
    for kind, holds in _BY_KIND:
        if holds(held, code):
            kinds |= kind
    return kinds


class LineAnswers:
    """Whether a line opens, by its code and the caller.

    The closed grammar of the matcher lets the answer of a line depend on nothing but these: its word, where
    its code is one; whether the caller is logged in; and what each predicate says of the caller and the code.
    Those are few combinations. The enforcer is asked once for each, with a caller of whom exactly these
    predicates are true, and its answer is that of every other line and caller of the same combination.
    """

    def __init__(self, model_text: str) -> None:
        """Ask an enforcer of ``model_text``; PolicyError for a model outside the closed grammar."""
        require_grammar(model_text)
        objects = {code: f"GET /{place}" for place, code in enumerate((ANYONE, LOGIN, NOBODY, _CODE))}
        asked = Policy(model_text, [Rule(RESOURCE, name, code) for code, name in objects.items()])
        self._answers: dict[tuple[str, int | None], bool] = {}
        for code, name in objects.items():
            word = _word(code)
            self._answers[word, None] = asked.judge(RESOURCE, name, None).allowed
            for chosen in [()] if word else product((False, True), repeat=len(KINDS)):
                held = HeldCodes(compress(_ALONE, chosen))
                self._answers[word, kinds_of(code, held)] = asked.judge(RESOURCE, name, held).allowed

    def opens(self, code: str, held: HeldCodes | None) -> bool:
        """Tell whether a line with ``code`` opens to a holder of ``held``; None is not logged in."""
        return self._answers[_word(code), None if held is None else kinds_of(code, held)]

    def opened(self, code: str, kinds: int) -> bool:
        """Tell whether ``code`` opens to somebody logged in who holds it in the ways ``kinds``."""
        return self._answers[_word(code), kinds]

    def ways(self, code: str) -> tuple[int, ...]:
        """Return the smallest combinations of ``KINDS`` by which ``code`` opens to somebody logged in."""
        word = _word(code)
        opening = sorted(
            kinds
            for (of, kinds), opens in self._answers.items()
            if of == word and kinds is not None and opens
        )
        return tuple(
            way for way in opening if not any(less != way and less & way == less for less in opening)
        )


@lru_cache(maxsize=8)
def line_answers(model_text: str) -> LineAnswers:
    """Return the answers of a model; remembered, since few models are asked about."""
    return LineAnswers(model_text)


def _word(code: str) -> str:
    return code if code.startswith("@") else ""
