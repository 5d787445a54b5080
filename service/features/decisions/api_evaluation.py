"""Decisions for other services (AuthZEN §5 to §7): ``/access/v1/evaluation``."""

from collections.abc import Collection
from functools import partial
from typing import Final

from msgspec import UNSET

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT, LAYERS, PERMISSION, RESOURCE
from service.errors import BadRequest, Unavailable
from service.features.decisions.evaluator import Evaluator, Known, Posed
from service.features.decisions.messages import (
    ENDS_WITH,
    Decisions,
    Evaluation,
    EvaluationDecision,
    Evaluations,
    decision_of,
    posed_in,
)
from service.features.decisions.notes import Note
from service.features.decisions.sentences import sentence
from service.kernel.account_acts import BY_PERSON, where
from service.kernel.identity import Caller
from service.kernel.services import PORTCULLIS
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, asks, needs

TELLS_CODES: Final = "system:policy:read"
"""Code required to see the codes that would allow a denied question."""

_EXAMPLE: Final = {
    "subject": {"type": "user", "id": "admin"},
    "action": {"name": "GET"},
    "resource": {"type": "route", "id": "/api/role/list"},
}


class _Asking(Responders):
    """Base class of the evaluation endpoints."""

    def __init__(self, evaluator: Evaluator, note: Note | None = None) -> None:
        self._evaluator = evaluator
        self._note = note

    async def _decide_one(self, context: RequestContext, question: Evaluation) -> EvaluationDecision:
        policy, asking = _policy_of(context), context.user
        answered = await self._evaluator.evaluate_one(policy, asking, question.posed, context.all_rights)
        if self._note is not None:
            self._note(context, (answered,))
        known = answered.known[0]
        shown: EvaluationDecision = known.shown or _show(known, policy, asking)
        return shown

    async def _decide(
        self, context: RequestContext, posed: list[Posed | None], ends_with: bool | None
    ) -> list[EvaluationDecision]:
        policy, asking = _policy_of(context), context.user
        answered = await self._evaluator.evaluate(
            policy, asking, posed, ends_with=ends_with, all_rights=context.all_rights
        )
        if self._note is not None:
            self._note(context, answered)
        return [known.shown or _show(known, policy, asking) for about in answered for known in about.known]


def _show(known: Known, policy: Policy, asking: Caller) -> EvaluationDecision:
    """Return the answer in the form for ``asking``, and cache it."""
    shown = known.shown = decision_of(known.answer, policy, partial(_layers_shown, policy, asking))
    return shown


def _policy_of(context: RequestContext) -> Policy:
    if context.policy is None:
        raise Unavailable(sentence("no_policy"))
    return context.policy


def _layers_shown(policy: Policy, asking: Caller) -> Collection[str]:
    """Return the layers whose required codes are shown to ``asking`` in denials.

    Accounts that may ask as a proxy see codes of routes, which a 403 also names to proxies.
    """
    if policy.judge(PERMISSION, TELLS_CODES, asking.held).allowed:
        return LAYERS
    by_person = asking.kind == "person"
    name = BY_PERSON if by_person else f"forward {where(asking.service, asking.service or PORTCULLIS)}"
    return (RESOURCE,) if policy.decide(ACCOUNT, name, asking).allowed else ()


class AccessEvaluation(_Asking, at="/access/v1/evaluation"):
    @needs("system:policy:evaluate", name="checkAccess")
    @asks(example=_EXAMPLE)
    async def on_post(self, context: RequestContext, body: Evaluation) -> EvaluationDecision:
        """Decide on an action of a subject on a resource.

        The Access Evaluation API of OpenID AuthZEN 1.0. The decision uses the current rights. A denial is a
        200 with `"decision": false`; other statuses are about the request itself.
        """
        return await self._decide_one(context, body)


class AccessEvaluations(_Asking, at="/access/v1/evaluations"):
    @needs("system:policy:evaluate", name="checkAccesses")
    @asks(example={**_EXAMPLE, "evaluations": [{}, {"action": {"name": "DELETE"}}]})
    async def on_post(self, context: RequestContext, body: Evaluations) -> Decisions:
        """Decide several questions in one request.

        The Access Evaluations API of OpenID AuthZEN 1.0, with at most 1,000 questions.
        """
        if body.evaluations:
            ends_with = ENDS_WITH[body.options.evaluations_semantic]
            return Decisions(evaluations=await self._decide(context, posed_in(body), ends_with))
        if body.subject is UNSET or body.action is UNSET or body.resource is UNSET:
            raise BadRequest(sentence("question_incomplete"))
        answer = await self._decide_one(
            context, Evaluation(body.subject, body.action, body.resource, body.context)
        )
        return Decisions(decision=answer.decision, context=answer.context)
