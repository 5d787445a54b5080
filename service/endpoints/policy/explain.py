"""How the policy decides a request or a grant, and why: ``/api/policy/explain``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Final

from msgspec import Meta

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ENDPOINT, GRANT, PERMISSION, RESOURCE, LayerName, object_fault
from service.authz.publishing.live import LivePolicy
from service.authz.review import subjects
from service.authz.review.access import shape_of
from service.authz.review.explain import (
    Explanation,
    LayerExplained,
    ObjectExplanation,
    Reason,
    explain,
    explain_object,
)
from service.authz.review.openings import WouldOpen, would_open
from service.authz.review.origins import Origins, origins_of
from service.authz.review.past import PastPolicies
from service.authz.review.subjects import Subject
from service.authz.review.turns import ReviewTurns
from service.endpoints.policy.layers import Code, FiredCode, Line, RoleCode, Rows
from service.endpoints.policy.revisions import require_kept
from service.endpoints.policy.who_may import Method, place_of
from service.endpoints.services.shown import ServiceName
from service.errors import Conflict, ValidationFailed
from service.kernel.codes import MAX_CODE_LENGTH, HeldCodes, is_code
from service.kernel.services import PORTCULLIS
from service.records.database.transactions import Connection, Database
from service.records.policy import history
from service.records.policy.history import Place
from service.web.messages.context import RequestContext
from service.web.messages.marks import example_body, logged, named, needs, refuses
from service.web.messages.schema import Id, Revision, Schema, whole

DecisionId = Annotated[
    str,
    Meta(pattern=whole("r[1-9][0-9]{0,17}-[0-9a-f]{8}-[0-9a-f]{12}"), examples=["r12-9be1a6f0-5f0c39d1a2b4"]),
]


class Question(Schema):
    """A question to the policy: a subject, and what it asks for; of a past revision, if one is named.

    The subject is a user by name, a role, or a holder of `permissions`; with none of them, a visitor. It asks
    for a request by `method` and `path`, to another `service` if one is named; for a `grant`: the permission
    code to hand out or to act on; for a `permission`: the code that another service asks about; or for an
    `object` of any `layer`. A past `decisionId` names its revision, and the answer says whether it decided
    the same question.
    """

    method: Method | None = None
    path: Annotated[str, Meta(max_length=2048, examples=["/api/role/list"])] | None = None
    service: ServiceName = PORTCULLIS
    grant: Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["system:role:list"])] | None = None
    permission: Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["orders:order:read"])] | None = None
    layer: LayerName | None = None
    object: Annotated[str, Meta(max_length=2048, examples=["delete others"])] | None = None
    user_name: Annotated[str, Meta(min_length=1, max_length=64, examples=["admin"])] | None = None
    role_code: Annotated[str, Meta(min_length=1, max_length=64, examples=["auditor"])] | None = None
    permissions: Annotated[list[str], Meta(max_length=1000)] | None = None
    revision: Annotated[Revision, Meta(description="Ask this past revision.")] | None = None
    decision_id: DecisionId | None = None


class Origin(Schema):
    """A role, and its Button, from which a held code comes."""

    role_code: RoleCode
    button_id: Id
    button_title: Annotated[str, Meta(examples=["List and read roles"])]


class ExplainedCode(FiredCode):
    """A held code that matches the deciding line, with the roles and Buttons from which it comes.

    They are those of the user or the role; for a question about `permissions`, all that give the code.
    """

    origins: list[Origin]


class OpeningButton(Schema):
    """An enabled Button whose code would open the layer."""

    id: Id
    title: Annotated[str, Meta(examples=["List and read roles"])]
    auth_mark: Code


class Opening(Schema):
    """What would allow a denied request: any one of these codes, of these roles, or of these Buttons.

    `disabledButtons` are bound codes without effect, since their Buttons are disabled.
    """

    permissions: list[str]
    roles: list[str]
    buttons: list[OpeningButton]
    disabled_buttons: list[str]


class Layer(Schema):
    """The answer of a layer, with all lines of its object and the one that decided."""

    layer: Annotated[str, Meta(examples=["endpoint"])]
    object: Annotated[str, Meta(examples=["GET /api/role/list"])]
    allowed: bool
    reason: Reason
    lines: list[Line]
    line: Line | None
    rows: Rows
    fired: list[ExplainedCode]
    required: Annotated[list[str], Meta(examples=[["system:role:list"]])]
    decision_id: Annotated[str, Meta(examples=["r12-9be1a6f0-5f0c39d1a2b4"])]
    would_open: Opening | None


class Explained(Schema):
    """The answer of the policy to a request or a question about a code.

    `path` is the decoded path of the request, in which `{}` stands for any value of a template. `keptOut`
    says that the user is disabled or banned: then the service serves no request, whatever the policy says.
    `resource` and `endpoint` are the layers of a request; `endpoint` is null if no route serves it (404 or
    405). `grant` and `permission` are the layers of questions about a code, and `asked` is that of a question
    about an object of a layer. Layers that were not asked are null. `decisionMatches` says whether one of the
    layers has the `decisionId` that was sent; null if none was.
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
    grant: Layer | None
    permission: Layer | None
    asked: Layer | None
    decision_matches: bool | None


class Explain:
    """``/api/policy/explain``."""

    def __init__(self, database: Database, live: LivePolicy, turns: ReviewTurns, past: PastPolicies) -> None:
        self._database = database
        self._live = live
        self._turns = turns
        self._past = past

    @needs("system:policy:read")
    @logged("policy", "explain", "QUERY", response=False)
    @example_body({"userName": "admin", "method": "GET", "path": "/api/role/list"})
    @refuses(Conflict)
    @named("explainDecision")
    async def on_post(self, context: RequestContext, body: Question) -> Explained:
        """Explain how the policy decides a request, or a question about a permission code.

        The policy in force, or a past revision with the model and endpoint lines of this node. A user's
        current permissions and the current roles are used; tokens issued earlier may have others.
        """
        place, explained = asked(body)
        context.policy = policy = self._live.current
        revision = self._revision(body)
        past = None if revision == policy.revision else revision
        async with self._turns.turn(), self._database.snapshot(within=history.READ_WITHIN) as connection:
            if past is not None:
                name = "decisionId" if body.revision is None else "revision"
                await require_kept(connection, name, past)
                policy = await self._past.of(connection, past, place)
            asking = await subjects.subject_of(connection, body.user_name, body.permissions, body.role_code)
            answer = await explained_answer(connection, policy, asking, explained(policy, asking.held), place)
        if body.decision_id is not None:
            answer.decision_matches = any(
                layer.decision_id == body.decision_id for layer in layers_of(answer)
            )
        return answer

    def _revision(self, body: Question) -> int | None:
        """Return the revision that is asked, None for the one in force.

        Conflict for a decision of a node whose own part was another: its answer can't be found here.
        """
        if body.decision_id is None:
            return body.revision
        revision, own_digest, _ = body.decision_id.removeprefix("r").split("-")
        if body.revision not in (None, int(revision)):
            raise ValidationFailed(("revision", "The decision is of another revision"))
        if not self._past.own_digest.startswith(own_digest):
            raise Conflict("That decision was made by another own part of the policy than that of this node")
        return int(revision)


def layers_of(answer: Explained) -> Iterator[Layer]:
    """Yield the layers that were asked, in order."""
    found = (answer.resource, answer.endpoint, answer.grant, answer.permission, answer.asked)
    yield from filter(None, found)


Explains = Callable[[Policy, HeldCodes | None], Explanation | ObjectExplanation]

_ONE: Final = "Name a request, a grant, a permission, or a layer and an object, and only one"


def asked(body: Question) -> tuple[Place | None, Explains]:
    """Return the request or the code of ``body``, and what explains it; None for an object of any layer.

    ValidationFailed unless it names exactly one.
    """
    ways = {
        "method": (body.method, body.path),
        GRANT: (body.grant,),
        PERMISSION: (body.permission,),
        "object": (body.layer, body.object),
    }
    named = [way for way, values in ways.items() if any(value is not None for value in values)]
    if len(named) > 1:
        raise ValidationFailed((next(way for way in named if way != "method"), _ONE))
    match named:
        case ["grant" | "permission" as of_codes]:
            code = body.grant if of_codes == GRANT else body.permission
            if code is None or not is_code(code):
                raise ValidationFailed((of_codes, "This is no permission code"))
            return code, partial(_explained, of_codes, code)
        case ["object"]:
            layer, name = _both(layer=body.layer, object=body.object)
            if fault := object_fault(layer, name):
                raise ValidationFailed(("object", fault))
            return None, partial(_explained, layer, name)
    method, path = _both(method=body.method, path=body.path)
    place = place_of(path, body.service)
    return (body.service, method, place), lambda policy, held: explain(
        policy, method, place, held, body.service
    )


def _both(**members: str | None) -> list[str]:
    """Return the values of two members that go together; ValidationFailed if one is missing."""
    missing = [name for name, value in members.items() if value is None]
    if missing:
        raise ValidationFailed(*((name, "The field is required") for name in missing))
    return [value for value in members.values() if value is not None]


def _explained(layer: str, name: str, policy: Policy, held: HeldCodes | None) -> ObjectExplanation:
    return explain_object(policy, layer, name, held)


async def explained_answer(
    connection: Connection | None,
    policy: Policy,
    asking: Subject,
    found: Explanation | ObjectExplanation,
    place: Place | None,
) -> Explained:
    """Return ``found``, the answer of ``policy`` about ``place``, with what is stored about its codes.

    Without a connection no roles and Buttons are known.
    """
    origins = await origins_of(connection, asking, found.layers)
    layers = {
        layer.layer: _layer(
            layer, origins, None if layer.allowed else await would_open(connection, policy, layer)
        )
        for layer in found.layers
    }
    only = next(iter(layers.values())) if place is None else None
    if only is not None:
        layers = {}
    return Explained(
        revision=policy.revision,
        path=shape_of(place[2]) if isinstance(place, tuple) else None,
        allowed=found.allowed,
        public=found.public,
        kept_out=asking.kept_out,
        user_status=asking.status,
        permissions=None if asking.held is None else sorted(asking.held.codes),
        resource=layers.get(RESOURCE),
        endpoint=layers.get(ENDPOINT),
        grant=layers.get(GRANT),
        permission=layers.get(PERMISSION),
        asked=only,
        decision_matches=None,
    )


def _layer(layer: LayerExplained, origins: Origins, opens: WouldOpen | None) -> Layer:
    return Layer(
        layer=layer.layer,
        object=layer.object,
        allowed=layer.allowed,
        reason=layer.reason,
        lines=list(layer.lines),
        line=layer.line,
        rows=list(layer.rows),
        fired=[
            ExplainedCode(
                code=fired.code,
                predicate=fired.predicate,
                origins=[Origin.of(one) for one in origins.get(fired.code, ())],
            )
            for fired in layer.fired
        ],
        required=list(layer.required),
        decision_id=layer.decision_id,
        would_open=None if opens is None else Opening.of(opens),
    )
