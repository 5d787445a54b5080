"""Runs decision tables with two enforcers, and reports the expected and actual answer of failing cases."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import casbin
import msgspec
from casbin.model import Model
from casbin.persist.adapters import StringAdapter

from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.predicates import ANONYMOUS, PREDICATES
from service.authz.engine.rules import OPENING_NOTHING, Rule, as_csv
from service.kernel.codes import BoundedCodes, HeldCodes
from service.laboratory.analysis.explain import reason_of
from service.laboratory.tables import Asked, Case, Question, Table

Decide = Callable[[Question], tuple[bool, Rule | None]]
"""Answers a question: whether it is allowed, and by which line."""


def indexed(model_text: str, rules: Lines) -> Decide:
    """Return a function that queries the service's enforcer, as requests do."""
    policy = Policy(model_text, rules)

    def decide(question: Question) -> tuple[bool, Rule | None]:
        decision = policy.judge(question.layer, question.object, question.held)
        return decision.allowed, decision.line

    return decide


def plain(model_text: str, rules: Lines) -> Decide:
    """Return a function that queries a plain ``casbin.Enforcer`` with only the six functions added.

    It gets the lines with the layer or the object of a question. That is enough to detect a matcher that
    ignores one of them, in a third of the time for all lines.
    """
    model = Model()
    model.load_model_from_text(model_text)
    enforcer = casbin.Enforcer(model, StringAdapter(as_csv(rules)))
    lines, ask = enforcer.get_policy(), casbin_decider(enforcer)

    def decide(question: Question) -> tuple[bool, Rule | None]:
        enforcer.model["p"]["p"].policy = [
            line for line in lines if line[0] == question.layer or line[1] == question.object
        ]
        return ask(question)

    return decide


def casbin_decider(enforcer: Any) -> Decide:
    """Return a function that queries ``enforcer``, a ``casbin.Enforcer``, after adding the six functions."""
    for name, function in PREDICATES.items():
        enforcer.add_function(name, function)
    # Casbin would print every denial, with all held codes.
    enforcer.logger = logging.Logger("casbin.silent")  # noqa: LOG001 - outside the tree, so nothing prints it
    enforcer.logger.disabled = True

    def decide(question: Question) -> tuple[bool, Rule | None]:
        if isinstance(question.held, BoundedCodes):
            allowed, line = decide(replace(question, held=question.held.account))
            for codes in question.held.callers[1:]:
                allowed = allowed and decide(replace(question, held=codes))[0]
            return (True, line) if allowed else (False, None)
        caller = ANONYMOUS if question.held is None else question.held
        allowed, line = enforcer.enforce_ex(question.layer, question.object, caller)
        return allowed, Rule(*line) if line else None

    return decide


ENFORCERS: Final[Mapping[str, Callable[[str, Lines], Decide]]] = {"indexed": indexed, "plain": plain}
"""The enforcers by name."""


class Failure(msgspec.Struct, frozen=True, rename="camel"):
    """A failed case: ``place`` is file and line, ``number`` counts the cases of a file from 1.

    ``enforcer`` is ``indexed``, the service's own, or ``plain``, a Casbin with the same model and lines.
    ``reasons`` has a sentence for each difference.
    """

    place: str
    number: int
    asked: str
    enforcer: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place}: case {self.number}, {self.asked}, {self.enforcer}: {'; '.join(self.reasons)}"


def run_tables(
    model_text: str, tables: Iterable[Table], enforcers: Collection[str] = tuple(ENFORCERS)
) -> list[Failure]:
    return [
        failure
        for table in tables
        for name, build in ENFORCERS.items()
        if name in enforcers
        for failure in _failures(name, build(model_text, table.rules), table)
    ]


def run_case(model_text: str, table: Table, asked: Asked) -> list[Failure]:
    return run_tables(model_text, [Table(table.path, table.rules, (asked,))])


def _failures(enforcer: str, decide: Decide, table: Table) -> Iterator[Failure]:
    for asked in table.asked:
        if reasons := tuple(_reasons(decide, table.rules, asked)):
            yield Failure(asked.place, asked.number, str(asked), enforcer, reasons)


def _reasons(decide: Decide, rules: Lines, asked: Asked) -> Iterator[str]:
    decided, denied = _outcome(decide, rules, asked)
    case = asked.case
    for field in ("outcome", "layer", "line", "through", "required"):
        if (expected := getattr(case, field)) != (actual := getattr(decided, field)):
            yield f"{field} is {_shown(actual)}, not {_shown(expected)}"
    if case.reason is not None and decided.reason != case.reason:
        yield f"reason is {_shown(decided.reason)}, not {_shown(case.reason)}"
    for code in decided.required or ():
        if denied and not code.startswith("@"):
            alone = Question(denied.layer, denied.object, HeldCodes([code]))
            if not decide(alone)[0]:
                yield f"the code {code} alone does not open it, and is said to be enough"


def _outcome(decide: Decide, rules: Lines, asked: Asked) -> tuple[Case, Question | None]:
    """Return ``asked`` with the actual answer, and the denied question."""
    lines: list[str | None] = []
    for question in asked.questions:
        allowed, line = decide(question)
        lines.append(None if line is None else str(line))
        if not allowed:
            break
    through = lines[0] if len(lines) > 1 else None
    case = Case(asked.case.caller, asked.case.asks, "allow", question.layer, lines[-1], through)  # type: ignore[arg-type]
    if allowed:
        return case, None
    required = required_of(rules, question)
    case.outcome = "deny"
    case.required = required
    case.reason = reason_of(
        rules.codes(question.layer, question.object), required, allowed=False, held=question.held
    )
    return case, question


def required_of(rules: Lines, question: Question) -> list[str]:
    """Return the codes that would each suffice: those of the object's lines, in order."""
    return [code for code in rules.codes(question.layer, question.object) if code not in OPENING_NOTHING]


def _shown(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return "none" if value is None else str(value)
