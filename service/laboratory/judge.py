"""Answers questions by any matcher, also by one that no enforcer would be built from.

It does what Casbin does with an allow-override effect: the first line for which the matcher is true allows.
Python itself evaluates the matcher, several times faster than Casbin's evaluator does. That is safe, since a
matcher has passed the lint of models and a mutant is made of its parts. A test compares the answers with both
enforcers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from service.authz.engine.predicates import ANONYMOUS
from service.authz.engine.rules import NOBODY, Rule
from service.laboratory.altered_predicates import FUNCTIONS
from service.laboratory.tables import Question

_GLOBALS: Final[dict[str, object]] = {"__builtins__": {}, **FUNCTIONS}


class Answer(NamedTuple):
    """What callers see of an answer: the line that allowed, or the codes any one of which would do."""

    line: Rule | None
    required: tuple[str, ...]


class Judge:
    """Answers by one matcher, given as a Python expression of the names that Casbin makes."""

    def __init__(self, expression: str) -> None:
        self._matcher = compile(expression, "matcher", "eval")

    def answer(self, question: Question, lines: Iterable[Rule], *, keyed: bool = True) -> Answer:
        """Answer ``question`` by ``lines``, which are those of its object if ``keyed``."""
        caller = ANONYMOUS if question.held is None else question.held
        names: dict[str, object] = {
            "r_layer": question.layer,
            "r_object": question.object,
            "r_caller": caller,
        }
        required = []
        for rule in lines:
            names["p_layer"], names["p_object"], names["p_code"] = rule
            if eval(self._matcher, _GLOBALS, names):  # noqa: S307 - see above
                return Answer(rule, ())
            if rule.code != NOBODY and (keyed or rule[:2] == (question.layer, question.object)):
                required.append(rule.code)
        return Answer(None, tuple(required))
