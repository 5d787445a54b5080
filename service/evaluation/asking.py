"""About what an account may ask: the layer ``account`` decides."""

from __future__ import annotations

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT
from service.evaluation.answers import Answer
from service.evaluation.entities import Resource
from service.evaluation.questions import Question, UseOf, question_of
from service.kernel.account_acts import Where, where
from service.kernel.identity import Caller


def question_by(policy: Policy, asking: Caller, action: str, resource: Resource) -> Question | Answer:
    """Return what the account ``asking`` asks; the answer no for what it can't or may not ask."""
    question = question_of(action, resource, asking.service)
    if isinstance(question, str):
        return Answer(False, question)
    decision = policy.decide(ACCOUNT, f"evaluate {_where(question, asking.service)}", asking)
    return question if decision.allowed else Answer(False, "other_service", decision)


def _where(question: Question, bound_to: str | None) -> Where:
    """Return what the service of a question is to the account: a code is of the one that it begins with."""
    if isinstance(question, UseOf):
        first, more, _ = question.code.partition(":")
        return where(bound_to, first if more else "")
    return where(bound_to, question.service)
