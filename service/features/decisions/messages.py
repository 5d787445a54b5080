"""Questions and answers of AuthZEN Authorization API 1.0 on the wire."""

from collections.abc import Callable, Collection
from functools import cached_property
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from service.authz.engine.policy import Policy
from service.features.decisions.evaluator import Posed
from service.features.decisions.questions import TOKEN, Act, Asked, Resource, Subject, named_service
from service.kernel.assurance import Acr, step_up
from service.kernel.identity import roles_told
from service.laboratory.analysis.answers import TOO_WEAK, Answer
from service.web.messages.schema import ProtocolSchema

Properties = dict[str, Any]
Type = Annotated[str, Meta(examples=["user"])]

MOST_AT_ONCE = 1000
"""Maximum number of questions per request."""


class SubjectEntity(ProtocolSchema):
    """The acting subject (§5.1).

    `type` is `user` with a user name as `id`, `identity` with a login id (the `sub` of tokens), or `token`
    with an access token.
    """

    type: Type
    id: Annotated[str, Meta(examples=["alice"])]
    properties: Properties = field(default_factory=dict)

    @property
    def entity(self) -> Subject:
        return Subject(self.type, self.id)


class ActionEntity(ProtocolSchema):
    """The action (§5.3); for a route, the method."""

    name: Annotated[str, Meta(examples=["GET"])]
    properties: Properties = field(default_factory=dict)


class ResourceEntity(ProtocolSchema):
    """The object of the action (§5.2).

    `type` is `route` with a path or a template as `id`, of the service that `properties.service` names;
    `permission` with a permission code; or anything else: then the permission code is `type:id:action`.
    """

    type: Annotated[str, Meta(examples=["route"])]
    id: Annotated[str, Meta(examples=["/orders/7"])]
    properties: Properties = field(default_factory=dict)

    @property
    def entity(self) -> Resource:
        return Resource(self.type, self.id, named_service(self.properties))


class Evaluation(ProtocolSchema, dict=True):
    """A question: may the subject perform the action on the resource? `context` is ignored."""

    subject: SubjectEntity
    action: ActionEntity
    resource: ResourceEntity
    context: Properties = field(default_factory=dict)

    @property
    def may_be_kept(self) -> bool:
        """Return true if the subject is no token; services then repeat the same questions."""
        return self.subject.type != TOKEN

    @cached_property
    def asked(self) -> Asked:
        return Asked(self.subject.entity, self.action.name, self.resource.entity)

    @cached_property
    def posed(self) -> Posed:
        resource = self.resource
        act: Act = self.action.name, resource.type, resource.id, named_service(resource.properties)
        return self.subject.entity, act


Semantic = Literal["execute_all", "deny_on_first_deny", "permit_on_first_permit"]


class Options(ProtocolSchema):
    """The evaluation of several questions (§7.1.2.1): all, or up to the first denial or permission."""

    evaluations_semantic: Semantic = "execute_all"


class Evaluations(ProtocolSchema):
    """Several questions (§7.1).

    Each question takes missing entities, as a whole, from the top level. Without questions, the top level is
    the question. An incomplete question is denied in its place.
    """

    subject: SubjectEntity | UnsetType = UNSET
    action: ActionEntity | UnsetType = UNSET
    resource: ResourceEntity | UnsetType = UNSET
    context: Properties = field(default_factory=dict)
    evaluations: Annotated[list[msgspec.Raw], Meta(max_length=MOST_AT_ONCE)] = field(default_factory=list)
    options: Options = field(default_factory=Options)


class Question(Struct):
    """One of several questions; what is missing comes from the top level."""

    subject: SubjectEntity | UnsetType = UNSET
    action: ActionEntity | UnsetType = UNSET
    resource: ResourceEntity | UnsetType = UNSET


class AccountOfKey(ProtocolSchema):
    """The account of an API key: the login id, the user name, and the codes of the roles."""

    id: Annotated[str, Meta(examples=["7"])]
    name: Annotated[str, Meta(examples=["nightly-job"])]
    roles: list[str]


class StepUp(ProtocolSchema, omit_defaults=True):
    """The authentication to demand of the person before repeating the question: stronger or more recent.

    `acrValues` and `maxAge` (seconds) are for the challenge to the person's client (RFC 9470 §3).
    """

    acr_values: Annotated[tuple[Acr, ...], Meta(examples=[["mfa", "phr"]])] = field(name="acrValues")
    max_age: Annotated[int, Meta(ge=1, examples=[900])] | UnsetType = field(default=UNSET, name="maxAge")
    id: Literal["step_up"] = field(default="step_up")


class DecisionContext(ProtocolSchema, omit_defaults=True):
    """The reason of a decision.

    `required` are permission codes, any one of which would be enough. Callers with `system:policy:read` get
    them, and service accounts for routes, as proxies do. If the person must authenticate again or more
    strongly, every caller gets the sufficient words and an obligation. `subject` is the account of an allowed
    API key.
    """

    reason: Annotated[str, Meta(examples=["not_held"])]
    revision: Annotated[int, Meta(ge=0, examples=[12])]
    layer: Annotated[str, Meta(examples=["permission"])] | UnsetType = UNSET
    decision_id: Annotated[str, Meta(examples=["r12-9be1a6f0-5f0c39d1a2b4"])] | UnsetType = field(
        default=UNSET, name="decisionId"
    )
    required: list[str] | UnsetType = UNSET
    obligations: list[StepUp] | UnsetType = UNSET
    subject: AccountOfKey | UnsetType = UNSET


class EvaluationDecision(ProtocolSchema):
    """The answer to a question (§5.5)."""

    decision: bool
    context: DecisionContext


class Decisions(ProtocolSchema, omit_defaults=True):
    """The answers to several questions in order (§7.2), or to one."""

    decision: bool | UnsetType = UNSET
    context: DecisionContext | UnsetType = UNSET
    evaluations: list[EvaluationDecision] | UnsetType = UNSET


_question = msgspec.json.Decoder(Question).decode
_questions = msgspec.json.Decoder(list[Question]).decode
_FAULTS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def posed_in(body: Evaluations) -> list[Posed | None]:
    """Return the questions of ``body``; None for an incomplete or faulty one."""
    questions: list[Question] | list[Question | None]
    try:
        questions = _questions(b"[%b]" % b",".join(body.evaluations))
    except _FAULTS:  # at least one is faulty
        questions = [_read(raw) for raw in body.evaluations]
    subject = None if body.subject is UNSET else body.subject.entity
    posed: list[Posed | None] = []
    for own in questions:
        if own is None:
            posed.append(None)
            continue
        who = subject if own.subject is UNSET else own.subject.entity
        action = body.action if own.action is UNSET else own.action
        resource = body.resource if own.resource is UNSET else own.resource
        if who is None or action is UNSET or resource is UNSET:
            posed.append(None)
            continue
        properties = resource.properties
        service = named_service(properties) if properties else None
        posed.append((who, (action.name, resource.type, resource.id, service)))
    return posed


def _read(raw: msgspec.Raw) -> Question | None:
    try:
        return _question(raw)
    except _FAULTS:
        return None


def question_in(raw: msgspec.Raw, defaults: Question) -> Asked | None:
    """Return one of several questions, with missing parts from ``defaults``; None for a faulty question."""
    own = _read(raw)
    if own is None:
        return None
    subject = defaults.subject if own.subject is UNSET else own.subject
    action = defaults.action if own.action is UNSET else own.action
    resource = defaults.resource if own.resource is UNSET else own.resource
    if subject is UNSET or action is UNSET or resource is UNSET:
        return None
    return Asked(subject.entity, action.name, resource.entity)


ENDS_WITH: Final[dict[Semantic, bool | None]] = {
    "execute_all": None,
    "deny_on_first_deny": False,
    "permit_on_first_permit": True,
}
"""The outcome after which the list of answers stops."""


def decision_of(
    answer: Answer, policy: Policy, shown_layers: Callable[[], Collection[str]]
) -> EvaluationDecision:
    """Return the answer on the wire; ``shown_layers`` returns the layers whose codes are shown."""
    decision = answer.decision
    if decision is None:
        return EvaluationDecision(answer.allowed, DecisionContext(answer.reason, policy.revision))
    # Authentication demands are shown to every caller; they are no codes.
    needs = step_up(decision.required, decision.codes) if answer.reason == TOO_WEAK else None
    shows_codes = not answer.allowed and (needs is not None or decision.layer in shown_layers())
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
        else AccountOfKey(account.login_id, account.user_name, list(roles_told(account))),
    )
    return EvaluationDecision(answer.allowed, context)
