"""Explanations of decisions about requests and grants: ``/api/policy/explain``."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from service.authz.engine.concurrency import ConcurrencyLimit
from service.authz.engine.policy import Policy, decided_by
from service.authz.engine.rules import ASSURANCE
from service.authz.publishing.live import LivePolicy
from service.errors import Conflict, NotFound, PermissionDenied, RevisionUntrusted, ValidationFailed, too_weak
from service.features.decision_log.decision_event import Event, denial_in
from service.features.explain.explained import Explained, explained_answer, refusal_answer
from service.features.explain.policy_questions import require_kept
from service.features.explain.question import Question, asked, is_by_id, revision_of, supposed, with_scopes
from service.features.explain.sentences import sentence
from service.kernel.identity import codes_asked
from service.kernel.services import PORTCULLIS
from service.laboratory.analysis import sources
from service.laboratory.analysis.explain import (
    explain_decided,
)
from service.laboratory.analysis.request_paths import request_path
from service.laboratory.analysis.sources import PastPolicies
from service.records.database.transactions import Connection, Database
from service.records.published import policy_history
from service.records.published.policy_history import Place
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, logged, needs


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explain(Responders, at="/api/policy/explain"):
    """``decision_log`` is this node's target: a file can be searched."""

    database: Database
    live: LivePolicy
    concurrency: ConcurrencyLimit
    past: PastPolicies
    decision_log: str | Path

    @needs("system:policy:read", name="explainDecision", refuses=[Conflict, NotFound, RevisionUntrusted])
    @logged(
        "explain",
        "QUERY",
        keeps="params",
        example={"userName": "admin", "method": "GET", "path": "/api/role/list"},
    )
    async def on_post(self, context: RequestContext, body: Question) -> Explained:
        """Explain how the policy decides a request, or a question about a permission code.

        The policy is the one in force, or a past revision with the model and endpoint lines of this node. The
        rights of the subject are the current ones, or those `at` a given instant; tokens issued earlier may
        have others. `origins` are the roles that give a code, with start, end, reason and author of the
        assignment. A `decisionId` alone explains a refusal of the operation log, or of the decision log in a
        file of this node. This also needs the right to `GET /api/operation-log/{id}`; 404 if neither log has
        the decision.
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
                subject = with_scopes(
                    body,
                    await sources.subject_of(
                        connection, body.user_name, body.permissions, body.role_code, instant
                    ),
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
        """Return the requested revision, None for the one in force.

        Raises Conflict for a decision of a node with a different static policy, which cannot be explained
        here.
        """
        if body.decision_id is None:
            return body.revision
        revision = revision_of(body.decision_id, self.past.shipped.digest)
        if body.revision not in (None, revision):
            raise ValidationFailed(("revision", sentence("decision_of_another_revision")))
        return revision


class _Past:
    """The policy of ``revision``, None for the one in force, loaded as far as a question needs it.

    It decides as after ``passed`` of its ends; None for its current or published state.
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
        """Raise ValidationFailed for the field ``name`` unless the lines of the revision are kept."""
        if self._revision is not None:
            await require_kept(self._connection, name, self._revision)

    async def at(self, place: Place | None) -> Policy:
        """Return the policy, whole or with the lines that could decide about ``place``."""
        policy = self._live
        if self._revision is not None:
            policy = await self._past.of(self._connection, self._revision, place)
        return policy if self._passed is None else policy.after(self._passed)


def require_log(context: RequestContext, policy: Policy) -> None:
    """Require the right to read the operation log, because a search by id reveals an entry.

    Raises PermissionDenied or InsufficientAuthentication, by the decision about that request.
    """
    held, path = codes_asked(context.caller), request_path(_ENTRY)
    decision = policy.judge_request(PORTCULLIS, "GET", path, held, context.satisfied)
    if not decision.allowed:
        if decision.layer == ASSURANCE:
            raise too_weak(decision)
        raise PermissionDenied(sentence("refusal_not_allowed", path=_ENTRY), decision)


_ENTRY: Final = "/api/operation-log/{id}"
