"""The authorization guard: every guarded request passes it before its responder."""

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from service import errors
from service.authn.authenticate import Authenticator
from service.authn.verified import Authenticated
from service.authz.engine.policy import Decision, Policy, decide_traced
from service.authz.engine.rules import ENDPOINT, GRANT, RESOURCE, SERVICE
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.revisions import PublishedRevisions
from service.authz.review.requestable import Refused
from service.kernel.about import NAME
from service.kernel.identity import words_asked
from service.kernel.value_rules import MAX_ID
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Operation
from service.web.messages.original import PROXY_KEY, SAFE, Original
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

    ``now`` returns the time by which the age of an authentication is told, in seconds.
    """

    token: HeaderToken
    authenticator: Authenticator
    live: LivePolicy
    revisions: PublishedRevisions
    now: Callable[[], float] = time.time

    async def admit(self, context: RequestContext, operation: Operation) -> None:
        """Admit the request and set caller and policy of ``context``, or raise a refusal.

        Public operations need no authentication. On all others the caller is authenticated, and changes with
        a cookie are protected against CSRF: see ``CookieToken``. The caller of a subrequest is the proxy: the
        other headers are those of its client. The permission map and both layers are of one revision. If a
        newer one was announced or is asked for, an authenticated request waits for it and is authenticated
        again: an older one never decides it. Both layers must allow, and then the layer ``assurance`` for
        both objects. Raises what the token, the authenticator and ``PublishedRevisions`` raise,
        PermissionDenied, InsufficientAuthentication, ProxyRefused, BadRequest, and Unavailable before the
        first policy is loaded.
        """
        policy = context.policy = self.live.current
        if not policy.revision:
            raise errors.Unavailable("No policy has been loaded yet")
        if not operation.public:
            announced = await self._authenticate(context, operation, policy)
            least = _least_revision(context, operation)
            if announced is None or announced > policy.revision or least > policy.revision:
                newer = await self._newest(policy, announced, least)
                if newer is not policy:
                    policy = context.policy = newer
                    await self._authenticate(context, operation, policy)
        caller = context.caller
        path = context.request.path
        span = context.span
        decide = policy.decide if span is None else partial(decide_traced, span, policy)
        resource = policy.resource_for(operation.method, path, caller)
        opened = context.opened = decide(RESOURCE, resource, caller)
        _require(context, opened)
        _require(context, decide(ENDPOINT, operation.object, caller))
        # Last, so that nobody steps up for what stays closed.
        satisfied = context.satisfied = words_asked(caller, self.now())
        demanded = policy.judge_assurance(resource, operation.object, satisfied)
        if not demanded.allowed:
            raise errors.too_weak(demanded)

    async def identify(
        self, context: RequestContext, policy: Policy, original: Original
    ) -> tuple[Authenticated | None, Policy]:
        """Return who has sent ``original``, None without credentials, and the policy to decide by.

        An admitted proxy asks about it, by ``policy``; a newer one that was announced becomes that of
        ``context``. Credentials that are sent are never ignored: raises what the token, the authenticator and
        ``PublishedRevisions`` raise. What changes something is protected against CSRF, as when a request is
        admitted.
        """
        try:
            token = self.token.of(context.request)
        except errors.Unauthenticated:
            return None, policy
        # A wrong API key would count against the proxy, and not against its client.
        identified = await self.authenticator.authenticate(token, policy.permission_map, counted=False)
        newer = await self._announced(policy, identified.announced)
        if newer is not policy:
            policy = context.policy = newer
            identified = await self.authenticator.authenticate(token, policy.permission_map, counted=False)
        if original.method not in SAFE:
            self.token.check_meant(context.request, identified.caller, original.host)
        return identified, policy

    async def _authenticate(
        self, context: RequestContext, operation: Operation, policy: Policy
    ) -> int | None:
        if operation.metadata.subrequest:
            identified = await self._proxy(context, policy)
        else:
            identified = await self._sender(context, operation, policy)
        context.caller = identified.caller
        if context.has_body:
            context.all_rights = identified.all_rights
        if operation.method != "GET":
            self.token.check_meant(context.request, identified.caller)
        return identified.announced

    def _sender(
        self, context: RequestContext, operation: Operation, policy: Policy
    ) -> Awaitable[Authenticated]:
        sent = self.token.sent(context.request)
        known = None if sent is None else self.authenticator.remembered(sent, policy.permission_map)
        return self._unknown_sender(context, operation, policy) if known is None else known

    async def _unknown_sender(
        self, context: RequestContext, operation: Operation, policy: Policy
    ) -> Authenticated:
        try:
            token = self.token.of(context.request)
        except errors.Unauthenticated:
            if not operation.metadata.by_client:
                raise
        else:
            return await self.authenticator.authenticate(token, policy.permission_map)
        client_id, secret = basic_client(context.request)
        try:
            return await self.authenticator.authenticate_client(client_id, secret)
        except (errors.TokenInvalid, errors.TokenExpired) as refusal:
            refusal.headers["WWW-Authenticate"] = _BASIC  # of the scheme that was used (RFC 6749 §5.2)
            raise

    async def _proxy(self, context: RequestContext, policy: Policy) -> Authenticated:
        try:
            key = _PROXY.of(context.request)
            identified = await self.authenticator.authenticate(key, policy.permission_map)
        except _NOT_AUTHENTICATED as refusal:
            # Not as it is: the user would take it for a refusal of the own token.
            raise errors.ProxyRefused(f"The proxy has no good API key: {refusal.code}") from refusal
        return identified

    async def _newest(self, policy: Policy, announced: int | None, least: int) -> Policy:
        policy = await self._announced(policy, announced)
        return policy if least <= policy.revision else await self.revisions.at_least(least)

    async def _announced(self, policy: Policy, announced: int | None) -> Policy:
        if announced is None or announced > policy.revision:
            return await self.revisions.announced(announced)
        return policy


def _least_revision(context: RequestContext, operation: Operation) -> int:
    """Return the oldest revision that may decide the request; 0 if it does not say."""
    least = context.request.raw_header(_MIN_REVISION)
    if least is None or operation.metadata.subrequest:  # of a subrequest, it is a header of the client
        return 0
    if _REVISION.fullmatch(least) is None or (revision := int(least)) > MAX_ID:
        raise errors.BadRequest(f"{MIN_REVISION} is not the number of a revision")
    return revision


def _require(context: RequestContext, decision: Decision) -> None:
    context.decision = decision
    if not decision.allowed:
        raise errors.PermissionDenied(_REASON[decision.layer], decision)


_REASON: Final = {
    RESOURCE: "None of the permissions bound to this resource is held",
    ENDPOINT: "None of the permissions that this endpoint needs is held",
}


def refused_in(context: RequestContext, denied: errors.PermissionDenied) -> Refused | None:
    """Return what would have to open; None where no role helps, or where another request was asked about.

    A refused request needs both layers of the guard. The caller of a subrequest is no client.
    """
    operation, decision = context.operation, denied.decision
    if operation is None or operation.metadata.subrequest or decision is None or context.policy is None:
        return None
    if decision.layer in (RESOURCE, ENDPOINT):
        resource = context.policy.resource_for(operation.method, context.request.path, context.caller)
        request = ((RESOURCE, resource), (ENDPOINT, operation.object))
        return Refused(request) if (decision.layer, decision.object) in request else None
    if decision.layer == GRANT:
        codes = denied.extra["required"]
        return Refused([(GRANT, code) for code in codes], any_one=denied.extra["needed"] == "any")
    return Refused([(SERVICE, decision.object)]) if decision.layer == SERVICE else None
