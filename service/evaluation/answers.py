"""Answers to questions: whether the account may ask, the enforcer's decision, and the reason."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from service.authz.engine.policy import Decision, Policy, tell_span
from service.authz.engine.rules import ACCOUNT, ASSURANCE, PERMISSION
from service.authz.review.explain import Reason, reason_of
from service.evaluation.entities import Resource
from service.evaluation.questions import Question, RequestsTo, RequestTo, Unanswerable, UseOf, question_of
from service.evaluation.templates import Templates
from service.kernel.account_acts import Where, where
from service.kernel.assurance import Satisfied, step_up
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller, codes_asked, words_asked
from service.kernel.tracing import traced

TOO_WEAK: Final = "insufficient_user_authentication"

Why: TypeAlias = (
    Reason
    | Unanswerable
    | Literal[
        "other_service",
        "subject_not_active",
        "incomplete",
        "too_general",
        "insufficient_user_authentication",
    ]
)
"""The reason of an answer.

``other_service``: the account that asks may not ask about that service; the decision is about that account.
``subject_not_active``: the subject is not known, is disabled or banned, or its token is not valid or was
revoked. ``incomplete``: a question of a batch lacks a part, or has a part of a wrong type. ``too_general``:
the requests of a template meet more resources than are looked at (``templates.MOST_PATHS``).
``insufficient_user_authentication``: the codes allow, and the person has to authenticate more strongly or
again; as RFC 9470 §3 names it.
"""


class Answer(Struct, frozen=True):
    """The answer to one question; ``decision`` is the deciding one, None if the enforcer was not asked.

    ``subject`` is the account of an API key that may pass: nobody can read from the key whose it is.
    """

    allowed: bool
    reason: Why
    decision: Decision | None = None
    subject: Caller | None = None


class Answers:
    """Asks the enforcer."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """``now`` returns the time by which the age of an authentication is told, in seconds."""
        self._now = now
        self._templates = Templates()

    def about(self, policy: Policy, question: Question, caller: Caller | None) -> Answer:
        """Return the answer of ``policy`` about ``caller``; None is nobody who is logged in."""
        return self.of(policy, question, codes_asked(caller), words_asked(caller, self._now()))

    def of(
        self, policy: Policy, question: Question, held: HeldCodes | None, satisfied: Satisfied | None
    ) -> Answer:
        """Return the answer about somebody who holds ``held`` and satisfies ``satisfied``; None is nobody.

        All requests of a template are allowed only if each of them is. A permission code has no demand.
        """
        with traced("decide question") as span:
            answer = self._of(policy, question, held, satisfied)
            if span is not None:
                span.set("portcullis.decision.reason", answer.reason)
                if answer.decision is not None:
                    tell_span(span, answer.decision)
            return answer

    def _of(
        self, policy: Policy, question: Question, held: HeldCodes | None, satisfied: Satisfied | None
    ) -> Answer:
        match question:
            case UseOf(code):
                return as_answer(policy, policy.judge(PERMISSION, code, held), held)
            case RequestTo(service, method, path):
                decision = policy.judge_request(service, method, path, held, satisfied)
                return as_answer(policy, decision, held)
            case RequestsTo():
                return self._of_all(policy, question, held, satisfied)

    def _of_all(
        self, policy: Policy, question: RequestsTo, held: HeldCodes | None, satisfied: Satisfied | None
    ) -> Answer:
        """Return the first denial among the requests of a template, or that all are allowed."""
        paths = self._templates.paths(policy, question)
        if paths is None:
            return Answer(False, "too_general")
        service, method = question.service, question.method
        decisions = (policy.judge_request(service, method, path, held, satisfied) for path in paths)
        first = next(decisions)
        denied = (decision for decision in decisions if not decision.allowed)
        return as_answer(policy, next(denied, first) if first.allowed else first, held)


def as_answer(policy: Policy, decision: Decision, held: HeldCodes | None) -> Answer:
    """Return a decision of ``policy`` about somebody who holds ``held`` as an answer, with its reason."""
    if decision.allowed:
        return Answer(True, "opened", decision)
    if decision.layer == ASSURANCE and step_up(decision.required, decision.codes) is not None:
        return Answer(False, TOO_WEAK, decision)
    codes = policy.rules.codes(decision.layer, decision.object)
    return Answer(False, reason_of(codes, decision.required, allowed=False, held=held), decision)


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
