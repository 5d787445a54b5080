"""How the policy decides a request or a grant, and why: ``/api/policy/explain``."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from service.audit.decision_event import Event, denial_in
from service.authz.engine.policy import Policy, decided_by
from service.authz.engine.rules import ASSURANCE, GRANT, PERMISSION, LayerName, object_fault
from service.authz.publishing.live import LivePolicy
from service.authz.review import sources
from service.authz.review.access import request_path
from service.authz.review.concurrency import ConcurrencyLimit
from service.authz.review.explain import (
    Explanation,
    ObjectExplanation,
    explain,
    explain_decided,
    explain_object,
)
from service.authz.review.sources import PastPolicies, Subject
from service.endpoints.policy_explained import Explained, explained_answer, refusal_answer
from service.endpoints.policy_layers import At
from service.endpoints.policy_revisions import require_kept
from service.endpoints.policy_who_may import Method, place_of
from service.errors import Conflict, NotFound, PermissionDenied, RevisionUntrusted, ValidationFailed, too_weak
from service.kernel.assurance import BY_STRONGEST, Satisfied, Word
from service.kernel.codes import MAX_CODE_LENGTH, HeldCodes, is_code
from service.kernel.identity import codes_asked
from service.kernel.services import PORTCULLIS
from service.kernel.text import MAX_USER_NAME
from service.kernel.value_rules import ServiceName, whole
from service.records import policy_history
from service.records.database.transactions import Connection, Database
from service.records.policy_history import Place
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import example_body, logged, named, needs, refuses
from service.web.messages.schema import Revision, Schema

DecisionId = Annotated[
    str,
    Meta(
        pattern=whole("r[1-9][0-9]{0,17}(?:[.][1-9][0-9]{0,8})?-[0-9a-f]{8}-[0-9a-f]{12}"),
        examples=["r12-9be1a6f0-5f0c39d1a2b4"],
    ),
]


class Question(Schema):
    """A question to the policy: a subject, and what it asks for; of a past revision, if one is named.

    The subject is a user by name, a role, or a holder of `permissions`; with none of them, a visitor. It asks
    for a request by `method` and `path`, to another `service` if one is named; for a `grant`: the permission
    code to hand out or to act on; for a `permission`: the code that another service asks about; or for an
    `object` of any `layer`. The subject is supposed to be logged in with a password, at a time that is not
    known, or to be a service account; `assurance` is another word that it satisfies, with all weaker ones.
    With `at` all is asked as of that instant, past or future; a `revision` and a `decisionId` have their own.
    A past `decisionId` names its revision, and the answer says whether it decided
    the same question. Alone, it is looked up in the logs: what it has refused is explained, and `refusal`
    says whose request that was.
    """

    method: Method | None = None
    path: Annotated[str, Meta(max_length=2048, examples=["/api/role/list"])] | None = None
    service: ServiceName = PORTCULLIS
    grant: Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["system:role:list"])] | None = None
    permission: Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["orders:order:read"])] | None = None
    layer: LayerName | None = None
    object: Annotated[str, Meta(max_length=2048, examples=["delete others"])] | None = None
    user_name: Annotated[str, Meta(min_length=1, max_length=MAX_USER_NAME, examples=["admin"])] | None = None
    role_code: Annotated[str, Meta(min_length=1, max_length=64, examples=["auditor"])] | None = None
    permissions: Annotated[list[str], Meta(max_length=1000)] | None = None
    assurance: Word | None = None
    revision: Annotated[Revision, Meta(description="Ask this past revision.")] | None = None
    decision_id: DecisionId | None = None
    at: At | None = None

    def __post_init__(self) -> None:
        if self.at is not None and (self.revision is not None or self.decision_id is not None):
            raise ValidationFailed(("at", "Name an instant, a revision or a decision"))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explain:
    """``/api/policy/explain``; ``decision_log`` is where that of this node goes: a file can be searched."""

    database: Database
    live: LivePolicy
    concurrency: ConcurrencyLimit
    past: PastPolicies
    decision_log: str | Path

    @needs("system:policy:read")
    @logged("policy", "explain", "QUERY", response=False)
    @example_body({"userName": "admin", "method": "GET", "path": "/api/role/list"})
    @refuses(Conflict, NotFound, RevisionUntrusted)
    @named("explainDecision")
    async def on_post(self, context: RequestContext, body: Question) -> Explained:
        """Explain how the policy decides a request, or a question about a permission code.

        The policy in force, or a past revision with the model and endpoint lines of this node. A user's
        current permissions and the current roles are used, those `at` an instant where one is named; tokens
        issued earlier may have others. `origins` say by which roles a user holds a code, since when, until
        when, why and by whose decision. A
        `decisionId` alone explains a refusal of the operation log, or of the decision log in a file of this
        node; that takes the right to `GET /api/operation-log/{id}` too, and 404 says that neither has it.
        """
        asking = None if is_by_id(body) else asked(body)
        context.policy = policy = self.live.current
        if asking is None:
            require_log(context, policy)
        revision = self._revision(body)
        async with self.concurrency.turn():
            event = None if asking else await self._event(body.decision_id)
            async with self.database.snapshot(within=policy_history.READ_WITHIN) as connection:
                passed = None if body.decision_id is None else decided_by(body.decision_id)[1]
                past = _Past(connection, policy, self.past, revision, passed)
                await past.require_kept("decisionId" if body.revision is None else "revision")
                if asking is None:
                    return await refusal_answer(connection, body.decision_id or "", event, policy, past.at)
                place, explained = asking
                instant = await sources.instant_of(connection, body.at)
                policy = (
                    await past.at(place)
                    if body.at is None
                    else await self.past.at(connection, policy, instant, place)
                )
                subject = await sources.subject_of(
                    connection, body.user_name, body.permissions, body.role_code, instant
                )
                explanation = explain_decided(
                    body.decision_id, partial(explained, policy, subject.held), supposed(body, subject)
                )
                return await explained_answer(
                    connection,
                    policy,
                    subject,
                    explanation,
                    place,
                    decision_id=body.decision_id,
                    instant=instant,
                )

    async def _event(self, decision_id: str | None) -> Event | None:
        if decision_id is None or not isinstance(self.decision_log, Path):
            return None
        return await self.concurrency.computed(denial_in, self.decision_log, decision_id)

    def _revision(self, body: Question) -> int | None:
        """Return the revision that is asked, None for the one in force.

        Conflict for a decision of a node whose static policy was another: its answer can't be found here.
        """
        if body.decision_id is None:
            return body.revision
        revision = revision_of(body.decision_id, self.past.shipped.digest)
        if body.revision not in (None, revision):
            raise ValidationFailed(("revision", "The decision is of another revision"))
        return revision


def revision_of(decision_id: str, own_digest: str) -> int:
    """Return the revision that has decided; see ``decided_by``.

    Conflict for a decision of a node whose static policy was another than that with ``own_digest``.
    """
    own = decision_id.split("-")[1]
    if not own_digest.startswith(own):
        raise Conflict(
            "That decision was made by another static policy than that of this node", rule="history"
        )
    return decided_by(decision_id)[0]


class _Past:
    """The policy of ``revision``, None for the one in force, as far as a question needs it.

    It decides as it did once ``passed`` of its ends had come; None: as it is, or was published.
    """

    def __init__(
        self,
        connection: Connection,
        live: Policy,
        past: PastPolicies,
        revision: int | None,
        passed: int | None,
    ) -> None:
        self._passed = passed
        self._connection = connection
        self._live = live
        self._past = past
        self._revision = None if revision == live.revision else revision

    async def require_kept(self, name: str) -> None:
        """Return when the lines of the revision are kept; ValidationFailed for the field ``name`` else."""
        if self._revision is not None:
            await require_kept(self._connection, name, self._revision)

    async def at(self, place: Place | None) -> Policy:
        """Return the policy, whole or with the lines that could decide about ``place``."""
        policy = self._live
        if self._revision is not None:
            policy = await self._past.of(self._connection, self._revision, place)
        return policy if self._passed is None else policy.after(self._passed)


def is_by_id(body: Question) -> bool:
    """Tell whether ``body`` names a decision, and neither who asked nor what."""
    question = (body.method, body.path, body.grant, body.permission, body.layer, body.object)
    subject = (body.user_name, body.role_code, body.permissions)
    return body.decision_id is not None and all(field is None for field in (*question, *subject))


def require_log(context: RequestContext, policy: Policy) -> None:
    """Return when the caller may read an entry of the operation log: what is found by an id tells of one.

    PermissionDenied or InsufficientAuthentication else, by the decision about that request.
    """
    held, path = codes_asked(context.caller), request_path(_ENTRY)
    decision = policy.judge_request(PORTCULLIS, "GET", path, held, context.satisfied)
    if not decision.allowed:
        if decision.layer == ASSURANCE:
            raise too_weak(decision)
        raise PermissionDenied(f"To find a refusal by its id takes the right to GET {_ENTRY}", decision)


_ENTRY: Final = "/api/operation-log/{id}"


def supposed(body: Question, subject: Subject) -> Satisfied:
    """Return what the subject of ``body`` is supposed to satisfy, if it is logged in."""
    return subject.satisfied if body.assurance is None else BY_STRONGEST[body.assurance]


Explains = Callable[[Policy, HeldCodes | None, Satisfied], Explanation | ObjectExplanation]

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
    return (body.service, method, place), lambda policy, held, satisfied: explain(
        policy, method, place, held, body.service, satisfied=satisfied
    )


def _both(**members: str | None) -> list[str]:
    """Return the values of two members that go together; ValidationFailed if one is missing."""
    missing = [name for name, value in members.items() if value is None]
    if missing:
        raise ValidationFailed(*((name, "The field is required") for name in missing))
    return [value for value in members.values() if value is not None]


def _explained(
    layer: str, name: str, policy: Policy, held: HeldCodes | None, satisfied: Satisfied
) -> ObjectExplanation:
    return explain_object(policy, layer, name, held, satisfied)
