"""Who is let in by the guard, and what a denial tells that a responder meets."""

import asyncio
from collections.abc import Iterable

import pytest
from structlog.testing import capture_logs

from service.audit.seals import RevisionSeals
from service.authn.authenticate import Authenticator
from service.authn.verified import Authenticated
from service.authz.engine.policy import Policy
from service.authz.engine.rules import GRANT, Rule
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.revisions import PublishedRevisions
from service.authz.publishing.shipped import read_shipped
from service.errors import PermissionDenied, RefreshRequired, TokenInvalid, Unavailable
from service.features.metrics.worker_metrics import Traffic
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.metrics import Sample
from service.kernel.origin import Span
from service.kernel.permission_map import PermissionMap
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import public
from service.web.requests.application import Application
from service.web.requests.cors import CrossOrigin
from service.web.requests.credentials import HeaderToken
from service.web.requests.guard import AuthorizationGuard
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.policies.stock import MODEL
from tests.support.cases import with_each
from tests.support.demands import undemanding
from tests.web.driver import JSON, Answer, ask
from tests.web.example_service import OpenGate, example

OPENINGS = [Rule("resource", "@unregistered", "@login"), Rule("resource", "@no-session", "@anyone")]
ENDPOINTS = [
    Rule("endpoint", "GET /api/thing", "thing:list"),
    Rule("endpoint", "GET /api/thing", "thing:create"),
    Rule("endpoint", "POST /api/thing", "thing:create"),
    Rule("endpoint", "GET /api/thing/{id}", "thing:list"),
    Rule("endpoint", "GET /api/echo", "@login"),
    Rule("endpoint", "GET /api/open", "@anyone"),
]
REVISION = 12


def caller(user_id: int, *codes: str) -> Caller:
    return Caller(user_id, str(user_id), "alice", "Alice", "web", (), HeldCodes(codes), 0.0)


CALLERS = {"lister": caller(1, "thing:list"), "nobody": caller(2), "all": caller(3, "*")}


class Table(Authenticator):
    """Knows three tokens; what real tokens are is the business of other tests."""

    def __init__(self, announced: int | None = REVISION) -> None:
        """``announced`` is the policy revision that the session store tells."""
        self.announced = announced

    def remembered(self, sent: bytes, permission_map: PermissionMap, now: float) -> None:
        """Remember nothing."""

    async def authenticate(
        self, token: str, permission_map: PermissionMap, **_more: Span | bool | None
    ) -> Authenticated:
        assert isinstance(permission_map, PermissionMap)
        if token == "down":
            raise Unavailable(Sentence("The session store is unavailable"))
        if token == "ended":
            raise RefreshRequired
        if token not in CALLERS:
            raise TokenInvalid
        return Authenticated(CALLERS[token], self.announced)


def guarded(rules: Iterable[Rule], name: str = "Authorization", prefix: str = "Bearer ") -> RequestMiddleware:
    return over(live_policy(rules), HeaderToken(name, prefix))


def over(
    live: LivePolicy,
    token: HeaderToken | None = None,
    published: int = REVISION,
    announced: int | None = REVISION,
    cross_origin: CrossOrigin | None = None,
) -> RequestMiddleware:
    """Return the example behind a gate over ``live``; ``published`` is the newest revision of all nodes."""

    async def newest() -> int:
        return published

    token = token or HeaderToken("Authorization", "Bearer ")
    guard = AuthorizationGuard(token, Table(announced), live, PublishedRevisions(live, newest))
    return example(guard, cross_origin)[0]


def live_policy(rules: Iterable[Rule]) -> LivePolicy:
    shipped = read_shipped()
    live = LivePolicy(shipped, RevisionSeals())
    live.offer(Policy(shipped.model_text, undemanding(rules), {}, REVISION))
    return live


APP = guarded([*OPENINGS, *ENDPOINTS])


async def get(path: str, token: str | None, app: RequestMiddleware = APP) -> Answer:
    return await ask(app, "GET", path, *([] if token is None else [("Authorization", f"Bearer {token}")]))


async def test_a_holder_of_the_code_is_let_in() -> None:
    answer = await get("/api/thing", "lister")
    assert (answer.status, answer.json["data"]["total"]) == (200, CALLERS["lister"].user_id)
    assert answer.header("x-policy-revision") == str(REVISION)


async def test_a_caller_without_a_code_is_refused_by_the_endpoint_layer() -> None:
    answer = await get("/api/thing", "nobody")
    assert (answer.status, answer.code) == (403, "permission_denied")
    assert (answer.json["layer"], answer.json["required"]) == ("endpoint", ["thing:list", "thing:create"])
    assert answer.json["decisionId"].startswith(f"r{REVISION}-")
    assert answer.header("x-policy-revision") == str(REVISION)


async def test_a_denial_is_logged_with_its_caller_layer_and_decision() -> None:
    with capture_logs() as lines:
        answer = await get("/api/thing", "nobody", guarded([*OPENINGS, *ENDPOINTS]))
    (line,) = lines
    assert (line["user_id"], line["denied"]) == (CALLERS["nobody"].user_id, "endpoint")
    assert line["decision"] == answer.json["decisionId"]


async def test_a_binding_is_required_as_well() -> None:
    app = guarded([*OPENINGS, *ENDPOINTS, Rule("resource", "GET /api/thing/{id}", "thing:detail")])
    answer = await get("/api/thing/7", "lister", app)
    assert (answer.status, answer.json["layer"], answer.json["required"]) == (
        403,
        "resource",
        ["thing:detail"],
    )
    assert (await get("/api/thing/7", "all", app)).status == 200


async def test_without_the_opening_what_is_not_registered_is_closed() -> None:
    answer = await get("/api/thing", "all", guarded([*OPENINGS[1:], *ENDPOINTS]))
    assert (answer.status, answer.json["layer"], answer.json["required"]) == (403, "resource", [])


async def test_without_a_policy_everything_is_refused() -> None:
    for token in ("all", "nobody"):
        assert (await get("/api/thing", token, guarded([]))).code == "permission_denied"
    assert (await get("/api/open", None, guarded([]))).code == "permission_denied"


async def test_a_login_is_enough_where_nothing_else_is_needed() -> None:
    assert (await get("/api/echo", "nobody")).status == 200
    assert (await get("/api/echo", None)).code == "unauthenticated"


@with_each("token", [None, "lister", "unknown", "down", "", "two, tokens"])
async def test_a_public_route_ignores_tokens(token: str | None) -> None:
    answer = await get("/api/open", token)
    assert (answer.status, answer.json["data"]["caller"]) == (200, "nobody")
    assert answer.header("x-policy-revision") == str(REVISION)


async def test_a_public_route_without_its_line_is_closed() -> None:
    answer = await get("/api/open", None, guarded([*OPENINGS, *ENDPOINTS[:-1]]))
    assert (answer.status, answer.json["layer"]) == (403, "endpoint")


@with_each(
    ("token", "status", "code", "challenge"),
    [
        (None, 401, "unauthenticated", "Bearer"),
        ("unknown", 401, "token_invalid", 'Bearer error="invalid_token"'),
        ("ended", 401, "refresh_required", 'Bearer error="invalid_token"'),
        ("down", 503, "unavailable", None),
    ],
)
async def test_what_the_authenticator_says_is_passed_on(
    token: str | None, status: int, code: str, challenge: str | None
) -> None:
    answer = await get("/api/thing", token)
    assert (answer.status, answer.code, answer.header("www-authenticate")) == (status, code, challenge)


async def test_a_request_is_admitted_before_it_is_parsed() -> None:
    answer = await ask(APP, "POST", "/api/thing?x=1", JSON, ("Authorization", "Bearer nobody"), body=b"{")
    assert answer.code == "permission_denied"
    assert (await get("/api/thing/one", "nobody")).code == "permission_denied"


@with_each(
    "value", ["Bearer lister", "bearer lister", "BEARER lister", "Bearer   lister", "  Bearer lister  "]
)
async def test_the_scheme_is_read_in_any_case_and_spacing(value: str) -> None:
    assert (await ask(APP, "GET", "/api/thing", ("Authorization", value))).status == 200


@with_each(
    ("value", "status", "code"),
    [
        ("", 401, "unauthenticated"),
        ("Basic lister", 401, "unauthenticated"),
        ("lister", 401, "unauthenticated"),
        ("Bearerlister", 401, "unauthenticated"),
        ("Bearer", 401, "token_invalid"),
        ("Bearer ", 401, "token_invalid"),
        ("Bearer \t ", 401, "token_invalid"),
        ("Bearer \xff", 401, "token_invalid"),
        ("Bearer lister all", 400, "bad_request"),
        ("Bearer lister\tall", 400, "bad_request"),
        ("Bearer lister,Bearer all", 400, "bad_request"),
        ("Bearer lister,", 400, "bad_request"),
    ],
)
async def test_any_other_value_of_the_header_is_refused(value: str, status: int, code: str) -> None:
    answer = await ask(APP, "GET", "/api/thing", ("Authorization", value))
    assert (answer.status, answer.code) == (status, code)


@with_each("others", [["Bearer lister"], ["Bearer all"], ["Basic x"], [""]])
async def test_two_headers_with_a_token_are_refused(others: list[str]) -> None:
    values = ["Bearer lister", *others]
    for order in (values, values[::-1]):
        answer = await ask(APP, "GET", "/api/thing", *(("Authorization", value) for value in order))
        assert (answer.status, answer.code) == (400, "bad_request")


async def test_the_header_and_its_prefix_can_be_others() -> None:
    app = guarded([*OPENINGS, *ENDPOINTS], "X-Token", "")
    assert (await ask(app, "GET", "/api/thing", ("X-Token", "lister"))).status == 200
    assert (await ask(app, "GET", "/api/thing", ("X-Token", " "))).code == "token_invalid"
    assert (await ask(app, "GET", "/api/thing", ("Authorization", "Bearer lister"))).code == "unauthenticated"
    tight = guarded([*OPENINGS, *ENDPOINTS], prefix="Token=")
    assert (await ask(tight, "GET", "/api/thing", ("Authorization", "token=lister"))).status == 200


async def test_no_other_place_of_a_request_carries_a_token() -> None:
    for headers in ([("Cookie", "access_token=lister")], [("X-Access-Token", "lister")]):
        assert (await ask(APP, "GET", "/api/thing", *headers)).code == "unauthenticated"
    assert (await ask(APP, "GET", "/api/thing?access_token=lister")).code == "unauthenticated"


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL"])
async def test_no_header_changes_what_is_decided(header: str) -> None:
    for value in ("GET", "/api/open"):
        answer = await ask(
            APP, "POST", "/api/thing", JSON, ("Authorization", "Bearer lister"), (header, value)
        )
        assert answer.code == "permission_denied"


async def at_least(revision: str, app: RequestMiddleware = APP, path: str = "/api/thing") -> Answer:
    token = ("Authorization", "Bearer lister")
    return await ask(app, "GET", path, token, ("X-Policy-Min-Revision", revision))


@pytest.mark.parametrize("revision", ["0", str(REVISION - 1), str(REVISION)])
async def test_a_revision_that_is_in_force_is_not_waited_for(revision: str) -> None:
    answer = await at_least(revision)
    assert (answer.status, answer.header("x-policy-revision")) == (200, str(REVISION))


async def test_a_published_revision_that_does_not_come_is_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("service.authz.publishing.revisions.PATIENCE", 0.01)
    answer = await at_least(str(REVISION + 1), over(live_policy([]), published=REVISION + 1))
    assert (answer.status, answer.code) == (503, "unavailable")
    assert answer.header("retry-after") == "1"
    assert answer.header("x-policy-revision") == str(REVISION)


@pytest.mark.parametrize("revision", [str(REVISION + 1), "9" * 18])
async def test_a_revision_that_nobody_has_published_is_refused_and_is_no_error_in_the_log(
    revision: str,
) -> None:
    app = guarded([*OPENINGS, *ENDPOINTS])
    with capture_logs() as lines:
        answer = await at_least(revision, app)
    assert (answer.status, answer.code) == (409, "revision_unknown")
    assert [line["log_level"] for line in lines] == ["info"]


@with_each("revision", ["", "-1", "+1", "1.0", "x", "1, 2", "9" * 19, "\u0663".encode().decode("latin-1")])
async def test_what_is_no_revision_is_a_bad_request(revision: str) -> None:
    answer = await at_least(revision)
    assert (answer.status, answer.code) == (400, "bad_request")


class NeverAsked(PublishedRevisions):
    """Fails the test that waits for a revision."""

    def __init__(self) -> None:
        """Need nothing."""

    async def at_least(self, revision: int) -> Policy:
        raise AssertionError(revision)


@pytest.mark.parametrize("revision", [str(REVISION + 1), "x"])
async def test_strangers_and_public_routes_wait_for_no_revision(revision: str) -> None:
    live = live_policy([*OPENINGS, *ENDPOINTS])
    app, _ = example(AuthorizationGuard(HeaderToken("Authorization", "Bearer "), Table(), live, NeverAsked()))
    header = ("X-Policy-Min-Revision", revision)
    for token, code in ((None, "unauthenticated"), ("unknown", "token_invalid"), ("down", "unavailable")):
        headers = [] if token is None else [("Authorization", f"Bearer {token}")]
        assert (await ask(app, "GET", "/api/thing", *headers, header)).code == code
    assert (await ask(app, "GET", "/api/open", header)).status == 200


async def test_a_request_that_asks_for_a_newer_revision_is_decided_by_it() -> None:
    live = live_policy([*OPENINGS, *ENDPOINTS])
    waiting = asyncio.create_task(at_least(str(REVISION + 1), over(live, published=REVISION + 1)))
    await asyncio.sleep(0.01)

    live.offer(Policy(live.current.model_text, undemanding(OPENINGS), {}, REVISION + 1))

    answer = await waiting
    assert (answer.status, answer.header("x-policy-revision")) == (403, str(REVISION + 1))


@pytest.mark.parametrize("announced", [REVISION + 1, None])
async def test_a_request_is_never_decided_by_a_revision_older_than_the_one_announced(
    announced: int | None,
) -> None:
    """None: the session store has lost what was announced, and the database is asked."""
    live = live_policy([*OPENINGS, *ENDPOINTS])
    app = over(live, published=REVISION + 1, announced=announced)
    waiting = asyncio.create_task(get("/api/thing", "lister", app))
    await asyncio.sleep(0.01)
    assert not waiting.done()

    live.offer(Policy(live.current.model_text, undemanding(OPENINGS), {}, REVISION + 1))

    answer = await waiting
    assert (answer.status, answer.header("x-policy-revision")) == (403, str(REVISION + 1))


async def test_a_worker_that_does_not_get_the_announced_revision_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("service.authz.publishing.revisions.PATIENCE", 0.1)
    app = over(live_policy([*OPENINGS, *ENDPOINTS]), published=REVISION + 1, announced=REVISION + 1)

    answer = await get("/api/thing", "lister", app)

    assert (answer.status, answer.code) == (503, "unavailable")
    assert int(answer.header("retry-after") or 0) > 0


async def test_nobody_waits_for_an_announced_revision_whose_change_was_rolled_back() -> None:
    app = over(live_policy([*OPENINGS, *ENDPOINTS]), published=REVISION, announced=REVISION + 1)
    answer = await get("/api/thing", "lister", app)
    assert (answer.status, answer.header("x-policy-revision")) == (200, str(REVISION))


async def test_a_request_is_authenticated_anew_by_the_revision_that_it_has_waited_for() -> None:
    """Its session may have ended meanwhile, and its token is read with another permission map."""
    live = live_policy([*OPENINGS, *ENDPOINTS])
    app = over(live, published=REVISION + 1)
    waiting = asyncio.create_task(at_least(str(REVISION + 1), app))
    await asyncio.sleep(0.01)
    lister = CALLERS.pop("lister")
    try:
        live.offer(Policy(live.current.model_text, undemanding([*OPENINGS, *ENDPOINTS]), {}, REVISION + 1))
        assert (await waiting).code == "token_invalid"
    finally:
        CALLERS["lister"] = lister


@pytest.mark.parametrize("path", ["/api/thing", "/api/open"])
async def test_before_the_first_policy_is_loaded_nobody_is_refused_for_lack_of_permission(path: str) -> None:
    answer = await get(path, "all", over(LivePolicy(read_shipped(), RevisionSeals())))

    assert (answer.status, answer.code) == (503, "unavailable")


POLICY = Policy(MODEL.read_text("utf-8"), [Rule(GRANT, "a:b", "a:b")], revision=7)
DENIAL = POLICY.judge(GRANT, "a:b", HeldCodes(["a:c"]))


class Role:
    """Changes nothing."""

    @public()
    async def on_get(self, _context: RequestContext) -> dict[str, str]:
        """Refuse."""
        raise PermissionDenied(Sentence("Not yours"), DENIAL, required=["a:b", "a:d"], needed="all")


async def test_a_denied_grant_is_answered_counted_and_logged_with_its_layer_and_decision() -> None:
    app, traffic = Application(), Traffic()
    Routes(app, OpenGate()).add("/api/role", Role())
    with capture_logs() as lines:
        answer = await ask(RequestMiddleware(app, counts=[traffic.count]), "GET", "/api/role")

    assert (answer.status, answer.json["layer"], answer.json["needed"]) == (403, "grant", "all")
    assert (answer.json["required"], answer.json["decisionId"]) == (["a:b", "a:d"], DENIAL.id)
    assert Sample("portcullis_denials_total", 1, {"layer": "grant"}) in list(traffic.samples())
    (line,) = lines
    assert (line["denied"], line["decision"]) == ("grant", DENIAL.id)
