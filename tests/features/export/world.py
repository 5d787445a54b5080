"""A service of a few routes in this process, whose decisions are logged, and its callers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from service.administration.delegation import DelegationCheck
from service.audit.seals import RevisionSeals
from service.authn.authenticate import Authenticator
from service.authn.verified import Authenticated
from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.revisions import PublishedRevisions
from service.authz.publishing.shipped import read_shipped
from service.errors import PermissionDenied, RowFault, RowsRefused, TokenInvalid
from service.features.decision_log.decision_event import DecisionEvent, Event
from service.features.decision_log.decision_log import DecisionLog, DecisionWriter
from service.features.export.decision_events import DecisionEvents
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.origin import Span
from service.kernel.permission_map import PermissionMap
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import login, needs, public, writes
from service.web.requests.application import Application
from service.web.requests.credentials import HeaderToken
from service.web.requests.guard import AuthorizationGuard
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.support.demands import undemanding
from tests.web.driver import Answer, ask

REVISION = 12
STORED = HeldCodes(["thing:list", "thing:delete"])
"""What the database says of each caller."""
GRANTS, EDITS, IMPORTS, NEWER, OBJECTS = 1, 2, 3, 4, 5
"""Ids of things whose change asks different questions."""


class Things:
    """Things, some of which can't be changed by everybody."""

    @needs("thing:list", "thing:read")
    async def on_get(self, _context: RequestContext, id: int) -> dict[str, int]:  # noqa: A002 - of the path
        """Return one."""
        return {"id": id}

    @needs("thing:list")
    @writes("change", "UPDATE", module="thing")
    async def on_put(self, context: RequestContext, id: int) -> None:  # noqa: A002 - of the path
        """Ask what a change of rights asks: about codes, about an edit, or about a row of an import."""
        assert context.policy is not None
        policy = context.policy
        if id == NEWER:  # published while the request waited for the lock
            policy = Policy(policy.model_text, policy.rules, {}, REVISION + 1)
        if id == OBJECTS:
            decision = context.decide("service", "orders list")
            if not decision.allowed:
                raise PermissionDenied(Sentence("Not yours"), decision)
        check = DelegationCheck(policy, context.user, STORED)
        if id == OBJECTS:
            check.require_service("bind", "orders")
            return
        if id in (EDITS, NEWER):
            check.require_request("DELETE", "/api/thing/7", "/api/thing/{id}")
            return
        await check.require_any(["thing:read", "thing:list"], Sentence("Not yours"))
        try:
            await check.require(["thing:delete", "thing:drop"], Sentence("Not yours"))
        except PermissionDenied as refusal:
            if id != IMPORTS:
                raise
            raise RowsRefused([RowFault(1, "roles", Sentence("No"), refusal.code, refusal)]) from None


class Devices:
    """Devices, which have names."""

    @login()
    async def on_get(self, _context: RequestContext, device: str) -> str:
        """Return its name."""
        return device


class Public:
    """Links that need no login."""

    @public()
    async def on_get(self, _context: RequestContext, token: str) -> int:
        """Return nothing that matters."""
        return len(token)


LINES = (
    Rule("resource", "@unregistered", "@login"),
    Rule("resource", "@no-session", "@anyone"),
    Rule("resource", "GET /api/thing/7", "thing:seventh"),
    Rule("resource", "GET /api/device/kiosk", "@login"),
    Rule("endpoint", "GET /api/thing/{id}", "thing:list"),
    Rule("endpoint", "GET /api/thing/{id}", "thing:read"),
    Rule("endpoint", "PUT /api/thing/{id}", "thing:list"),
    Rule("endpoint", "DELETE /api/thing/{id}", "thing:delete"),
    Rule("endpoint", "GET /api/device/{device}", "@login"),
    Rule("endpoint", "GET /api/public/{token}", "@anyone"),
    Rule("service", "orders list", "thing:list"),
    Rule("service", "orders bind", "thing:delete"),
    Rule("grant", "thing:list", "thing:list"),
    Rule("grant", "thing:delete", "thing:delete"),
    Rule("grant", "thing:drop", "thing:drop"),
)


def caller(user_id: int, *codes: str) -> Caller:
    """Return a user with these codes and the role ``staff``."""
    return Caller(user_id, str(user_id), "alice", "Alice", "web", ("staff",), HeldCodes(codes), 0.0)


class Known(Authenticator):
    """Knows callers by their tokens."""

    def __init__(self, callers: Mapping[str, Caller]) -> None:
        self._callers = callers

    def remembered(self, sent: bytes, permission_map: PermissionMap, now: float) -> None:
        """Remember nothing."""

    async def authenticate(
        self, token: str, permission_map: PermissionMap, **_more: Span | bool | None
    ) -> Authenticated:
        assert isinstance(permission_map, PermissionMap)
        if token not in self._callers:
            raise TokenInvalid
        return Authenticated(self._callers[token], REVISION)


class Kept(DecisionWriter):
    """Keeps the events instead of writing them."""

    def __init__(self) -> None:
        self.events: list[DecisionEvent] = []
        self.missed = 0

    def put(self, event: Event) -> None:
        assert isinstance(event, DecisionEvent)
        self.events.append(event)

    def miss(self) -> None:
        self.missed += 1


@dataclass(frozen=True)
class World:
    """The service, and the events of its requests."""

    app: RequestMiddleware
    policy: Policy
    kept: Kept

    async def ask(self, method: str, target: str, token: str | None = None) -> Answer:
        """Send one request."""
        headers = [("Authorization", f"Bearer {token}")] if token else []
        return await ask(self.app, method, target, ("X-Request-Id", "req-1"), *headers)

    async def event(self, method: str, target: str, token: str | None = None) -> DecisionEvent:
        """Send one request, and return its event."""
        await self.ask(method, target, token)
        assert self.kept.missed == 0
        (event,) = self.kept.events
        self.kept.events.clear()
        return event


_shipped = cache(read_shipped)


def world(callers: Mapping[str, Caller], lines: Iterable[Rule] = LINES, *, allows: float = 1.0) -> World:
    """Return a service that logs this share of what it allows."""
    shipped = _shipped()
    policy = Policy(shipped.model_text, undemanding(lines), {}, REVISION, own_digest="5e" * 32)
    live = LivePolicy(shipped, RevisionSeals())
    live.offer(policy)

    async def newest() -> int:
        return REVISION

    guard = AuthorizationGuard(
        HeaderToken("Authorization", "Bearer "), Known(callers), live, PublishedRevisions(live, newest)
    )
    app, kept = Application(), Kept()
    routes = Routes(app, guard)
    routes.add("/api/thing/{id}", Things())
    routes.add("/api/device/{device}", Devices())
    routes.add("/api/public/{token}", Public())
    return World(
        RequestMiddleware(app, counts=[DecisionEvents(DecisionLog(kept, allows)).note]), policy, kept
    )
