"""The policy in force, its reload, and its permission map: ``/api/policy``."""

import asyncio
from typing import Annotated

from msgspec import Meta

from service.authz.engine.policy import Policy
from service.authz.engine.rules import LayerName
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.watch import PolicyWatch
from service.endpoints.record_endpoints import Endpoint
from service.errors import Conflict
from service.kernel.core_sentences import sentence
from service.records.published.policy_workers import PolicyWorker
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, needs, writes
from service.web.messages.preconditions import answer_tag, content_tag
from service.web.messages.record_schemas import shows
from service.web.messages.schema import (
    SEVERAL,
    Line,
    PartQuery,
    Published,
    Revision,
    Schema,
    SentenceParams,
    stated_as,
)

Count = Annotated[int, Meta(ge=0, examples=[296])]


@shows(PolicyWorker, leave_out=("facts",))
class Worker(Schema):
    """A worker, its policy revision, and the fault that keeps it from the newest revision.

    `ownDigest` is that of its node's static policy; `null` for an older version.
    """

    fault_code: Annotated[str, Meta(examples=["published_digest_differs"])] | None
    fault_params: SentenceParams | None


class PolicyInForce(Schema):
    """The policy that decided this request, and the policies of the workers of all nodes.

    `digest` is that of the stored policy, `ownDigest` that of the static policy of this node: model and
    files. `lineCount` are all lines, `total` those that fit the filters, and `rules` those of the page.
    """

    revision: Revision
    digest: Annotated[str, Meta(examples=["5f0c39d1a2b4" * 5 + "5f0c"], description="SHA-256.")]
    own_digest: Annotated[str, Meta(examples=["9be1a6f0d3c2" * 5 + "9be1"], description="SHA-256.")]
    model: Annotated[str, Meta(description="The text of model.conf.")]
    line_count: Count
    total: Count
    rules: list[Line]
    workers: list[Worker]


class PolicyQuery(PartQuery):
    """Which lines are wanted: all of them, or a page of those that fit."""

    layer: Annotated[list[LayerName], SEVERAL] | None = None
    line: (
        Annotated[
            str, Meta(max_length=2048, description="A part of the line, in any case.", examples=["user:list"])
        ]
        | None
    ) = None

    def lines(self, policy: Policy) -> tuple[list[str], int]:
        """Return the lines of the page, and how many fit."""
        fitting = [rule for rule in policy.rules if self.layer is None or rule.layer in self.layer]
        if part := (self.line or "").lower():
            fitting = [rule for rule in fitting if part in str(rule).lower()]
        return [str(rule) for rule in self.part(fitting)], len(fitting)


class InForce(Responders, at="/api/policy"):
    def __init__(self, live: LivePolicy, watch: PolicyWatch) -> None:
        self._live = live
        self._watch = watch

    @needs("system:policy:read", name="getPolicy")
    async def on_get(self, context: RequestContext, query: PolicyQuery) -> PolicyInForce:
        """Read the policy in force: revision, digest, model, lines, and the revision of each worker."""
        context.policy = policy = self._live.current
        # A hundred thousand lines take a while to write.
        rules, total = await asyncio.to_thread(query.lines, policy)
        workers = [
            Worker.of(worker, **stated_as("fault", worker.stated_fault))
            for worker in await self._watch.workers()
        ]
        return PolicyInForce(
            revision=policy.revision,
            digest=policy.digest,
            own_digest=policy.own_digest,
            model=policy.model_text,
            line_count=len(policy.rules),
            total=total,
            rules=rules,
            workers=workers,
        )


class Reload(Endpoint[PolicyChanges], at="/api/policy/reload"):
    @needs("system:policy:reload", name="reloadPolicy", refuses=[Conflict])
    @writes("reload", "UPDATE", publishes=True)
    async def on_post(self, context: RequestContext) -> Published:
        """Derive the policy again from the stored data, and publish it if it differs.

        Use it after rows were changed, or lines tampered with, outside this service. If the policy can't be
        built, or the model or the policy files have changed since the start, the last valid one stays in
        force.
        """
        user_name = context.user.user_name
        cause = sentence("cause_by", act=sentence("cause_reload"), user=user_name)
        context.policy = policy = await self.part.reload(cause, user_name=user_name)
        return Published(policy_revision=policy.revision)


class BitPositions(Schema):
    """The bit position of each permission code in the claim `pb` of access tokens."""

    revision: Revision
    bits: Annotated[dict[str, Annotated[int, Meta(ge=0)]], Meta(examples=[{"system:role:list": 17}])]


class PermissionBits(Endpoint[LivePolicy], at="/api/policy/permission-map"):
    @needs("system:policy:read", name="getPermissionMap", tagged=True)
    async def on_get(self, context: RequestContext) -> BitPositions:
        """Read the map of permission codes to the bits of tokens, as of the policy in force.

        Bit `n` of `pb`, which is base64, is in byte `n >> 3`, the lowest bit first. The `ETag` changes only
        if the map changes. A released position gets another code after twelve hours at the earliest: read the
        map again before that.
        """
        context.policy = policy = self.part.current
        bits = policy.permission_map.positions
        answer_tag(context, content_tag(bits))
        return BitPositions(revision=policy.revision, bits=bits)
