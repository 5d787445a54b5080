"""Two enforcers for one policy: the service's own, and a plain Casbin with the same model and lines."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import casbin
from casbin.model import Model
from casbin.persist.adapters import StringAdapter

from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.predicates import ANONYMOUS, PREDICATES
from service.authz.engine.rules import Rule, as_csv
from service.laboratory.tables import Question

Decide = Callable[[Question], tuple[bool, Rule | None]]
"""Answers a question: is it allowed, and by which line."""


def indexed(model_text: str, rules: Lines) -> Decide:
    """Return what asks the service's enforcer, as requests do."""
    policy = Policy(model_text, rules)

    def decide(question: Question) -> tuple[bool, Rule | None]:
        decision = policy.judge(question.layer, question.object, question.held)
        return decision.allowed, decision.line

    return decide


def plain(model_text: str, rules: Lines) -> Decide:
    """Return what asks a ``casbin.Enforcer`` to which nothing but the six functions was added."""
    model = Model()
    model.load_model_from_text(model_text)
    return asked_plainly(casbin.Enforcer(model, StringAdapter(as_csv(rules))))


def asked_plainly(enforcer: Any) -> Decide:
    """Return what asks ``enforcer``, a ``casbin.Enforcer``, once the six functions are added to it."""
    for name, function in PREDICATES.items():
        enforcer.add_function(name, function)
    # Casbin would print every denial, with all held codes.
    enforcer.logger = logging.Logger("casbin.silent")  # noqa: LOG001 - outside the tree, so nothing prints it
    enforcer.logger.disabled = True

    def decide(question: Question) -> tuple[bool, Rule | None]:
        caller = ANONYMOUS if question.held is None else question.held
        allowed, line = enforcer.enforce_ex(question.layer, question.object, caller)
        return allowed, Rule(*line) if line else None

    return decide


ENFORCERS: Final[Mapping[str, Callable[[str, Lines], Decide]]] = {"indexed": indexed, "plain": plain}
"""The enforcers by name."""
