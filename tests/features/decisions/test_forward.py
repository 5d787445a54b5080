"""What proxies ask, and what they are answered: each header profile, without a proxy."""

import time
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from service.authz.engine.policy import Policy
from service.authz.engine.rules import METHODS
from service.kernel.assurance import Authentication
from service.web.messages.original import PROXY_KEY as HEADER
from tests.features.decisions.decision_point import (
    ALICE,
    OPENINGS,
    PROXY_KEY,
    RESOURCES,
    ZOE,
    DecisionPoint,
    caller,
)
from tests.support.cases import with_each
from tests.web.driver import Answer, ask

POINT = DecisionPoint()
KINDS = ["caddy", "traefik", "nginx", "envoy"]
every = with_each("kind", KINDS)
BEARER = "Authorization: Bearer "
IDENTITY = ("user", "user-id", "roles", "decision", "assertion")


def identity(answer: Answer) -> dict[str, str | None]:
    return {name: answer.header(f"x-portcullis-{name}") for name in IDENTITY}


@every
async def test_who_holds_the_code_passes_with_an_identity(kind: str) -> None:
    answer = await POINT.ask(kind, "GET /orders/7?x=/y", BEARER + "alice")
    assert answer.status == 200
    headers = identity(answer)
    decision = headers.pop("decision")
    assert decision is not None
    assert decision.startswith("r1-")
    assert headers == {"user": "alice", "user-id": "7", "roles": "clerk,night%20watch", "assertion": ""}
    assert answer.header("cache-control") == "no-store"


@every
async def test_who_lacks_the_code_is_refused_without_an_identity(kind: str) -> None:
    answer = await POINT.ask(kind, "DELETE /orders/7", BEARER + "alice")
    assert (answer.status, answer.code) == (403, "permission_denied")
    assert answer.json["required"] == ["orders:order:delete"]
    assert set(identity(answer).values()) == {None}
    assert answer.header("cache-control") == "no-store"


@every
async def test_who_has_to_step_up_is_challenged_and_not_called_forbidden(kind: str) -> None:
    point = DecisionPoint()
    point.publish(RESOURCES, demands=["resource orders GET /orders/{id}, @two-factors-within-15m"])
    answer = await point.ask(kind, "GET /orders/7", BEARER + "alice")
    assert (answer.status, answer.code) == (401, "insufficient_user_authentication")
    assert answer.header("www-authenticate") == (
        'Bearer error="insufficient_user_authentication", acr_values="mfa phr", max_age="900"'
    )
    assert answer.json["layer"] == "assurance"
    assert answer.json["required"] == ["@two-factors-within-15m"]
    assert (answer.json["acrValues"], answer.json["maxAge"]) == (["mfa", "phr"], 900)
    assert set(identity(answer).values()) == {None}
    assert point.events[-1].reason == "insufficient_user_authentication"
    assert point.events[-1].satisfied == frozenset({"@anyone", "@initial", "@login"})
    user = point.credentials.callers["alice"]
    now = Authentication("mfa", ("pwd", "otp", "mfa"), time.time())
    point.credentials.callers["alice"] = replace(user, authentication=now)
    assert (await point.ask(kind, "GET /orders/7", BEARER + "alice")).status == 200


@every
async def test_a_service_account_is_refused_where_a_person_is_demanded(kind: str) -> None:
    point = DecisionPoint()
    point.credentials.callers["job"] = caller(60, "job", "orders:order:read", kind="service")
    assert (await point.ask(kind, "GET /orders/7", BEARER + "job")).status == 200
    point.publish(RESOURCES, demands=["resource orders GET /orders/{id}, @login"])
    answer = await point.ask(kind, "GET /orders/7", BEARER + "job")
    assert (answer.status, answer.code) == (403, "permission_denied")
    assert answer.header("www-authenticate") is None


@every
async def test_without_a_token_only_what_is_open_to_anyone_passes(kind: str) -> None:
    answer = await POINT.ask(kind, "GET /orders/7")
    assert (answer.status, answer.code, answer.header("www-authenticate")) == (
        401,
        "unauthenticated",
        "Bearer",
    )
    assert set(identity(answer).values()) == {None}
    answer = await POINT.ask(kind, "GET /status")
    assert answer.status == 200
    headers = identity(answer)
    assert headers.pop("decision")
    assert set(headers.values()) == {""}


@every
async def test_a_login_is_enough_where_nothing_is_bound(kind: str) -> None:
    assert (await POINT.ask(kind, "GET /me", BEARER + "nobody")).status == 200
    assert (await POINT.ask(kind, "GET /me")).status == 401


@every
async def test_what_is_not_registered_is_closed(kind: str) -> None:
    for line in ("GET /secrets", "PATCH /orders/7", "GET /api/user/list", "GET /"):
        assert (await POINT.ask(kind, line, BEARER + "zoe")).code == "permission_denied"


@every
async def test_a_token_that_is_not_valid_is_refused_even_where_none_is_needed(kind: str) -> None:
    for line in ("GET /orders/7", "GET /status"):
        assert (await POINT.ask(kind, line, BEARER + "stolen")).code == "token_invalid"
    assert (await POINT.ask(kind, "GET /status", BEARER + "alice", BEARER + "zoe")).code == "bad_request"
    assert (await POINT.ask(kind, "GET /status", "Authorization: Basic eDp5")).status == 200


@every
async def test_names_that_are_no_ascii_are_percent_encoded(kind: str) -> None:
    answer = await POINT.ask(kind, "GET /orders", BEARER + "zoe")
    assert answer.header("x-portcullis-user") == "Zo%C3%AB%2C%20n%C3%A9e%20%25"


@every
@with_each("key", [None, "unknown", "", "powerless", "person"])
async def test_a_proxy_without_a_good_key_learns_nothing(kind: str, key: str | None) -> None:
    answer = await POINT.ask(kind, "GET /status", BEARER + "zoe", key=key)
    assert (answer.status, answer.code) == (
        403,
        "permission_denied" if key == "powerless" else "proxy_refused",
    )
    # A client that saw one would refresh or drop its own token, which is good.
    assert answer.header("www-authenticate") is None
    assert set(identity(answer).values()) == {None}


@every
async def test_the_key_of_the_proxy_is_sent_once(kind: str) -> None:
    answer = await POINT.ask(kind, "GET /status", "X-Portcullis-Key: pck_of_the_proxy")
    assert answer.code == "bad_request"


@every
async def test_the_token_of_the_user_is_no_key_of_the_proxy(kind: str) -> None:
    answer = await POINT.ask(kind, "GET /status", BEARER + "gateway", key=None)
    assert answer.code == "proxy_refused"


@every
async def test_a_bound_account_asks_about_its_own_service_only(kind: str) -> None:
    answer = await POINT.ask(kind, "GET /status", service="billing")
    assert (answer.status, answer.code, answer.json["layer"]) == (403, "proxy_refused", "account")
    held = POINT.credentials.callers[PROXY_KEY].held
    decided = POINT.live.current.judge("account", "forward other-service", held)
    assert answer.json["decisionId"] == decided.id
    assert (await POINT.ask(kind, "GET /status", key="gateway")).status == 200


@every
async def test_nothing_of_a_service_that_is_not_known_is_open(kind: str) -> None:
    assert (await POINT.ask(kind, "GET /status", key="gateway", service="billing")).status == 401
    answer = await POINT.ask(kind, "GET /status", BEARER + "zoe", key="gateway", service="billing")
    assert answer.code == "permission_denied"
    assert (await POINT.ask(kind, "GET /x", key="gateway", service="Billing")).code == "validation_failed"


@every
@with_each(
    "target",
    [
        "//orders//7",
        "/orders//7",
        "/orders/../orders/7",
        "/orders/./7",
        "/orders/%2e%2e/orders",
        "/orders%2F7",
        "/orders/%37",
        "/orders;v=1/7",
        "/orders/..;/7",
        "/orders\\7",
        "/orders%5C7",
        "/orders/7%00",
        "/orders/caf\xe9",
        "/orders/7%",
        "/orders/7//",
        "/orders/7 ",
        "/orders/7#x",
        "/orders/7%25",
    ],
)
async def test_a_path_with_more_than_one_reading_is_refused(kind: str, target: str) -> None:
    answer = await POINT.ask(kind, f"GET {target}", BEARER + "zoe")
    assert (answer.status, answer.code) == (400, "bad_request")


@with_each("kind", ["caddy", "traefik", "nginx"])
@with_each("target", ["*", "", "orders/7", "http://orders.test/orders/7", "?x=/status"])
async def test_a_path_begins_with_a_slash(kind: str, target: str) -> None:
    assert (await POINT.ask(kind, f"GET {target}", BEARER + "zoe")).code == "bad_request"


@every
@with_each("query", ["?", "?x=/y", "?x=//y", "?x=../y", "?a?b", "?x=%2e%2E%00", "?x=a;b=c", "?a=1&a=2"])
async def test_a_query_is_no_part_of_the_path(kind: str, query: str) -> None:
    assert (await POINT.ask(kind, f"GET /orders/7{query}", BEARER + "alice")).status == 200
    assert (await POINT.ask(kind, f"GET /secrets{query}", BEARER + "alice")).status == 403


@every
@with_each("method", ["get", "Get", "PROPFIND", "TRACE", "CONNECT", "QUERY", "LIST"])
async def test_a_method_that_is_not_known_is_refused(kind: str, method: str) -> None:
    answer = await POINT.ask(kind, f"{method} /status", BEARER + "zoe")
    assert (answer.status, answer.code) == (400, "bad_request")


@every
async def test_head_is_decided_as_get(kind: str) -> None:
    answer = await POINT.ask(kind, "HEAD /orders/7", BEARER + "alice")
    assert (answer.status, identity(answer)["user"]) == (200, "alice")
    assert (await POINT.ask(kind, "HEAD /secrets", BEARER + "alice")).status == 403


@every
async def test_the_headers_of_other_dialects_are_not_read(kind: str) -> None:
    """Whatever family a client sends: the decision is about the path that the proxy tells."""
    others = {
        "X-Forwarded-Uri": "/status",
        "X-Forwarded-Method": "GET",
        "X-Original-URI": "/status",
        "X-Original-Method": "GET",
        "X-Envoy-Original-Path": "/status",
        "X-Forwarded-Prefix": "/status",
        "X_Forwarded_Uri": "/status",
        "X_Original_URI": "/status",
        "Forwarded": "for=x;host=orders.test;proto=http",
    }
    own = {"envoy": (), "nginx": ("X-Original-URI", "X-Original-Method")}
    own_family = own.get(kind, ("X-Forwarded-Uri", "X-Forwarded-Method"))
    forged = [f"{name}: {value}" for name, value in others.items() if name not in own_family]
    assert (await POINT.ask(kind, "DELETE /orders/7", *forged)).status == 401
    assert (await POINT.ask(kind, "GET /status", *forged)).status == 200


@with_each("kind", ["caddy", "traefik", "nginx"])
@with_each("part", ["Method", "Uri", "Host"])
async def test_each_header_of_the_dialect_is_there_once(kind: str, part: str) -> None:
    name = f"X-{'Original' if kind == 'nginx' else 'Forwarded'}-{part}"
    for value in ("GET", "/status", "orders.test"):
        assert (await POINT.ask(kind, "GET /status", f"{name}: {value}")).code == "bad_request"
    forwarded = {"Method": "GET", "Uri": "/status", "Host": "orders.test"}
    del forwarded[part]
    headers = [(name.replace(part, suffix), value) for suffix, value in forwarded.items()]
    path = f"/access/v1/forward/{kind}/orders"
    answer = await ask(POINT.app, "GET", path, *headers, ("Host", "x"), (HEADER, PROXY_KEY))
    assert answer.code == "bad_request"


@with_each("kind", ["caddy", "traefik", "nginx"])
async def test_the_subrequest_may_have_any_method_and_query(kind: str) -> None:
    name = "Original" if kind == "nginx" else "Forwarded"
    forwarded = [(f"X-{name}-Method", "GET"), (f"X-{name}-Uri", "/status"), (f"X-{name}-Host", "x")]
    for method in (*METHODS, "HEAD", "OPTIONS", "PROPFIND"):
        path = f"/access/v1/forward/{kind}/orders?service=billing&x"
        assert (await ask(POINT.app, method, path, *forwarded, (HEADER, PROXY_KEY))).status == 200
    path = f"/access/v1/forward/{kind}/orders/status"
    assert (await ask(POINT.app, "GET", path, *forwarded, (HEADER, PROXY_KEY))).status == 404


async def test_the_path_that_envoy_asks_about_is_the_raw_one() -> None:
    headers = (("Host", "x"), (HEADER, PROXY_KEY))
    path = "/access/v1/forward/envoy/orders"
    for tail in ("", "%2Fstatus", "?x=/status"):
        answer = await ask(POINT.app, "GET", path + tail, *headers)
        assert answer.status in (400, 422), tail
    # A server that tells no raw path has decoded what it tells.
    assert (await ask(POINT.app, "GET", path + "/status", *headers, raw_path=None)).status == 404
    assert (await ask(POINT.app, "GET", path + "/status", *headers)).status == 200


@every
@with_each(
    "header",
    [
        "X-HTTP-Method-Override: DELETE",
        "X_HTTP_Method_Override: DELETE",
        "X-HTTP-Method: DELETE",
        "X-Method-Override: DELETE",
        "X.HTTP.Method.Override: DELETE",
        "SCRIPT_NAME: /status",
        "Script-Name: ",
        "script.name: /status",
        "PATH_INFO: /status",
        "Path-Info: /status",
        "Daphne-Root-Path: /status",
        "X-Script-Name: /status",
        "X-Original-URL: /status",
        "X_Original_Url: /status",
        "X-Rewrite-URL: /status",
        "X-Portcullis-User: root",
        "x-portcullis-user: ",
        "X_Portcullis_User: root",
        "X-Portcullis_Roles: super",
        "X-Portcullis-Assertion: eyJ",
        "X-Portcullis-Anything: 1",
        "X_Portcullis_Key: pck_of_the_proxy",
        "X~Portcullis~User: root",
    ],
)
async def test_a_client_changes_neither_method_nor_path_and_sends_no_identity(kind: str, header: str) -> None:
    answer = await POINT.ask(kind, "GET /orders/7", BEARER + "alice", header)
    assert (answer.status, answer.code) == (400, "bad_request")


COOKIE = "Cookie: portcullis_access=alice"


@every
async def test_the_cookie_of_the_same_host_is_a_token_too(kind: str) -> None:
    answer = await POINT.ask(kind, "GET /orders/7", "Cookie: theme=dark; portcullis_access=alice")
    assert (answer.status, identity(answer)["user"]) == (200, "alice")
    assert (await POINT.ask(kind, "GET /orders/7", COOKIE, BEARER + "alice")).code == "bad_request"


@every
async def test_csrf_is_judged_by_the_original_method(kind: str) -> None:
    change, cookie = "POST /orders", "Cookie: portcullis_access=zoe"
    proof = f"X-CSRF-Token: {POINT.proof(ZOE)}"
    ours = "Origin: http://orders.test"
    assert (await POINT.ask(kind, change, cookie)).code == "csrf_failed"
    assert (
        await POINT.ask(kind, change, cookie, f"X-CSRF-Token: {POINT.proof(ALICE)}")
    ).code == "csrf_failed"
    assert (await POINT.ask(kind, change, cookie, proof, "Origin: http://evil.test")).code == "csrf_failed"
    assert (
        await POINT.ask(kind, change, cookie, proof, "Origin: http://portcullis.test")
    ).code == "csrf_failed"
    assert (await POINT.ask(kind, change, cookie, proof, "Sec-Fetch-Site: cross-site")).code == "csrf_failed"
    assert (await POINT.ask(kind, change, cookie, proof, ours)).status == 200
    assert (await POINT.ask(kind, change, cookie, proof, "Sec-Fetch-Site: same-origin")).status == 200
    assert (await POINT.ask(kind, change, BEARER + "zoe")).status == 200
    for safe in ("GET /orders", "HEAD /orders"):
        assert (await POINT.ask(kind, safe, cookie, "Origin: http://evil.test")).status == 200


PREFLIGHT = ("Origin: https://shop.test", "Access-Control-Request-Method: DELETE")


@every
async def test_preflights_pass_only_where_the_service_opts_in(kind: str) -> None:
    assert (await POINT.ask(kind, "OPTIONS /orders/7", *PREFLIGHT)).status == 401
    lenient = DecisionPoint(router=["@allow-preflight"])
    answer = await lenient.ask(kind, "OPTIONS /orders/7", *PREFLIGHT)
    assert answer.status == 200
    decided = lenient.live.current.judge("resource", "@preflight", None)
    assert {name: value for name, value in identity(answer).items() if value} == {"decision": decided.id}
    (event,) = lenient.events
    assert (event.outcome, event.layer, event.line) == (
        "allow",
        "resource",
        "p, resource, @preflight, @anyone",
    )
    for no_preflight in (PREFLIGHT[:1], PREFLIGHT[1:], ()):
        assert (await lenient.ask(kind, "OPTIONS /orders/7", *no_preflight)).status == 401
    assert (await lenient.ask(kind, "DELETE /orders/7", *PREFLIGHT)).status == 401
    assert (await lenient.ask(kind, "OPTIONS //orders", *PREFLIGHT)).code == "bad_request"
    assert (await lenient.ask(kind, "OPTIONS /orders/7", *PREFLIGHT, key=None)).code == "proxy_refused"


@every
async def test_without_its_line_no_preflight_passes(kind: str) -> None:
    strict = DecisionPoint(router=["@allow-preflight"], openings=OPENINGS[:2])
    assert (await strict.ask(kind, "OPTIONS /orders/7", *PREFLIGHT)).status == 401


@every
async def test_letter_case_and_last_slash_are_those_of_the_services_router(kind: str) -> None:
    for target in ("/orders/", "/Orders", "/ORDERS/"):
        assert (await POINT.ask(kind, f"GET {target}", BEARER + "zoe")).status == 403
    lenient = DecisionPoint(router=["@ignore-case", "@ignore-trailing-slash"])
    for target in ("/orders/", "/Orders", "/ORDERS/?x=/"):
        assert (await lenient.ask(kind, f"GET {target}", BEARER + "zoe")).status == 200
        assert (await lenient.ask(kind, f"GET {target}", BEARER + "nobody")).status == 403
    assert (await lenient.ask(kind, "GET /orders//", BEARER + "zoe")).status == 400


@every
async def test_a_change_that_was_announced_decides_the_next_request(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = DecisionPoint()
    newer = ["orders GET /orders/{id}, orders:order:audit"]
    revisions = []

    async def announced(_revision: int | None) -> Policy:
        point.publish(newer)
        revisions.append(2)
        return point.live.current

    monkeypatch.setattr(point.revisions, "announced", announced)
    assert (await point.ask(kind, "GET /orders/7", BEARER + "alice")).status == 200
    point.credentials.announced = 2
    answer = await point.ask(kind, "GET /orders/7", BEARER + "alice")
    assert (answer.status, answer.header("x-policy-revision")) == (403, "2")
    assert revisions == [2]


@every
async def test_what_a_client_asks_of_its_service_is_no_wish_of_the_proxy(kind: str) -> None:
    """A revision would let anybody make Portcullis wait for it."""
    for header in ("X-Policy-Min-Revision: 999999", "X-Policy-Min-Revision: newest", "Idempotency-Key: 7"):
        assert (await POINT.ask(kind, "GET /status", header)).status == 200


@every
async def test_each_decision_is_an_event_that_tells_the_user_and_who_asked(kind: str) -> None:
    point = DecisionPoint()
    answers = [
        await point.ask(kind, "GET /orders/7?token=hidden", BEARER + "alice"),
        await point.ask(kind, "DELETE /orders/7", BEARER + "alice"),
        await point.ask(kind, "GET /orders/7"),
        await point.ask(kind, "GET /status"),
        await point.ask(kind, "GET /status", service="billing"),
    ]
    assert [answer.status for answer in answers] == [200, 403, 401, 200, 403]
    recorded = [
        (event.outcome, event.reason, event.object, event.user_id, event.subject_type)
        for event in point.events
    ]
    bound, deleted = "orders GET /orders/{id}", "orders DELETE /orders/{id}"
    assert recorded == [
        ("allow", "opened", bound, 7, "token"),
        ("deny", "not_held", deleted, 7, "token"),
        ("deny", "not_logged_in", bound, None, ""),
        ("allow", "opened", "orders GET /status", None, ""),
        ("deny", "other_service", "forward other-service", None, ""),
    ]
    assert {event.asked_by for event in point.events} == {50}
    assert point.events[0].decision == answers[0].header("x-portcullis-decision")
    assert point.events[1].decision == answers[1].json["decisionId"]


@every
async def test_nothing_of_the_original_request_is_logged(kind: str) -> None:
    with capture_logs() as lines:
        point = DecisionPoint()
        await point.ask(kind, "GET /orders/secret-7?token=hidden", BEARER + "alice")
    (line,) = lines
    assert line["path"] == f"/access/v1/forward/{kind}/{{service}}"
    assert (line["user_id"], line["status"]) == (50, 200)
    assert not any("secret" in str(value) or "hidden" in str(value) for value in line.values())
