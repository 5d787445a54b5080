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
from service.errors import BadRequest, Conflict, ValidationFailed
from service.kernel.codes import MAX_CODE_LENGTH, HeldCodes, is_code
from service.records.database.transactions import Database
from service.web.requests.context import RequestContext
from service.web.requests.marks import example_body, logged, needs, publishes, refuses
from service.web.requests.schema import Moment, Published, Revision, Schema

Line = Annotated[str, Meta(examples=["p, endpoint, GET /api/role/list, system:role:list"])]


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
    """A question to the policy: a subject, and a request or a grant.

    The subject is a user by name, or a holder of `permissions`; with neither, a visitor. It asks for a
    request by `method` and `path`, or for a `grant`: the permission code to hand out or to act on.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] | None = None
    path: Annotated[str, Meta(max_length=2048, examples=["/api/role/list"])] | None = None
    grant: Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["system:role:list"])] | None = None
    user_name: Annotated[str, Meta(min_length=1, max_length=64, examples=["admin"])] | None = None
    permissions: Annotated[list[str], Meta(max_length=1000)] | None = None


class FiredCode(Schema):
    """A held code that matches the deciding line, and the predicate of the model that matches it."""

    code: Annotated[str, Meta(examples=["system:*"])]
    predicate: Annotated[str, Meta(examples=["holdsSubtree"])]


class Opening(Schema):
    """What would allow a denied request: any one of these codes, a role with one, or enabling a Button."""

    permissions: list[str]
    roles: list[str]
    disabled_buttons: list[str]


class Layer(Schema):
    """The answer of a layer, with all lines of its object and the one that decided."""

    layer: Annotated[str, Meta(examples=["endpoint"])]
    object: Annotated[str, Meta(examples=["GET /api/role/list"])]
    allowed: bool
    reason: Reason
    lines: list[Line]
    line: Line | None
    fired: list[FiredCode]
    required: Annotated[list[str], Meta(examples=[["system:role:list"]])]
    decision_id: Annotated[str, Meta(examples=["r12-9be1a6f0-5f0c39d1a2b4"])]
    would_open: Opening | None


class Explained(Schema):
    """The answer of the policy to a request or a grant.

    `resource` and `endpoint` are the layers of a request; `endpoint` is null if no route serves it (404 or
    405). `grant` is the layer of a grant. Layers that were not asked are null.
    """

    revision: Revision
    allowed: bool
    public: bool
    user_status: Annotated[str, Meta(examples=["enabled"])] | None
    permissions: Annotated[list[str], Meta(examples=[["system:*"]])] | None
    resource: Layer | None
    endpoint: Layer | None
    grant: Layer | None


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
        context.policy = policy = await self._changes.reload(f"reload by {context.user.user_name}")
        return Published(policy_revision=policy.revision)


class Explain:
    """``/api/policy/explain``."""

    def __init__(self, database: Database, live: LivePolicy) -> None:
        self._database = database
        self._live = live

    @needs("system:policy:read")
    @logged("policy", "explain", "QUERY", response=False)
    @example_body({"userName": "admin", "method": "GET", "path": "/api/role/list"})
    async def on_post(self, context: RequestContext, body: Question) -> Explained:
        """Explain how the policy in force decides a request, or if a code may be granted.

        A user's current permissions are used; tokens issued earlier may have others.
        """
        explained = _asked(body)
        context.policy = policy = self._live.current
        async with self._database.snapshot() as connection:
            asking = await subjects.subject_of(connection, body.user_name, body.permissions)
            found = explained(policy, asking.held)
            layers = {
                layer.layer: _layer(
                    layer, None if layer.allowed else await would_open(connection, policy, layer)
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
        )


def _asked(body: Question) -> Callable[[Policy, HeldCodes | None], Explanation | GrantExplanation]:
    """Return a function that explains the question; raises ValidationFailed unless it is complete."""
    method, path, code = body.method, body.path, body.grant
    if code is not None:
        if method is not None or path is not None:
            raise ValidationFailed(("grant", "Name a request or a grant, not both"))
        if not is_code(code):
            raise ValidationFailed(("grant", "This is no permission code"))
        return lambda policy, held: explain_grant(policy, code, held)
    if method is None or path is None:
        missing = [name for name, value in (("method", method), ("path", path)) if value is None]
        raise ValidationFailed(*((name, "The field is required") for name in missing))
    try:
        place = canonical(path)
    except BadRequest as refusal:
        raise ValidationFailed(("path", refusal.detail)) from None
    return lambda policy, held: explain(policy, method, place, held)


def _layer(layer: LayerExplained, opens: WouldOpen | None) -> Layer:
    return Layer(
        layer=layer.layer,
        object=layer.object,
        allowed=layer.allowed,
        reason=layer.reason,
        lines=list(layer.lines),
        line=layer.line,
        fired=[FiredCode.of(fired) for fired in layer.fired],
        required=list(layer.required),
        decision_id=layer.decision_id,
        would_open=None if opens is None else Opening.of(opens),
    )
