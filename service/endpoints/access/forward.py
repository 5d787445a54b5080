"""Forward authentication: a proxy asks about each request before it passes it on to a service."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import quote

from msgspec import Meta

from service.authn.assertions import Assertions
from service.authz.engine.policy import Policy
from service.authz.engine.rules import RESOURCE, UNKNOWN
from service.errors import PermissionDenied, Unauthenticated
from service.kernel.identity import Caller
from service.kernel.services import NAME
from service.web.requests.context import RequestContext
from service.web.requests.guard import AuthorizationGuard
from service.web.requests.marks import named, needs, subrequest
from service.web.requests.original import (
    CADDY,
    ENVOY,
    IDENTITY,
    NGINX,
    PREFLIGHT,
    TRAEFIK,
    Dialect,
    Original,
    original_of,
)
from service.web.requests.schema import whole

ServiceName = Annotated[str, Meta(pattern=whole(NAME.pattern), examples=["orders"])]

_ORIGIN: Final = b"origin"
_ASKED_METHOD: Final = b"access-control-request-method"


class _Forward:
    """Decides about the original request; a class below for each dialect."""

    dialect: Dialect

    def __init__(self, guard: AuthorizationGuard, assertions: Assertions) -> None:
        self._guard = guard
        self._assertions = assertions

    async def _decide(self, context: RequestContext, service: str) -> None:
        policy = context.policy
        assert policy is not None  # noqa: S101 - the guard has taken it
        require_own_service(policy, context.user, service)
        original = original_of(context.scope, self.dialect)
        known = policy.service(service)
        if known is not None and known.allow_preflight and _is_preflight(context, original):
            self._let_pass(context, service, None, "")
            return
        policy = await self._guard.identify(context, original)
        caller = context.caller
        decision = context.decision = policy.decide_route(service, original.method, original.path, caller)
        if not decision.allowed:
            if caller is None:
                raise Unauthenticated
            raise PermissionDenied("None of the permissions bound to this resource is held", decision)
        self._let_pass(context, service, caller, decision.id)

    def _let_pass(self, context: RequestContext, service: str, caller: Caller | None, decision: str) -> None:
        user = ("", "", "") if caller is None else _identity(caller)
        assertion = self._assertions.issue(service, caller, decision)
        for header, value in zip(IDENTITY, (*user, decision, assertion), strict=True):
            context.respond_header(header, value)


def require_own_service(policy: Policy, asking: Caller, service: str) -> None:
    """Raise PermissionDenied if the account that asks is bound to another service."""
    if asking.service not in (None, service):
        detail = f"The account may ask about the service {asking.service} only"
        raise PermissionDenied(detail, policy.decide(RESOURCE, UNKNOWN, asking))


def _identity(caller: Caller) -> tuple[str, str, str]:
    """Return the user name, the user id and the codes of the roles, percent-encoded (RFC 3986 §2.1)."""
    roles = (quote(role, safe="") for role in caller.roles)
    return quote(caller.user_name, safe=""), caller.login_id, ",".join(roles)


def _is_preflight(context: RequestContext, original: Original) -> bool:
    """True for a preflight request (Fetch Standard §3.2.2), which carries no credentials."""
    headers = (_ORIGIN, _ASKED_METHOD)
    return original.method == PREFLIGHT and all(map(context.request.raw_header, headers))


class ForwardCaddy(_Forward):
    """``/access/v1/forward/caddy/{service}``."""

    dialect = CADDY

    @subrequest()
    @needs("system:policy:evaluate")
    @named("checkForCaddy")
    async def on_get(self, context: RequestContext, service: ServiceName) -> None:
        """Decide for Caddy if a request may go on to a service.

        Reads `X-Forwarded-Method`, `X-Forwarded-Uri` and `X-Forwarded-Host`, as `forward_auth` sends them.
        Any method is answered alike.
        """
        await self._decide(context, service)


class ForwardTraefik(_Forward):
    """``/access/v1/forward/traefik/{service}``."""

    dialect = TRAEFIK

    @subrequest()
    @needs("system:policy:evaluate")
    @named("checkForTraefik")
    async def on_get(self, context: RequestContext, service: ServiceName) -> None:
        """Decide for Traefik if a request may go on to a service.

        Reads `X-Forwarded-Method`, `X-Forwarded-Uri` and `X-Forwarded-Host`, as the middleware `forwardAuth`
        sends them. Any method is answered alike.
        """
        await self._decide(context, service)


class ForwardNginx(_Forward):
    """``/access/v1/forward/nginx/{service}``."""

    dialect = NGINX

    @subrequest()
    @needs("system:policy:evaluate")
    @named("checkForNginx")
    async def on_get(self, context: RequestContext, service: ServiceName) -> None:
        """Decide for nginx if a request may go on to a service.

        Reads `X-Original-Method`, `X-Original-URI` and `X-Original-Host`, which the configuration of
        `auth_request` has to set. Any method is answered alike.
        """
        await self._decide(context, service)


class ForwardEnvoy(_Forward):
    """``/access/v1/forward/envoy/{service}``, followed by the original path."""

    dialect = ENVOY

    @subrequest(takes_path=True)
    @needs("system:policy:evaluate")
    @named("checkForEnvoy")
    async def on_get(self, context: RequestContext, service: ServiceName) -> None:
        """Decide for Envoy if a request may go on to a service.

        The filter `ext_authz` asks with the method of the original request, and with its path and query after
        the path of this operation, which is its `path_prefix`.
        """
        await self._decide(context, service)
