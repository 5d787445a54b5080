"""Answers that explain decisions: each layer with its lines, and the ways to allow a denial."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT, ANYONE, ENDPOINT, GRANT, PERMISSION, RESOURCE
from service.features.decision_log.decision_event import Event
from service.features.explain import refusals
from service.features.explain.openings import Origins, WouldOpen, origins_of, would_open
from service.features.explain.policy_layers import Code, FiredCode, RegisteredBy, Rows
from service.features.explain.refusals import PolicyAt
from service.kernel.codes import BoundedCodes, account_codes
from service.kernel.identity import use_of_key
from service.laboratory.analysis.explain import (
    Explanation,
    LayerExplained,
    ObjectExplanation,
    PartExplained,
    Reason,
    explain_object,
    registered_by,
)
from service.laboratory.analysis.request_paths import shape_of
from service.laboratory.analysis.sources import NOW, Instant, Subject
from service.records.database.transactions import Connection
from service.records.published.policy_history import Place
from service.records.role_holdings import CodeOrigin
from service.web.messages.record_schemas import Shown, shows
from service.web.messages.schema import Id, Line, Moment, Schema


@shows(CodeOrigin, leave_out=("code",))
class Origin(Shown):
    """The role and the Button that give a held code.

    For a user, it also has the assignment of the role: start, end, `reason`, `source`, author (`createdBy`),
    access request and approvers. Each assignment in force has an entry. These members are null for a question
    about a role or about `permissions`, for a missing end or reason, and for assignments of old versions.
    """


class ExplainedCode(FiredCode):
    """A held code that matches the deciding line, with its roles and Buttons.

    They are those of the user or the role; for a question about `permissions`, all with the code.
    """

    origins: list[Origin]


class OpeningButton(Schema):
    """An enabled Button with a code that would open the layer."""

    id: Id
    title: Annotated[str, Meta(examples=["List and read roles"])]
    auth_mark: Code


class Opening(Schema):
    """The rights that would allow a denied request: any one of these codes, roles or Buttons.

    `disabledButtons` are bound codes without effect, since their Buttons are disabled.
    """

    permissions: list[str]
    roles: list[str]
    buttons: list[OpeningButton]
    disabled_buttons: list[str]


@shows(PartExplained, leave_out=("fired", "rows"))
class Part(Shown):
    """The answer to one of several callers, all of which must be allowed.

    `by` is `account` for the codes of the account, and `key` for the scopes of an API key.
    """

    line: Line | None
    rows: Rows
    fired: list[FiredCode]


class Layer(Schema):
    """The answer of a layer, with all lines of its object and the one that decided.

    `until` is the expiry of the deciding line; null for none. Expired lines are omitted. `parts` are the
    answers to the account and to the scopes of its key; empty for a subject without a key.
    """

    layer: Annotated[str, Meta(examples=["endpoint"])]
    object: Annotated[str, Meta(examples=["GET /api/role/list"])]
    allowed: bool
    reason: Reason
    lines: list[Line]
    line: Line | None
    until: Moment | None
    rows: Rows
    fired: list[ExplainedCode]
    required: Annotated[list[str], Meta(examples=[["system:role:list"]])]
    decision_id: Annotated[str, Meta(examples=["r12-9be1a6f0-5f0c39d1a2b4"])]
    would_open: Opening | None
    parts: list[Part]


@shows(refusals.Refusal, leave_out=("decision_id", "subject", "request", "asked"), before="service")
class FoundRefusal(Shown):
    """The latest log entry of a refusal with the id of the decision.

    The decision log has the codes held at that time; for the operation log, the current codes of the user are
    explained. `method` and `path` are null if another service asked without a request.
    """

    service: Annotated[str, Meta(examples=["portcullis"])]
    method: Annotated[str, Meta(examples=["GET"])] | None
    path: Annotated[str, Meta(examples=["/api/role/list"])] | None


class Assurance(Schema):
    """The caller's authentication, compared with the demands of the resource and the endpoint.

    `satisfied` are the words that the caller satisfies. `endpoint` is null for a request to another service.
    """

    met: bool
    satisfied: Annotated[list[str], Meta(examples=[["@anyone", "@initial", "@login"]])]
    resource: Layer
    endpoint: Layer | None


class Explained(Schema):
    """The answer of the policy to a request or a question about a code.

    `path` is the decoded path of the request, in which `{}` is any value of a template. `keptOut` is true for
    a disabled or banned user: the service refuses such users whatever the policy allows, so `allowed` is true
    for public routes only. `resource` and `endpoint` are the layers of a request; `endpoint` is null if no
    route serves it (404 or 405), and `registeredBy` names the other services that have registered it.
    `assurance` compares the caller's authentication with the demands. `grant` and `permission` are the layers
    of questions about a code, `asked` is the layer of a question about an object. `key` is the layer
    that lets a user or a role with `scopes` use an API key: a role can bar it. Unused layers are null.
    `decisionMatches` is true if a layer has the sent `decisionId`, and null without one. `refusal` is the
    refusal found by a `decisionId` alone.
    """

    revision: Annotated[int, Meta(ge=0, examples=[12])]
    path: Annotated[str, Meta(examples=["/api/role/list"])] | None
    allowed: bool
    public: bool
    kept_out: bool
    user_status: Annotated[str, Meta(examples=["enabled"])] | None
    permissions: Annotated[list[str], Meta(examples=[["system:*"]])] | None
    resource: Layer | None
    endpoint: Layer | None
    registered_by: RegisteredBy
    assurance: Assurance | None
    grant: Layer | None
    permission: Layer | None
    asked: Layer | None
    key: Layer | None
    decision_matches: bool | None
    refusal: FoundRefusal | None


def layers_of(answer: Explained) -> Iterator[Layer]:
    """Yield the layers that decided, in order."""
    layers = (answer.resource, answer.endpoint, answer.grant, answer.permission, answer.asked, answer.key)
    yield from filter(None, layers)


async def refusal_answer(
    connection: Connection | None, decision_id: str, event: Event | None, known: Policy, policy_at: PolicyAt
) -> Explained:
    """Return the explanation of a refusal by its id; raises NotFound without an event or log entry.

    ``known`` and ``policy_at`` are those of ``refusals.explained``.
    """
    refusal = await refusals.refusal_of(connection, decision_id, event)
    review = await refusals.explained(refusal, known, policy_at)
    answer = await explained_answer(
        connection, review.policy, refusal.subject, review.explanation, review.place, decision_id=decision_id
    )
    answer.refusal = FoundRefusal.of(refusal)
    return answer


async def explained_answer(
    connection: Connection | None,
    policy: Policy,
    asking: Subject,
    explanation: Explanation | ObjectExplanation,
    place: Place | None,
    *,
    decision_id: str | None = None,
    instant: Instant = NOW,
) -> Explained:
    """Return ``explanation``, the answer of ``policy`` about ``place``, with the stored sources of its codes.

    The sources are as of ``instant``. With ``decision_id``, the answer has true or false for a decision about
    the same question. Without a connection, no roles and Buttons are known.
    """
    origins = await origins_of(connection, asking, explanation.layers, instant)
    layers = {
        layer.layer: _layer(
            layer, origins, None if layer.allowed else await would_open(connection, policy, layer, instant)
        )
        for layer in explanation.layers
    }
    only = next(iter(layers.values())) if place is None else None
    if only is not None:
        layers = {}
    use = _use_of_key(policy, asking)
    return Explained(
        revision=policy.revision,
        path=shape_of(place[2]) if isinstance(place, tuple) else None,
        allowed=explanation.allowed
        and (explanation.public or (not asking.kept_out and (use is None or use.allowed))),
        public=explanation.public,
        kept_out=asking.kept_out,
        user_status=asking.status,
        permissions=None if asking.held is None else sorted(account_codes(asking.held)),
        resource=layers.get(RESOURCE),
        endpoint=layers.get(ENDPOINT),
        registered_by=_registered_by(policy, explanation, place),
        assurance=_assurance(explanation),
        grant=layers.get(GRANT),
        permission=layers.get(PERMISSION),
        asked=only,
        key=None if use is None else _layer(use, {}, None),
        decision_matches=None
        if decision_id is None
        else explanation.has(decision_id) or (use is not None and use.decision_id == decision_id),
        refusal=None,
    )


def _use_of_key(policy: Policy, asking: Subject) -> LayerExplained | None:
    """Return the answer whether the subject may use the API key of the question; None without a key."""
    if asking.keys_barred is None or not isinstance(asking.held, BoundedCodes):
        return None
    return explain_object(policy, ACCOUNT, use_of_key(barred=asking.keys_barred), asking.held).layer


def _registered_by(
    policy: Policy, explanation: Explanation | ObjectExplanation, place: Place | None
) -> list[str]:
    if not isinstance(explanation, Explanation) or not isinstance(place, tuple):
        return []
    served = explanation.external or explanation.endpoint is not None
    return [] if served else list(registered_by(policy, *place[1:]))


def _assurance(explanation: Explanation | ObjectExplanation) -> Assurance | None:
    if isinstance(explanation, ObjectExplanation) or not explanation.demands:
        return None
    satisfied = (ANYONE,) if explanation.satisfied is None else explanation.satisfied.codes
    resource, endpoint = (*(_layer(demand, {}, None) for demand in explanation.demands), None)[:2]
    assert resource is not None  # noqa: S101 - the layer has a demand on it
    return Assurance(explanation.strong_enough, sorted(satisfied), resource, endpoint)


def _layer(layer: LayerExplained, origins: Origins, opens: WouldOpen | None) -> Layer:
    fired = [ExplainedCode.of(each, origins=origins.get(each.code, ())) for each in layer.fired]
    parts = [Part.of(part, fired=[FiredCode.of(each) for each in part.fired]) for part in layer.parts]
    return Layer.of(layer, fired=fired, would_open=opens, parts=parts)
