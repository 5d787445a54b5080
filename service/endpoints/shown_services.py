"""Of which services a caller may see resources and public access: the layer ``service`` decides."""

from __future__ import annotations

from service.authz.engine.rules import SERVICE
from service.authz.publishing.live import LivePolicy
from service.errors import PermissionDenied
from service.kernel.services import PORTCULLIS
from service.web.messages.context import RequestContext


def shown_services(context: RequestContext, live: LivePolicy) -> tuple[str, ...]:
    """Return the services whose resources the caller may list, by the policy that admitted the request."""
    policy = context.policy or live.current
    names = (PORTCULLIS, *policy.other_services)
    return tuple(name for name in names if policy.decide(SERVICE, f"{name} list", context.user).allowed)


def require_shown(context: RequestContext, live: LivePolicy, service: str) -> None:
    """Return when the caller may see resources of ``service``; PermissionDenied else."""
    context.policy = context.policy or live.current
    decision = context.decide(SERVICE, f"{service} list")
    if not decision.allowed:
        raise PermissionDenied(f"You may not see the resources of {service}", decision)
