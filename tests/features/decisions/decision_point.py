"""Portcullis as proxies see it, without stores: real routes, gate and policy, and a table of credentials."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from service.audit.seals import RevisionSeals
from service.authn.authenticate import Authenticator
from service.authn.csrf import Csrf
from service.authn.tokens import Tokens
from service.authn.verified import Authenticated
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ASSURANCE, Rule
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.revisions import PublishedRevisions
from service.authz.publishing.shipped import read_shipped
from service.errors import TokenInvalid, Unavailable
from service.features.decision_log.decision_event import EvaluationEvent, Event, event_in
from service.features.decision_log.decision_log import DecisionLog
from service.features.decision_log.event_lines import Line
from service.features.decisions.api_forward import ForwardCaddy, ForwardEnvoy, ForwardNginx, ForwardTraefik
from service.features.decisions.assertions import Assertions
from service.features.decisions.notes import note_events
from service.kernel.assurance import NAMED
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller, Kind
from service.kernel.origin import Span
from service.kernel.permission_map import PermissionMap
from service.laboratory.analysis.answers import Answers
from service.settings import Auth
from service.web.messages.cookies import Cookies
from service.web.messages.original import PROXY_KEY as HEADER
from service.web.requests.application import Application
from service.web.requests.credentials import CookieToken
from service.web.requests.guard import AuthorizationGuard
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.support.demands import undemanding
from tests.web.driver import Answer, ask

PROXY_KEY = "pck_of_the_proxy"
ENDPOINTS = {
    "caddy": ForwardCaddy,
    "traefik": ForwardTraefik,
    "nginx": ForwardNginx,
    "envoy": ForwardEnvoy,
}
OPENINGS = ["@unregistered, @login", "@no-session, @anyone", "@preflight, @anyone"]
RESOURCES = [
    "orders GET /orders, orders:order:list",
    "orders GET /orders/{id}, orders:order:read",
    "orders DELETE /orders/{id}, orders:order:delete",
    "orders POST /orders, orders:order:create",
    "orders GET /status, @anyone",
    "orders GET /me, @login",
]
AUTH = Auth(jwt_secret="kQ8vW2nR5tY7uI0pL3sD6fG9hJ1zX4cV", is_read_cookie=True, cookie_secure=False)


def caller(
    user_id: int,
    name: str,
    *codes: str,
    roles: tuple[str, ...] = (),
    kind: Kind = "person",
    service: str | None = None,
) -> Caller:
    held, by_password = HeldCodes(codes), NAMED if kind == "person" else None
    return Caller(
        user_id, str(user_id), name, name, "web", roles, held, 5.0, kind, service, authentication=by_password
    )


ALICE = caller(7, "alice", "orders:*:list", "orders:order:read", roles=("clerk", "night watch"))
ZOE = caller(8, "Zoë, née %", "orders:*")


@dataclass
class Credentials(Authenticator):
    """Knows callers by token or key; ``announced`` is the revision that the session store tells,
    ``is_down`` is true while that can't be asked."""

    callers: dict[str, Caller] = field(
        default_factory=lambda: {
            PROXY_KEY: caller(50, "proxy", "system:policy:evaluate", kind="service", service="orders"),
            "gateway": caller(51, "gateway", "system:policy:evaluate", kind="service"),
            "powerless": caller(52, "powerless", "orders:*", kind="service"),
            "person": caller(53, "person", "*"),
            "alice": ALICE,
            "zoe": ZOE,
            "nobody": caller(9, "nobody"),
        }
    )
    announced: int = 1
    is_down: bool = False

    def remembered(self, sent: bytes, permission_map: PermissionMap, now: float) -> None:
        """Remember nothing."""

    async def authenticate(
        self, token: str, permission_map: PermissionMap, **_more: Span | bool | None
    ) -> Authenticated:
        assert isinstance(permission_map, PermissionMap)
        if self.is_down:
            raise Unavailable
        if token not in self.callers:
            raise TokenInvalid
        return Authenticated(self.callers[token], self.announced)


class _Events:
    """Keeps the events of a decision log, as they are read from its lines."""

    def __init__(self) -> None:
        self.events: list[EvaluationEvent] = []

    def put(self, event: Event) -> None:
        raise AssertionError(event)

    def put_lines(self, lines: Sequence[Line]) -> None:
        events = [event_in(b"".join(line)) for line in lines]
        self.events += [event for event in events if isinstance(event, EvaluationEvent)]


class DecisionPoint:
    """One service with the four routes of forward authentication; ``rules`` are lines without ``p``."""

    def __init__(
        self,
        resources: Iterable[str] = RESOURCES,
        router: Iterable[str] = ("@nobody",),
        auth: Auth = AUTH,
        openings: Iterable[str] = OPENINGS,
    ) -> None:
        self.credentials = Credentials()
        kept = _Events()
        self.events = kept.events
        self._shipped = read_shipped()
        self.accounts = self._shipped.accounts
        self.openings = tuple(openings)
        self.live = LivePolicy(self._shipped, RevisionSeals())
        self.publish(resources, router)
        self.csrf = Csrf(auth)
        token = CookieToken("Authorization", "Bearer ", Cookies(auth))
        self.revisions = revisions = PublishedRevisions(self.live, self._newest)
        app = Application()
        guard = AuthorizationGuard(token, self.credentials, self.live, revisions)
        routes = Routes(app, guard)
        self.tokens = Tokens(auth)
        assertions = Assertions(auth, self.tokens)
        note = partial(note_events, DecisionLog(None, 1.0, kept))
        for profile, endpoint in ENDPOINTS.items():
            routes.add(
                f"/access/v1/forward/{profile}/{{service}}",
                endpoint(guard, Answers(), assertions, note),
            )
        self.app = RequestMiddleware(app, takes_path=routes.takes_path)

    def publish(
        self,
        resources: Iterable[str],
        router: Iterable[str] = ("@nobody",),
        demands: Iterable[str] = (),
    ) -> None:
        """Put lines in force; ``demands`` are objects of the layer ``assurance``, each with its word."""
        lines = [f"resource, {line}" for line in (*self.openings, *resources)]
        lines += [f"service, orders, {word}" for word in router]
        lines += [
            f"endpoint, GET /access/v1/forward/{kind}/{{service}}, system:policy:evaluate"
            for kind in ENDPOINTS
        ]
        rules = undemanding([*(Rule(*line.split(", ")) for line in lines), *self.accounts])
        demanded = dict(demand.split(", ", 1) for demand in demands)
        rules = [
            rule._replace(code=demanded.get(rule.object, rule.code)) if rule.layer == ASSURANCE else rule
            for rule in rules
        ]
        self.live.offer(Policy(self._shipped.model_text, rules, {}, self.live.current.revision + 1))

    async def _newest(self) -> int:
        return self.live.current.revision

    def proof(self, user: Caller) -> str:
        """Return a CSRF token for the token of ``user``."""
        return self.csrf.issue(user.login_id, round(user.issued_at * 1000))

    async def ask(
        self,
        kind: str,
        line: str,
        *headers: str,
        key: str | None = PROXY_KEY,
        service: str = "orders",
        **scope: Any,
    ) -> Answer:
        """Ask about a request as a proxy of ``kind`` does, with the headers of its client."""
        method, target = line.split(" ", 1)
        sent = [header.partition(": ")[::2] for header in headers]
        sent += [] if key is None else [(HEADER, key)]
        path = f"/access/v1/forward/{kind}/{service}"
        if kind == "envoy":
            return await ask(self.app, method, path + target, ("Host", "orders.test"), *sent, **scope)
        family = "Original" if kind == "nginx" else "Forwarded"
        forwarded = [
            (f"X-{family}-Method", method),
            (f"X-{family}-Uri", target),
            (f"X-{family}-Host", "orders.test"),
        ]
        return await ask(self.app, "GET", path, ("Host", "portcullis.test"), *forwarded, *sent, **scope)
