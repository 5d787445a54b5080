"""Answer proxies that ask about a request, as the hub's ``/access/v1/forward`` does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from service import errors
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT, PREFLIGHT, RESOURCE
from service.features.decisions.forwarding import decision_allowing, identity_of, is_preflight
from service.features.decisions.questions import ROUTE, TOKEN, Asked, Resource, Subject
from service.features.follower.point import DecisionPoint, Evaluated
from service.features.follower.sentences import sentence
from service.kernel.account_acts import where
from service.kernel.identity import needs_approval, with_approval
from service.laboratory.analysis.answers import RequestTo, as_answer
from service.web.messages import original as originals

FORWARD: Final = "/access/v1/forward/"
_DIALECTS: Final = {
    "caddy": originals.CADDY,
    "traefik": originals.TRAEFIK,
    "nginx": originals.NGINX,
    "envoy": originals.ENVOY,
}

Scope: TypeAlias = Mapping[str, Any]
Note: TypeAlias = Callable[[Asked | None, Evaluated], None]


class Reply(NamedTuple):
    """An HTTP response."""

    status: int
    body: bytes
    media: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Proxied:
    """Answers questions about requests to the followed services."""

    point: DecisionPoint
    services: tuple[str, ...]

    def answer(self, scope: Scope, note: Note) -> Reply:
        """Return the answer that allows a request; ``note`` receives the question and the answer.

        Raises as the hub does: NotFound, BadRequest, ProxyRefused, Unauthenticated, TokenInvalid,
        PermissionDenied, InsufficientAuthentication; and Unavailable without a lease. A call of an agent that
        needs an approval is PermissionDenied: only the hub asks for approvals and uses them.
        """
        dialect, _, service = scope["path"].removeprefix(FORWARD).partition("/")
        profile = _DIALECTS.get(dialect)
        if profile is None:
            raise errors.NotFound
        if profile is originals.ENVOY:
            service = service.partition("/")[0]
            prefix = f"{FORWARD}{dialect}/{service}".encode()
            scope = {**scope, originals.TAIL: (scope.get("raw_path") or b"").removeprefix(prefix)}
        if service not in self.services:
            raise errors.ProxyRefused(sentence("service_not_followed"))
        original = originals.original_of(scope, profile)
        token = _token(scope)
        deciding = self.point.deciding()
        if deciding is None:
            raise errors.Unavailable(_TOO_OLD)
        policy, asking = deciding
        allowed = policy.decide(ACCOUNT, f"forward {where(asking.service, service)}", asking)
        if not allowed.allowed:
            raise errors.ProxyRefused(sentence("follower_not_allowed"), allowed)
        asked, evaluated = self._decided(policy, scope, service, original, token)
        note(asked, evaluated)
        if self.point.deciding() is None:  # the process may have been stopped
            raise errors.Unavailable(_TOO_OLD)
        self._require_no_approval(policy, asked, evaluated)
        decision = decision_allowing(evaluated.answer, evaluated.caller)
        values = (*identity_of(evaluated.caller), decision.id, "")
        headers = zip(originals.IDENTITY, values, strict=True)
        return Reply(
            200, b"", headers=tuple((name.lower().encode(), value.encode()) for name, value in headers)
        )

    def _require_no_approval(self, policy: Policy, asked: Asked, evaluated: Evaluated) -> None:
        """Raise PermissionDenied if nothing but an approval is missing."""
        answer, caller, _ = evaluated
        if caller is None or answer.decision is None or not needs_approval(caller, answer.decision):
            return
        resource = asked.resource
        question = RequestTo(resource.service or "", asked.action, resource.id)
        if self.point.about(policy, question, with_approval(caller)).allowed:
            refusal = errors.PermissionDenied(sentence("approval_not_here"), answer.decision)
            refusal.decision = None  # the decision is not about the caller, which is the proxy
            raise refusal

    def _decided(
        self, policy: Policy, scope: Scope, service: str, original: originals.Original, token: str | None
    ) -> tuple[Asked, Evaluated]:
        subject = Subject(TOKEN if token else "", "")
        asked = Asked(subject, original.method, Resource(ROUTE, original.path, service))
        known = policy.service(service)
        if known is not None and known.allow_preflight and is_preflight(scope, original):
            answer = as_answer(policy, policy.judge(RESOURCE, PREFLIGHT, None), None)
            return asked, Evaluated(answer, None, 0.0)
        caller = None if token is None else self.point.identify(token)
        if token is not None and caller is None:
            raise errors.TokenInvalid
        answer = self.point.about(policy, RequestTo(service, original.method, original.path), caller)
        return asked, Evaluated(answer, caller, 0.0)


_TOO_OLD: Final = sentence("policy_too_old")


def _token(scope: Scope) -> str | None:
    """Return the token of the original request, None without one; raises as the hub does."""
    sent: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
    if not sent:
        return None
    scheme, _, token = sent[0].strip().partition(b" ")
    if len(sent) > 1 or b"," in sent[0] or b" " in token.strip():
        raise errors.BadRequest(sentence("two_tokens"))
    if scheme.lower() != b"bearer":
        return None
    if not token.strip() or not token.isascii():
        raise errors.TokenInvalid
    return token.strip().decode("ascii")
