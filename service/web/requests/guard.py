"""The authorization guard: every guarded request passes it before its responder."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from service import errors
from service.authn.authenticate import Authenticator
from service.authn.current_rights import CurrentRights
from service.authn.verified import Authenticated
from service.authz.engine.policy import Policy
from service.authz.engine.refused import Refused
from service.authz.engine.rules import ACCOUNT, ENDPOINT, GRANT, NO_SESSION, RESOURCE, SERVICE, UNREGISTERED
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.revisions import PublishedRevisions
from service.kernel.about import NAME
from service.kernel.account_acts import refusal_of
from service.kernel.assurance import words_at, words_until
from service.kernel.core_sentences import sentence
from service.kernel.identity import (
    Caller,
    codes_asked,
    is_approved,
    needs_approval,
    standing_of,
    with_approval,
)
from service.kernel.services import PORTCULLIS
from service.kernel.value_rules import MAX_ID
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Operation
from service.web.messages.original import PROXY_KEY, SAFE, Original
from service.web.requests.admissions import Admitted, LatestAdmissions
from service.web.requests.agent_approvals import AgentApprovals
from service.web.requests.credentials import HeaderToken, basic_client

MIN_REVISION: Final = "X-Policy-Min-Revision"
"""The header with the oldest policy revision that may decide the request."""
_MIN_REVISION: Final = MIN_REVISION.lower().encode("ascii")
_REVISION: Final = re.compile(rb"[0-9]{1,19}")
_PROXY: Final = HeaderToken(PROXY_KEY, "")
_BASIC: Final = f'Basic realm="{NAME}"'
_NOT_AUTHENTICATED: Final = (
    errors.Unauthenticated,
    errors.TokenInvalid,
    errors.TokenExpired,
    errors.RefreshRequired,
    errors.AccountBanned,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuthorizationGuard:
    """Decides if a request may go on to its responder.

    ``now`` returns the time for the age of an authentication, in seconds. ``current`` finds the later rights
    of a caller; without it, only the session or the API key is checked again. ``approvals`` are those of
    agents' calls.
    """

    token: HeaderToken
    authenticator: Authenticator
    live: LivePolicy
    revisions: PublishedRevisions
    now: Callable[[], float] = time.time
    current: CurrentRights | None = None
    approvals: AgentApprovals | None = None
    admissions: LatestAdmissions = field(default_factory=LatestAdmissions)

    async def admit(self, context: RequestContext, operation: Operation) -> None:
        """Admit the request and set caller and policy of ``context``, or raise a refusal.

        Public operations need no authentication. On all others the caller is authenticated, and changes with
        a cookie are protected against CSRF: see ``CookieToken``. The caller of a subrequest is the proxy; the
        other headers are those of its client. The permission map and both layers are of one revision. If a
        newer revision was announced or is asked for, an authenticated request waits for it and is
        authenticated again: an older revision never decides. Both layers must allow, and then the layer
        ``assurance`` for both objects. Raises PermissionDenied, InsufficientAuthentication, ProxyRefused,
        BadRequest, and Unavailable before the first policy is loaded. Raises also the errors of the token,
        the authenticator and ``PublishedRevisions``.
        """
        policy = context.policy = self.live.current
        if not policy.revision:
            raise errors.Unavailable(sentence("no_policy"))
        now = self.now()  # token and demands are judged at one instant
        if not operation.public:
            sent = None if operation.subrequest else context.request.sent_headers.get(self.token.header)
            known = None if sent is None else self.authenticator.remembered(sent, policy.permission_map, now)
            if known is None:
                identified = await self._identified(context, operation, policy)
            else:
                identified = await self.authenticator.accepted(known, context.span)
            context.caller = identified.caller
            if operation.method != "GET":
                self.token.check_csrf(context.request, identified.caller)
            newer, announced = policy, identified.announced
            if announced is None or announced > policy.revision:
                newer = await self.revisions.announced(announced)
            if _MIN_REVISION in context.request.sent_headers:
                least = _least_revision(context, operation)
                newer = newer if least <= newer.revision else await self.revisions.at_least(least)
            if newer is not policy:
                policy = context.policy = newer
                identified = await self._identified(context, operation, policy)
                context.caller = identified.caller
            if context.has_body:
                context.all_rights = identified.all_rights
            if identified.caller.agent is not None:
                await self._decide_agent(context, operation, policy, now)
                return
        self._decide_again(context, operation, policy, now)

    async def _decide_agent(
        self, context: RequestContext, operation: Operation, policy: Policy, now: float
    ) -> None:
        """Ask the questions about a request of an agent, again without ``BY_APPROVAL`` once it is approved.

        Raises ``ApprovalRequired`` for a call that nothing but the lack of an approval denies.
        """
        try:
            self._decide(context, operation, policy, now)
        except errors.PermissionDenied as refusal:
            caller, denial = context.user, refusal.decision
            if denial is None or not needs_approval(caller, denial) or self.approvals is None:
                raise
            context.caller = with_approval(caller)
            # What is denied anyway is not put before the person, and not even read.
            self._decide(context, operation, policy, now)
            await self.approvals.require(context, caller, denial)

    async def recheck_admission(self, context: RequestContext, operation: Operation) -> None:
        """Check that the caller of an admitted request, whose answer is being made, may receive the rest.

        A person's token may have expired meanwhile; the approval of an agent's call counts until its answer
        ends. Raises ``RefreshRequired`` if the session has ended, or the caller is disabled or banned. Raises
        ``PermissionDenied`` if the right is lost, and the errors of an API key.
        """
        caller, policy = context.caller, self.live.current
        if caller is None or operation.public:
            return
        if caller.key_id is not None:
            approved = is_approved(caller)
            caller = (await self._identified(context, operation, policy)).caller
            caller = with_approval(caller) if approved else caller
        else:
            if not await self.authenticator.has_session(caller):
                raise errors.RefreshRequired
            if self.current is not None:
                now = (await self.current.of([caller.user_id])).get(caller.user_id)
                if now is None:
                    raise errors.RefreshRequired
                caller = replace(caller, roles=now.roles, held=now.held)
        resource = policy.resource_for(operation.method, context.request.path, caller)
        for layer, name in ((RESOURCE, resource), (ENDPOINT, operation.object)):
            decision = policy.judge(layer, name, codes_asked(caller))
            if not decision.allowed:
                raise errors.PermissionDenied(_REASON[layer], decision)
        _require_account(context, caller, policy, standing_of(caller, PORTCULLIS))

    async def identify(
        self, context: RequestContext, policy: Policy, original: Original
    ) -> tuple[Authenticated | None, Policy]:
        """Return the sender of ``original``, None without credentials, and the policy to decide by.

        The request comes from an admitted proxy, by ``policy``; a newer announced policy becomes that of
        ``context``. Credentials are never ignored: raises the errors of the token, the authenticator and
        ``PublishedRevisions``. Changes are protected against CSRF, as when a request is admitted.
        """
        try:
            token = self.token.of(context.request)
        except errors.Unauthenticated:
            return None, policy
        # A wrong API key would count against the proxy, and not against its client.
        identified = await self.authenticator.authenticate(
            token, policy.permission_map, span=context.span, counted=False
        )
        newer, announced = policy, identified.announced
        if announced is None or announced > policy.revision:
            newer = await self.revisions.announced(announced)
        if newer is not policy:
            policy = context.policy = newer
            identified = await self.authenticator.authenticate(
                token, policy.permission_map, span=context.span, counted=False
            )
        if original.method not in SAFE:
            self.token.check_csrf(context.request, identified.caller, original.host)
        return identified, policy

    def _decide_again(
        self, context: RequestContext, operation: Operation, policy: Policy, now: float
    ) -> None:
        """Decide as ``_decide``: by the caller's latest admission to the operation, if that still holds.

        A traced request is decided anew, since each decision has a span.
        """
        caller = context.caller
        if caller is None or context.span is not None:
            self._decide(context, operation, policy, now)
            return
        place = id(caller), operation  # of one caller: an admission keeps its caller, so the id is no other's
        path = context.request.path
        last = self.admissions.by(policy).get(place)
        if last is None or last.path != path or not last.since <= now < last.until:
            self._decide(context, operation, policy, now)
            until = words_until(caller.authentication, now)
            self.admissions.keep(
                place,
                Admitted(caller, path, now, until, context.opened, context.decision, context.satisfied),
            )
            return
        context.opened = last.opened
        context.decision = last.decision
        context.satisfied = last.satisfied

    def _decide(self, context: RequestContext, operation: Operation, policy: Policy, now: float) -> None:
        """Ask the three questions about the request; raise the refusal of the first denial."""
        caller = context.caller
        held = satisfied = key_use = None
        if caller is not None:
            held = None if caller.limited_to_nothing else caller.held
            satisfied = words_at(caller.authentication, now, by_key=caller.kind == "service")
            key_use = caller.key_use
        resource = NO_SESSION
        if held is not None:
            resource = policy.resource_at(operation.method, context.request.path) or UNREGISTERED
        opened, decision, demanded, used = policy.judge_admission(
            resource, operation.object, held, satisfied, context.span, key_use=key_use
        )
        context.opened = context.decision = opened
        if decision is None:
            raise errors.PermissionDenied(_REASON[RESOURCE], opened)
        context.decision = decision
        if demanded is None:
            raise errors.PermissionDenied(_REASON[ENDPOINT], decision)
        context.satisfied = satisfied
        if not demanded.allowed:
            raise errors.too_weak(demanded)
        if used is not None and not used.allowed:
            context.decision = used
            raise errors.PermissionDenied(refusal_of(used.object), used)
        if caller is not None and caller.agent is not None:
            _require_account(context, caller, policy, standing_of(caller, PORTCULLIS))
        if operation.metadata.session_act and caller is not None and caller.proof == "by-personal-key":
            _require_account(context, caller, policy, f"{operation.metadata.session_act} {caller.proof}")

    async def _identified(
        self, context: RequestContext, operation: Operation, policy: Policy
    ) -> Authenticated:
        """Return the caller by the credentials of the request, which are read anew."""
        if operation.subrequest:
            return await self._proxy(context, policy)
        try:
            token = self.token.of(context.request)
        except errors.Unauthenticated:
            if not operation.metadata.by_client:
                raise
        else:
            return await self.authenticator.authenticate(token, policy.permission_map, span=context.span)
        client_id, secret = basic_client(context.request)
        try:
            return await self.authenticator.authenticate_client(client_id, secret)
        except (errors.TokenInvalid, errors.TokenExpired) as refusal:
            refusal.headers["WWW-Authenticate"] = _BASIC  # of the scheme that was used (RFC 6749 §5.2)
            raise

    async def _proxy(self, context: RequestContext, policy: Policy) -> Authenticated:
        try:
            key = _PROXY.of(context.request)
            identified = await self.authenticator.authenticate(key, policy.permission_map, span=context.span)
        except _NOT_AUTHENTICATED as refusal:
            # The refusal is replaced: the user would take it for a rejection of the user's own token.
            raise errors.ProxyRefused(sentence("proxy_key_refused", refusal=refusal.code)) from refusal
        return identified


def _least_revision(context: RequestContext, operation: Operation) -> int:
    """Return the oldest revision that may decide the request; 0 if it does not say."""
    least = context.request.raw_header(_MIN_REVISION)
    if least is None or operation.subrequest:  # of a subrequest, it is a header of the client
        return 0
    if _REVISION.fullmatch(least) is None or (revision := int(least)) > MAX_ID:
        raise errors.BadRequest(sentence("revision_number_malformed", header=MIN_REVISION))
    return revision


def _require_account(context: RequestContext, caller: Caller, policy: Policy, name: str | None) -> None:
    """Check that the layer ``account`` allows ``name``, None for nothing; PermissionDenied else."""
    if name is None:
        return
    decision = policy.decide(ACCOUNT, name, caller)
    if not decision.allowed:
        context.decision = decision
        raise errors.PermissionDenied(refusal_of(name), decision)


_REASON: Final = {
    RESOURCE: sentence("no_resource_permission"),
    ENDPOINT: sentence("no_endpoint_permission"),
}


def refused_in(context: RequestContext, denied: errors.PermissionDenied) -> Refused | None:
    """Return the objects that would have to open; None if no role helps, or for another request.

    A refused request needs both layers of the guard. The caller of a subrequest is no client.
    """
    operation, decision = context.operation, denied.decision
    if operation is None or operation.subrequest or decision is None or context.policy is None:
        return None
    if decision.layer in (RESOURCE, ENDPOINT):
        resource = context.policy.resource_for(operation.method, context.request.path, context.caller)
        request = ((RESOURCE, resource), (ENDPOINT, operation.object))
        return Refused(request) if (decision.layer, decision.object) in request else None
    if decision.layer == GRANT:
        codes = denied.extra["required"]
        return Refused([(GRANT, code) for code in codes], any_one=denied.extra["needed"] == "any")
    return Refused([(SERVICE, decision.object)]) if decision.layer == SERVICE else None
