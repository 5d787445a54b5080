"""Forward authentication: a proxy asks about each request before forwarding it to a service."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from msgspec import Meta

from service.authn.verified import Authenticated
from service.authz.engine.policy import Decision
from service.authz.engine.rules import ACCOUNT, RESOURCE
from service.authz.engine.rules import PREFLIGHT as PREFLIGHT_OBJECT
from service.errors import ApprovalRequired, PermissionDenied, ProxyRefused
from service.features.decisions.assertions import Assertions
from service.features.decisions.evaluator import Answered, Known
from service.features.decisions.forwarding import decision_allowing, identity_of, is_preflight
from service.features.decisions.notes import Note
from service.features.decisions.questions import ROUTE, TOKEN, Subject
from service.features.decisions.sentences import sentence
from service.kernel.account_acts import BY_PERSON, refusal_of, where
from service.kernel.identity import Caller, needs_approval, with_approval, words_asked
from service.kernel.services import NAME
from service.kernel.value_rules import whole
from service.laboratory.analysis.answers import Answer, Answers, RequestTo, as_answer
from service.web.messages import original as originals
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, needs, subrequest
from service.web.requests.guard import AuthorizationGuard

ServiceName = Annotated[str, Meta(pattern=whole(NAME.pattern), examples=["orders"])]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Forward(Responders):
    """Decides about the original request; each subclass handles one header profile.

    ``note`` receives the answers, if it is set.
    """

    profile: ClassVar[originals.HeaderProfile]

    guard: AuthorizationGuard
    answers: Answers
    assertions: Assertions
    note: Note | None = None

    async def _decide(self, context: RequestContext, service: str) -> None:
        policy = context.policy
        assert policy is not None  # noqa: S101 - checked by the guard
        original = originals.original_of(context.scope, self.profile)
        self._require_proxy(context, service, original)
        known = policy.service(service)
        if known is not None and known.allow_preflight and is_preflight(context.scope, original):
            passed = as_answer(policy, policy.judge(RESOURCE, PREFLIGHT_OBJECT, None), None)
            self._tell(context, service, original, None, passed)
            self._let_pass(context, service, None, decision_allowing(passed, None))
            return
        identified, policy = await self.guard.identify(context, policy, original)
        caller = None if identified is None else identified.caller
        question = RequestTo(service, original.method, original.path)
        answer = self.answers.about(policy, question, caller)
        if caller is not None and answer.decision is not None and needs_approval(caller, answer.decision):
            # What is denied anyway is not put before the person.
            permitted = with_approval(caller)
            approved = self.answers.about(policy, question, permitted)
            if approved.allowed and self.guard.approvals is not None:
                try:
                    await self.guard.approvals.require_forwarded(service, original, caller, answer.decision)
                except (ApprovalRequired, PermissionDenied) as refusal:
                    self._tell(context, service, original, caller, answer)
                    refusal.decision = None  # the decision is not about the caller, which is the proxy
                    raise
                answer, caller = approved, permitted
        self._tell(context, service, original, caller, answer)
        self._let_pass(context, service, identified, decision_allowing(answer, caller))

    def _require_proxy(self, context: RequestContext, service: str, original: originals.Original) -> None:
        """Raise ProxyRefused if the account may not ask about requests to ``service`` as a proxy."""
        asking = context.user
        by_person = asking.kind == "person"
        name = BY_PERSON if by_person else f"forward {where(asking.service, service)}"
        decision = context.decide(ACCOUNT, name)
        if decision.allowed:
            return
        self._tell(context, service, original, None, Answer(False, "other_service", decision))
        if by_person:
            raise ProxyRefused(refusal_of(BY_PERSON), decision)
        raise ProxyRefused(sentence("proxy_service_not_allowed", service=service), decision)

    def _tell(
        self,
        context: RequestContext,
        service: str,
        original: originals.Original,
        caller: Caller | None,
        answer: Answer,
    ) -> None:
        if self.note is not None:
            subject = Subject("" if caller is None else TOKEN, "")
            known = Known((original.method, ROUTE, original.path, service), answer)
            satisfied = words_asked(caller, self.answers.now())
            self.note(context, (Answered(subject, caller, satisfied, [known]),))

    def _let_pass(
        self, context: RequestContext, service: str, identified: Authenticated | None, decision: Decision
    ) -> None:
        caller, ends = (None, None) if identified is None else (identified.caller, identified.expires)
        user = identity_of(caller)
        assertion = self.assertions.issue(service, caller, decision.id, ends)
        for header, value in zip(originals.IDENTITY, (*user, decision.id, assertion), strict=True):
            context.respond_header(header, value)


class ForwardCaddy(_Forward, at="/access/v1/forward/caddy/{service}"):
    profile = originals.CADDY

    @needs("system:policy:evaluate", name="checkForCaddy")
    @subrequest()
    async def on_get(self, context: RequestContext, service: ServiceName) -> None:
        """Decide for Caddy if a request may go on to a service.

        Reads `X-Forwarded-Method`, `X-Forwarded-Uri` and `X-Forwarded-Host`, as `forward_auth` sends them.
        The answer does not depend on the method.
        """
        await self._decide(context, service)


class ForwardTraefik(_Forward, at="/access/v1/forward/traefik/{service}"):
    profile = originals.TRAEFIK

    @needs("system:policy:evaluate", name="checkForTraefik")
    @subrequest()
    async def on_get(self, context: RequestContext, service: ServiceName) -> None:
        """Decide for Traefik if a request may go on to a service.

        Reads `X-Forwarded-Method`, `X-Forwarded-Uri` and `X-Forwarded-Host`, as the middleware `forwardAuth`
        sends them. The answer does not depend on the method.
        """
        await self._decide(context, service)


class ForwardNginx(_Forward, at="/access/v1/forward/nginx/{service}"):
    profile = originals.NGINX

    @needs("system:policy:evaluate", name="checkForNginx")
    @subrequest()
    async def on_get(self, context: RequestContext, service: ServiceName) -> None:
        """Decide for nginx if a request may go on to a service.

        Reads `X-Original-Method`, `X-Original-URI` and `X-Original-Host`, which the configuration of
        `auth_request` has to set. The answer does not depend on the method.
        """
        await self._decide(context, service)


class ForwardEnvoy(_Forward, at="/access/v1/forward/envoy/{service}"):
    """Envoy appends the original path to the template."""

    profile = originals.ENVOY

    @needs("system:policy:evaluate", name="checkForEnvoy")
    @subrequest(takes_path=True)
    async def on_get(self, context: RequestContext, service: ServiceName) -> None:
        """Decide for Envoy if a request may go on to a service.

        The filter `ext_authz` asks with the method of the original request, and with its path and query after
        the path of this operation, which is its `path_prefix`.
        """
        await self._decide(context, service)
