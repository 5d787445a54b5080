"""The policy in force: read, explain, reload: ``/api/policy``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Literal

from msgspec import Meta

from service.authz.engine.paths import canonical
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ENDPOINT, GRANT, RESOURCE
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.watch import PolicyWatch
from service.authz.review import subjects
from service.authz.review.explain import (
    Explanation,
    GrantExplanation,
    LayerExplained,
    Reason,
    explain,
    explain_grant,
)
from service.authz.review.openings import WouldOpen, would_open
from service.authz.review.origins import Origins, origins_of
from service.authz.review.past import PastPolicies
from service.endpoints.policy.layers import Code, FiredCode, Line, RoleCode, Rows
from service.endpoints.policy.revisions import require_kept
from service.errors import BadRequest, Conflict, ValidationFailed
from service.kernel.codes import MAX_CODE_LENGTH, HeldCodes, is_code
from service.records.database.transactions import Database
from service.records.policy import history
from service.records.policy.history import Place
from service.web.requests.context import RequestContext
from service.web.requests.marks import example_body, logged, needs, publishes, refuses
from service.web.requests.schema import Id, Moment, Published, Revision, Schema, whole

DecisionId = Annotated[
    str,
    Meta(pattern=whole("r[1-9][0-9]{0,17}-[0-9a-f]{8}-[0-9a-f]{12}"), examples=["r12-9be1a6f0-5f0c39d1a2b4"]),
]


class Worker(Schema):
    """A worker, its policy revision, and the fault if that can't be the newest.

    `ownDigest` is that of its node's own part of the policy; `null` for an older version.
    """

    worker: Annotated[str, Meta(examples=["node-1:4711:9f03ab"])]
    revision: Annotated[int, Meta(ge=0, examples=[12])]
    fault: str | None
    seen_time: Moment
    own_digest: str | None


class PolicyInForce(Schema):
    """The policy that decided this request, and the policies of the workers of all nodes.

    `digest` is that of the shared part, `ownDigest` that of the own part of this node: model and files.
    """

    revision: Revision
    digest: Annotated[str, Meta(examples=["5f0c39d1a2b4" * 5 + "5f0c"], description="SHA-256.")]
    own_digest: Annotated[str, Meta(examples=["9be1a6f0d3c2" * 5 + "9be1"], description="SHA-256.")]
    model: Annotated[str, Meta(description="The text of model.conf.")]
    rules: list[Line]
    workers: list[Worker]


class Question(Schema):
    """A question to the policy: a subject, and a request or a grant; of a past revision, if one is named.

    The subject is a user by name, or a holder of `permissions`; with neither, a visitor. It asks for a
    request by `method` and `path`, or for a `grant`: the permission code to hand out or to act on. A past
    `decisionId` names its revision, and the answer says whether it decided the same question.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] | None = None
    path: Annotated[str, Meta(max_length=2048, examples=["/api/role/list"])] | None = None
    grant: Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["system:role:list"])] | None = None
    user_name: Annotated[str, Meta(min_length=1, max_length=64, examples=["admin"])] | None = None
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

    They are those of the user; for a question about `permissions`, all that give the code.
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
    """The answer of the policy to a request or a grant.

    `resource` and `endpoint` are the layers of a request; `endpoint` is null if no route serves it (404 or
    405). `grant` is the layer of a grant. Layers that were not asked are null. `decisionMatches`
    says whether one of the layers has the `decisionId` that was sent; null if none was.
    """

    revision: Revision
    allowed: bool
    public: bool
    user_status: Annotated[str, Meta(examples=["enabled"])] | None
    permissions: Annotated[list[str], Meta(examples=[["system:*"]])] | None
    resource: Layer | None
    endpoint: Layer | None
    grant: Layer | None
    decision_matches: bool | None


class InForce:
    """``/api/policy``."""

    def __init__(self, live: LivePolicy, watch: PolicyWatch) -> None:
        self._live = live
        self._watch = watch

    @needs("system:policy:read")
    async def on_get(self, context: RequestContext) -> PolicyInForce:
        """Read the policy in force: revision, digest, model, lines, and the revision of each worker."""
        context.policy = policy = self._live.current
        # A hundred thousand lines take a while to write.
        rules = await asyncio.to_thread(lambda: [str(rule) for rule in policy.rules])
        workers = [Worker.of(worker) for worker in await self._watch.workers()]
        return PolicyInForce(
            revision=policy.revision,
            digest=policy.digest,
            own_digest=policy.own_digest,
            model=policy.model_text,
            rules=rules,
            workers=workers,
        )


class Reload:
    """``/api/policy/reload``."""

    def __init__(self, changes: PolicyChanges) -> None:
        self._changes = changes

    @needs("system:policy:reload")
    @logged("policy", "reload", "UPDATE")
    @publishes
    @refuses(Conflict)
    async def on_post(self, context: RequestContext) -> Published:
        """Derive the policy again from the stored data, and publish it if it differs.

        Use it after rows were changed, or lines tampered with, outside this service. If the policy can't be
        built, or the model or the policy files have changed since the start, the last valid one stays in
        force.
        """
        user_name = context.user.user_name
        context.policy = policy = await self._changes.reload(f"reload by {user_name}", user_name=user_name)
        return Published(policy_revision=policy.revision)


class Explain:
    """``/api/policy/explain``."""

    def __init__(self, database: Database, live: LivePolicy, past: PastPolicies) -> None:
        self._database = database
        self._live = live
        self._past = past

    @needs("system:policy:read")
    @logged("policy", "explain", "QUERY", response=False)
    @example_body({"userName": "admin", "method": "GET", "path": "/api/role/list"})
    @refuses(Conflict)
    async def on_post(self, context: RequestContext, body: Question) -> Explained:
        """Explain how the policy decides a request, or if a code may be granted.

        The policy in force, or a past revision with the model and endpoint lines of this node. A user's
        current permissions and the current roles are used; tokens issued earlier may have others.
        """
        place, explained = _asked(body)
        context.policy = self._live.current
        revision = self._revision(body)
        async with self._database.snapshot(within=history.READ_WITHIN) as connection:
            policy = context.policy
            if revision is not None and revision != policy.revision:
                await require_kept(
                    connection, "decisionId" if body.revision is None else "revision", revision
                )
                policy = await self._past.of(connection, revision, place)
            asking = await subjects.subject_of(connection, body.user_name, body.permissions)
            found = explained(policy, asking.held)
            origins = await origins_of(connection, asking, found.layers)
            layers = {
                layer.layer: _layer(
                    layer, origins, None if layer.allowed else await would_open(connection, policy, layer)
                )
                for layer in found.layers
            }
        return Explained(
            revision=policy.revision,
            allowed=found.allowed,
            public=found.public,
            user_status=asking.status,
            permissions=None if asking.held is None else sorted(asking.held.codes),
            resource=layers.get(RESOURCE),
            endpoint=layers.get(ENDPOINT),
            grant=layers.get(GRANT),
            decision_matches=None
            if body.decision_id is None
            else any(layer.decision_id == body.decision_id for layer in layers.values()),
        )

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


_Explained = Callable[[Policy, HeldCodes | None], Explanation | GrantExplanation]


def _asked(body: Question) -> tuple[Place, _Explained]:
    """Return the request or the grant of ``body``, and what explains it.

    ValidationFailed unless it names exactly one.
    """
    method, path, code = body.method, body.path, body.grant
    if code is not None:
        if method is not None or path is not None:
            raise ValidationFailed(("grant", "Name a request or a grant, not both"))
        if not is_code(code):
            raise ValidationFailed(("grant", "This is no permission code"))
        return code, lambda policy, held: explain_grant(policy, code, held)
    if method is None or path is None:
        missing = [name for name, value in (("method", method), ("path", path)) if value is None]
        raise ValidationFailed(*((name, "The field is required") for name in missing))
    try:
        place = canonical(path)
    except BadRequest as refusal:
        raise ValidationFailed(("path", refusal.detail)) from None
    return (method, place), lambda policy, held: explain(policy, method, place, held)


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
