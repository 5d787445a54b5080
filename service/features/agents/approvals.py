"""Approvals of single calls of agents: asked by the guard, decided by the person, used once."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import msgspec

from service.administration import change_log
from service.administration.delegation import Delegation
from service.audit.redaction import kept, redacted_query
from service.errors import ApprovalRequired, Decided, NotFound, PermissionDenied, ValidationFailed
from service.features.agents import store_approvals
from service.features.agents.sentences import sentence
from service.features.agents.store_approvals import Call, PendingApproval, Verdict
from service.kernel.identity import Caller, oneself
from service.kernel.notify import Facts, Notices
from service.kernel.origin import field_changes
from service.kernel.strict_json import strict_json
from service.records.database.transactions import Database
from service.web.messages.bodies import MAX_BODY
from service.web.messages.context import RequestContext
from service.web.messages.original import Original

LINK: Final = "/console/#/account/approvals"
"""The page of the console where a person decides."""
WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
"""The methods whose requests have no content with a meaning (RFC 9110 §9.3)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallApprovals:
    """See ``AgentApprovals``."""

    database: Database
    notices: Notices

    async def require(self, context: RequestContext, caller: Caller, denial: Decided) -> None:
        """Use the approval of exactly this call: method, path, query, media type and body.

        An approval for one call is used up before the call runs, so it never runs twice. The person is
        notified of a call that waits, unless others of the delegation do. Raises as
        ``AgentApprovals.require``, and ``PermissionDenied`` for a call beyond ``MOST_PENDING``.
        """
        await self._use(await _call(context), caller, denial)

    async def require_forwarded(
        self, service: str, original: Original, caller: Caller, denial: Decided
    ) -> None:
        """Use the approval of exactly this call: service, method, path and query.

        Raises as ``AgentApprovals.require_forwarded``.
        """
        if original.method not in WITHOUT_BODY:
            raise PermissionDenied(sentence("body_not_seen"), denial)
        path = f"{service} {original.path}"  # no path of this service begins with a name
        await self._use(Call(original.method, path, original.query, _digest("", b""), None), caller, denial)

    async def _use(self, call: Call, caller: Caller, denial: Decided) -> None:
        assert caller.agent is not None  # noqa: S101 - the callers of this ask about agents only
        delegation_id = caller.agent.delegation_id
        async with self.database.transaction() as connection:
            if await store_approvals.use(connection, delegation_id, call):
                return
            asked = await store_approvals.ask(connection, delegation_id, call)
            if asked is not None and asked.alone:  # one notice, also if an agent asks about many calls
                facts: Facts = {
                    "name": caller.agent.agent_name,
                    "call": f"{call.method} {call.path}",
                    "approval": str(asked.number),
                    "until": asked.until,
                }
                await self.notices.notify(connection, caller.user_id, "approval_asked", facts=facts)
        if asked is None:
            raise PermissionDenied(sentence("too_many_approvals"), denial)
        raise ApprovalRequired(denial, asked.number, f"{LINK}/{asked.number}")


async def _call(context: RequestContext) -> Call:
    request, scope = context.request, context.scope
    body = await request.body_within(MAX_BODY)
    # The operation reads the same bytes again.
    request.arrived = {"type": "http.request", "body": body, "more_body": False}
    media_type = request.content_type or ""
    digest = _digest(media_type, body)
    query: bytes = scope["query_string"]
    return Call(request.method, request.path, query.decode("ascii", "backslashreplace"), digest, _shown(body))


def _digest(media_type: str, body: bytes) -> bytes:
    return sha256(b"%b\n%b" % (media_type.encode("utf-8", "surrogateescape"), body)).digest()


def _shown(body: bytes) -> str | None:
    """Return a JSON body without secrets; None for another one."""
    try:
        strict_json(body)
        return bytes(kept(body, redact=True)).decode()
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Approvals:
    """The decisions of people about calls of their agents."""

    database: Database
    delegation: Delegation

    async def own(self, caller: Caller) -> Sequence[PendingApproval]:
        """Return the calls that wait for the decision of the caller; values of secrets are withheld."""
        async with self.database.snapshot() as connection:
            waiting = await store_approvals.pending(connection, caller.user_id)
        return [msgspec.structs.replace(each, query=redacted_query(each.query)) for each in waiting]

    async def decide(self, caller: Caller, approval_id: int, verdict: Verdict, digest: str) -> None:
        """Decide about the call with that ``digest``, as the caller was shown it.

        Raises ``NotFound`` for a call that does not wait, ``ValidationFailed`` for another digest, and
        ``PermissionDenied`` for a caller with an API key.
        """
        async with self.database.transaction() as connection:
            check = await self.delegation.check(connection, caller)
            await check.require_act(connection, oneself(caller), "delegate")
            decided = await store_approvals.decide(connection, caller.user_id, approval_id, verdict)
            if decided is None:
                raise NotFound(sentence("no_such_approval"))
            if decided.digest != digest:
                raise ValidationFailed(("digest", sentence("digest_of_another_call")))
            change_log.concerns(change_log.user_target(caller.user_name))
            after = {
                "agentId": decided.agent_id,
                "call": f"{decided.method} {decided.path}",
                "digest": decided.digest,
                "decision": verdict,
            }
            changes = field_changes(f"approval:{approval_id}", {}, after)
            change_log.saving(changes)
        change_log.saved(changes)
