"""Answers to a proxy: the identity of the sender if a request is allowed, or the reason of a denial."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from service.authz.engine.policy import Decision
from service.authz.engine.rules import ASSURANCE
from service.errors import PermissionDenied, Unauthenticated, too_weak
from service.features.decisions.sentences import sentence
from service.kernel.identity import Caller, roles_told
from service.laboratory.analysis.answers import Answer
from service.web.messages import original as originals

_NOBODY: Final = ("", "", "")
_REMEMBERED: Final = 1024  # cached users; most requests come from few
_PREFLIGHT_HEADERS: Final = frozenset({b"origin", b"access-control-request-method"})


def decision_allowing(answer: Answer, caller: Caller | None) -> Decision:
    """Return the decision that allows a request.

    Raises Unauthenticated, PermissionDenied or InsufficientAuthentication if none does.
    """
    decision = answer.decision
    if caller is None and not answer.allowed:
        raise Unauthenticated
    assert decision is not None  # noqa: S101 - the enforcer always decides about routes
    if not decision.allowed:
        refusal = (
            too_weak(decision, caller)
            if decision.layer == ASSURANCE
            else PermissionDenied(sentence("no_resource_permission"), decision)
        )
        refusal.decision = None  # the decision is not about the caller, which is the proxy
        raise refusal
    return decision


def identity_of(caller: Caller | None) -> tuple[str, str, str]:
    """Return the values of the identity headers; they are empty for an anonymous user."""
    return _NOBODY if caller is None else _identity(caller.user_name, caller.login_id, roles_told(caller))


@lru_cache(_REMEMBERED)
def _identity(user_name: str, login_id: str, roles: tuple[str, ...]) -> tuple[str, str, str]:
    """Return the user name, the user id and the role codes, percent-encoded (RFC 3986 §2.1)."""
    return quote(user_name, safe=""), login_id, ",".join(quote(role, safe="") for role in roles)


def is_preflight(scope: Mapping[str, Any], original: originals.Original) -> bool:
    """Return true for a preflight request (Fetch Standard §3.2.2), which carries no credentials."""
    if original.method != originals.PREFLIGHT:
        return False
    return {name for name, value in scope["headers"] if value} >= _PREFLIGHT_HEADERS
