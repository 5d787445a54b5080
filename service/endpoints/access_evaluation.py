"""Decisions for other services, and where they ask: ``/access/v1/evaluation`` and ``evaluations``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from msgspec import UNSET

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT, LAYERS, PERMISSION, RESOURCE
from service.endpoints.access_wire import (
    AccountOfKey,
    DecisionContext,
    Decisions,
    Evaluation,
    EvaluationDecision,
    Evaluations,
    Semantic,
    StepUp,
    asked_in,
)
from service.errors import BadRequest, NotFound, Unavailable
from service.evaluation.answers import TOO_WEAK, Answer
from service.evaluation.evaluator import Evaluator
from service.evaluation.questions import Asked
from service.kernel.account_acts import BY_PERSON, where
from service.kernel.assurance import step_up
from service.kernel.identity import Caller
from service.kernel.services import PORTCULLIS
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import asks, example_body, named, needs, refuses
from service.web.messages.schema import ProtocolSchema

TELLS_CODES: Final = "system:policy:read"
"""The permission code by which a caller is told what would have opened a denied question."""

_ENDS_WITH: Final[dict[Semantic, bool | None]] = {
    "execute_all": None,
    "deny_on_first_deny": False,
    "permit_on_first_permit": True,
}
_EXAMPLE: Final = {
    "subject": {"type": "user", "id": "admin"},
    "action": {"name": "GET"},
    "resource": {"type": "route", "id": "/api/role/list"},
}

Note = Callable[[RequestContext, Asked, Caller | None, Answer], None]
"""Takes each answered question, for the decision log."""


class _Asking:
    """Answers questions about the subjects that they name."""

    def __init__(self, evaluator: Evaluator, note: Note | None = None) -> None:
        """``note`` is None if there is no decision log."""
        self._evaluator = evaluator
        self._note = note

    async def _decide(
        self, context: RequestContext, asked: list[Asked | None], ends_with: bool | None = None
    ) -> list[EvaluationDecision]:
        policy = context.policy
        if policy is None:
            raise Unavailable("No policy has been loaded yet")
        note = self._note
        answers = await self._evaluator.evaluate(
            policy,
            context.user,
            asked,
            ends_with=ends_with,
            note=None if note is None else lambda *arguments: note(context, *arguments),
            all_rights=context.all_rights,
        )
        shown_layers = _layers_shown(policy, context.user)
        return [_decision(answer, policy, shown_layers) for answer in answers]


def _layers_shown(policy: Policy, asking: Caller) -> Collection[str]:
    """Return the layers of which ``asking`` is told what a denied question needs.

    Those of routes are told to who may ask as a proxy: to proxies, a 403 names them.
    """
    if policy.judge(PERMISSION, TELLS_CODES, asking.held).allowed:
        return LAYERS
    by_person = asking.kind == "person"
    name = BY_PERSON if by_person else f"forward {where(asking.service, asking.service or PORTCULLIS)}"
    return (RESOURCE,) if policy.decide(ACCOUNT, name, asking).allowed else ()


def _decision(answer: Answer, policy: Policy, shown_layers: Collection[str]) -> EvaluationDecision:
    decision = answer.decision
    if decision is None:
        return EvaluationDecision(answer.allowed, DecisionContext(answer.reason, policy.revision))
    # What a person has to do is told to everybody who asks: the words of a demand are no codes.
    needs = step_up(decision.required, decision.codes) if answer.reason == TOO_WEAK else None
    shows_codes = not answer.allowed and (needs is not None or decision.layer in shown_layers)
    account = answer.subject
    context = DecisionContext(
        reason=answer.reason,
        revision=decision.revision,
        layer=decision.layer,
        decision_id=decision.id,
        required=list(decision.required) if shows_codes else UNSET,
        obligations=UNSET if needs is None else [StepUp(needs.acr_values, needs.max_age or UNSET)],
        subject=UNSET
        if account is None
        else AccountOfKey(account.login_id, account.user_name, list(account.roles)),
    )
    return EvaluationDecision(answer.allowed, context)


class AccessEvaluation(_Asking):
    """``/access/v1/evaluation``."""

    @asks
    @needs("system:policy:evaluate")
    @example_body(_EXAMPLE)
    @named("checkAccess")
    async def on_post(self, context: RequestContext, body: Evaluation) -> EvaluationDecision:
        """Decide whether a subject may perform an action on a resource.

        The Access Evaluation API of OpenID AuthZEN 1.0. The rights are those of this moment. A denial is a
        200 with `"decision": false`; other answers are about the request itself.
        """
        (answer,) = await self._decide(context, [body.asked])
        return answer


class AccessEvaluations(_Asking):
    """``/access/v1/evaluations``."""

    @asks
    @needs("system:policy:evaluate")
    @example_body({**_EXAMPLE, "evaluations": [{}, {"action": {"name": "DELETE"}}]})
    @named("checkAccesses")
    async def on_post(self, context: RequestContext, body: Evaluations) -> Decisions:
        """Decide several questions in one request.

        The Access Evaluations API of OpenID AuthZEN 1.0, with at most 1,000 questions.
        """
        if body.evaluations:
            ends_with = _ENDS_WITH[body.options.evaluations_semantic]
            return Decisions(evaluations=await self._decide(context, asked_in(body), ends_with))
        if body.subject is UNSET or body.action is UNSET or body.resource is UNSET:
            raise BadRequest("A question names its subject, its action and its resource")
        asked = Asked(body.subject.entity, body.action.name, body.resource.entity)
        (answer,) = await self._decide(context, [asked])
        return Decisions(decision=answer.decision, context=answer.context)


class DecisionPointMetadata(ProtocolSchema):
    """The metadata of the decision point."""

    policy_decision_point: str
    access_evaluation_endpoint: str
    access_evaluations_endpoint: str
    search_subject_endpoint: str
    search_resource_endpoint: str
    search_action_endpoint: str


class AccessConfiguration:
    """``/.well-known/authzen-configuration``."""

    def __init__(self, public_url: str) -> None:
        """``public_url`` is how clients reach the service; "" if that is not known."""
        self._base = public_url

    @refuses(NotFound)
    @named("getAuthzenConfiguration")
    async def on_get(self, _context: RequestContext) -> DecisionPointMetadata:
        """Read where the decision point of OpenID AuthZEN 1.0 answers.

        404 unless the setting `server.public_url` says how clients reach it: the `Host` of a request is
        chosen by the client.
        """
        base = self._base
        if not base:
            raise NotFound("The setting server.public_url does not say how clients reach this service")
        return DecisionPointMetadata(
            policy_decision_point=base,
            access_evaluation_endpoint=f"{base}/access/v1/evaluation",
            access_evaluations_endpoint=f"{base}/access/v1/evaluations",
            search_subject_endpoint=f"{base}/access/v1/search/subject",
            search_resource_endpoint=f"{base}/access/v1/search/resource",
            search_action_endpoint=f"{base}/access/v1/search/action",
        )
