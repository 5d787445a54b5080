"""Through the real proxies, by the files of the guide: the path decided about is the path served."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.features.decisions.decision_point import PROXY_KEY, RESOURCES, ZOE, DecisionPoint
from tests.support.cases import with_each
from tests.support.proxies import Front, Recorder, front
from tests.web.served import strictly_served

ALICE, ZOES = "Authorization: Bearer alice", "Authorization: Bearer zoe"


class Guarded:
    """A service behind a proxy of one kind, with a decision point of its own."""

    def __init__(self, point: DecisionPoint, proxy: Front) -> None:
        self.point = point
        self.kind = proxy.kind
        self.send = proxy.send


KINDS = ("caddy", "nginx", "traefik", "envoy")
# The wheels of the last two are large: 87 MB.
MARKED = [*KINDS[:2], *(pytest.param(kind, marks=pytest.mark.extended) for kind in KINDS[2:])]


@pytest.fixture(scope="module", params=MARKED)
async def guarded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Guarded]:
    async with AsyncExitStack() as stack:
        point = DecisionPoint()
        served = await stack.enter_async_context(strictly_served(point.app))
        service = await stack.enter_async_context(Recorder().running())
        folder = tmp_path_factory.mktemp(request.param)
        yield Guarded(
            point,
            await stack.enter_async_context(front(request.param, folder, served, service, key=PROXY_KEY)),
        )


async def test_an_allowed_request_reaches_the_service_with_an_identity(guarded: Guarded) -> None:
    answer, served = await guarded.send("GET /orders/7?x=/y", ALICE)
    assert (answer.status, answer.body) == (200, b"orders")
    assert served is not None
    assert served.line == "GET /orders/7?x=/y HTTP/1.1"
    assert served.values("x-portcullis-user") == ["alice"]
    assert served.values("x-portcullis-user-id") == ["7"]
    assert served.values("x-portcullis-roles") == ["clerk,night%20watch"]
    (decision,) = served.values("x-portcullis-decision")
    assert decision.startswith("r1-")
    assert served.values("x-portcullis-assertion") in ([], [""])


async def test_a_body_goes_to_the_service_alone(guarded: Guarded) -> None:
    answer, served = await guarded.send("POST /orders", ZOES, body=b"id=7")
    assert answer.status == 200
    assert served is not None
    assert served.values("content-length") == ["4"]


async def test_what_is_denied_does_not_reach_the_service(guarded: Guarded) -> None:
    for line, status in {"DELETE /orders/7": 403, "GET /secrets": 403}.items():
        answer, served = await guarded.send(line, ALICE)
        assert (answer.status, served) == (status, None)
        assert "x-portcullis" not in answer.head
        if guarded.kind != "nginx":
            assert b"permission_denied" in answer.body
    answer, served = await guarded.send("GET /orders/7")
    assert (answer.status, served) == (401, None)
    assert "www-authenticate: bearer" in answer.head
    answer, served = await guarded.send("GET /status")
    assert answer.status == 200
    assert served is not None
    assert served.values("x-portcullis-user") in ([], [""])


async def test_the_challenge_to_step_up_reaches_the_client(guarded: Guarded) -> None:
    guarded.point.publish(RESOURCES, demands=["resource orders GET /orders/{id}, @two-factors-within-15m"])
    try:
        answer, served = await guarded.send("GET /orders/7", ALICE)
    finally:
        guarded.point.publish(RESOURCES)
    assert (answer.status, served) == (401, None)
    assert 'error="insufficient_user_authentication", acr_values="mfa phr", max_age="900"' in answer.head
    assert answer.head.count("www-authenticate:") == 1
    if guarded.kind != "nginx":
        assert b'"acrValues":["mfa","phr"]' in answer.body


FORGED = (
    "X-Forwarded-Uri: /status",
    "X-Forwarded-Method: GET",
    "X-Forwarded-Host: evil.test",
    "X-Original-URI: /status",
    "X-Original-Method: GET",
    "X-Original-Host: evil.test",
    "X-Envoy-Original-Path: /status",
    "X-Forwarded-Prefix: /status",
    "Forwarded: for=1.2.3.4;host=evil.test;proto=https",
)


@with_each("header", FORGED)
async def test_a_client_forges_no_part_of_the_original_request(guarded: Guarded, header: str) -> None:
    answer, served = await guarded.send("DELETE /orders/7", ALICE, header)
    assert (answer.status, served) == (403, None)
    answer, served = await guarded.send("DELETE /orders/7", ZOES, header)
    assert answer.status == 200
    assert served is not None
    assert served.line == "DELETE /orders/7 HTTP/1.1"


@with_each("name", ["X-Portcullis-User", "X-Portcullis-User-Id", "x-portcullis-roles"])
@with_each("underscores", [False, True])
async def test_a_client_forges_no_identity(guarded: Guarded, name: str, *, underscores: bool) -> None:
    spelt = name.replace("-", "_") if underscores else name
    for line, credentials in ("GET /status", ()), ("GET /orders/7", (ALICE,)):
        _, served = await guarded.send(line, *credentials, f"{spelt}: root")
        assert served is None or "root" not in served.values(name.lower())
    if not underscores:  # Caddy and nginx drop headers with underscores, which is as good
        answer, served = await guarded.send("GET /status", f"{spelt}: root")
        assert (answer.status, served) == (500 if guarded.kind == "nginx" else 400, None)


DROPPED = (
    "X-Portcullis-User",
    "X-Portcullis-Decision",
    "X-Portcullis-Key",
    "X-Forwarded-Uri",
    "X-Forwarded-Method",
    "X-Original-URI",
    "Authorization",
    "Host",
)


@with_each("name", DROPPED)
async def test_a_client_has_no_header_dropped_on_the_way(guarded: Guarded, name: str) -> None:
    """Headers that ``Connection`` names end at the next hop (RFC 9110 §7.6.1)."""
    answer, served = await guarded.send("GET /orders/7", ALICE, f"Connection: close, {name}")
    assert (served is None) == (answer.status != 200)
    if served is not None:
        assert served.target == "/orders/7"
        assert served.values("x-portcullis-user") == ["alice"]
        assert len(served.values("x-portcullis-decision")) == 1
    assert (await guarded.send("DELETE /orders/7", ALICE, f"Connection: close, {name}"))[1] is None


@pytest.mark.parametrize(
    "header", ["X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE", "X-Method-Override: DELETE"]
)
async def test_a_client_does_not_change_the_method_behind_the_decision(guarded: Guarded, header: str) -> None:
    answer, served = await guarded.send("GET /orders/7", ALICE, header)
    assert (answer.status, served) == (500 if guarded.kind == "nginx" else 400, None)


MOVING = ("Script-Name", "Path-Info", "Daphne-Root-Path", "X-Script-Name", "X-Original-URL", "X-Rewrite-URL")


@with_each("name", MOVING)
async def test_a_client_does_not_change_the_path_behind_the_decision(guarded: Guarded, name: str) -> None:
    answer, served = await guarded.send("GET /orders/7", ALICE, f"{name}: /orders")
    assert (answer.status, served) == (500 if guarded.kind == "nginx" else 400, None)
    _, served = await guarded.send("GET /orders/7", ALICE, f"{name.replace('-', '_').upper()}: /orders")
    assert served is None or served.values(name) == []  # nginx drops it, and so does Caddy


@with_each("method", ["get", "Get", "PROPFIND", "TRACE", "QUERY", "DELETE/x"])
async def test_odd_methods_are_closed(guarded: Guarded, method: str) -> None:
    answer, served = await guarded.send(f"{method} /status", ZOES)
    assert served is None
    assert answer.status >= 400


async def test_head_is_decided_as_get(guarded: Guarded) -> None:
    answer, served = await guarded.send("HEAD /orders/7", ALICE)
    assert answer.status == 200
    assert served is not None
    assert served.line == "HEAD /orders/7 HTTP/1.1"
    assert (await guarded.send("HEAD /secrets", ALICE))[1] is None


async def test_an_upgrade_is_decided_like_any_request_and_never_answered_by_portcullis(
    guarded: Guarded,
) -> None:
    upgrade = (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    answer, served = await guarded.send("GET /orders/7", *upgrade)
    # Envoy refuses upgrades that its route does not allow before it asks.
    assert (answer.status, served) == (403 if guarded.kind == "envoy" else 401, None)
    answer, served = await guarded.send("GET /orders/7", ALICE, *upgrade)
    assert (served is None) == (answer.status != 200)
    assert answer.status == (403 if guarded.kind == "envoy" else 200)


async def test_a_token_is_sent_once(guarded: Guarded) -> None:
    for first, second in (ALICE, ZOES), (ZOES, ALICE):
        _, served = await guarded.send("DELETE /orders/7", first, second)
        # Envoy refuses the second by itself; nginx would pass on both.
        assert served is None


async def test_a_cookie_is_a_token_and_changes_need_a_proof(guarded: Guarded) -> None:
    cookie, proof = "Cookie: portcullis_access=zoe", f"X-CSRF-Token: {guarded.point.proof(ZOE)}"
    assert (await guarded.send("GET /orders/7", cookie))[0].status == 200
    for headers, status in {
        (cookie,): 403,
        (cookie, proof, "Origin: http://evil.test"): 403,
        (cookie, proof, "Sec-Fetch-Site: cross-site"): 403,
        (cookie, proof, "Origin: http://orders.test"): 200,
    }.items():
        answer, served = await guarded.send("POST /orders", *headers, body=b"x")
        assert (answer.status, served is None) == (status, status != 200)


async def test_preflights_pass_where_the_service_opts_in(guarded: Guarded) -> None:
    preflight = ("Origin: https://shop.test", "Access-Control-Request-Method: DELETE")
    assert (await guarded.send("OPTIONS /orders/7", *preflight))[0].status == 401
    guarded.point.publish(RESOURCES, router=["@allow-preflight"])
    try:
        answer, served = await guarded.send("OPTIONS /orders/7", *preflight)
        assert answer.status == 200
        assert served is not None
        assert served.values("x-portcullis-user") in ([], [""])
        assert (await guarded.send("OPTIONS /orders/7"))[0].status == 401
    finally:
        guarded.point.publish(RESOURCES)


async def test_a_revoked_key_closes_the_service(guarded: Guarded) -> None:
    revoked = guarded.point.credentials.callers.pop(PROXY_KEY)
    try:
        for line, headers in ("GET /status", ()), ("GET /orders/7", (ZOES,)):
            answer, served = await guarded.send(line, *headers)
            assert (answer.status, served) == (403, None)
    finally:
        guarded.point.credentials.callers[PROXY_KEY] = revoked
    assert (await guarded.send("GET /status"))[0].status == 200


async def test_a_change_of_rights_is_obeyed_from_the_next_request_on(guarded: Guarded) -> None:
    callers = guarded.point.credentials.callers
    assert (await guarded.send("GET /orders/7", ALICE))[0].status == 200
    callers["alice"], before = callers["nobody"], callers["alice"]
    try:
        assert (await guarded.send("GET /orders/7", ALICE))[0].status == 403
    finally:
        callers["alice"] = before
    assert (await guarded.send("GET /orders/7", ALICE))[0].status == 200


CLOSED: dict[str, str] = {}
MERGED = {"traefik": "/orders/7", "envoy": "/orders/7"}
TARGETS = {
    "//orders//7": MERGED,
    "/orders/../orders/7": MERGED,
    "/orders/x/../7": MERGED,
    "/orders/%2e%2e/orders/7": MERGED,
    "/status;/../orders/7": MERGED,
    "/orders/%37": MERGED,
    "/status/..;/orders/7": {"envoy": "/orders/7"},
    "/orders\\7": {"envoy": "/orders/7"},
    "/orders%5C7": CLOSED,
    "/status/..%2forders/7": CLOSED,
    "/orders%2F7": CLOSED,
    "/orders/7;v=1": CLOSED,
    "/orders/7%00": CLOSED,
    "/orders/7#/status": CLOSED,
    "/orders/caf\xe9": CLOSED,
    "/Orders/7": CLOSED,
    "/orders/": CLOSED,
    "/": CLOSED,
    "*": CLOSED,
    "/orders/7?x=/status": dict.fromkeys(KINDS, "/orders/7?x=/status"),
    "/status?x=/../orders/7": dict.fromkeys(KINDS, "/status?x=/../orders/7"),
    "/orders/a%3Fb": dict.fromkeys(KINDS, "/orders/a%3Fb"),
    "http://other.test/orders/7": dict.fromkeys(KINDS, "/orders/7"),
}
"""What the service gets of a target by the kind of proxy; closed where none stands."""


@with_each("target", TARGETS)
async def test_the_path_decided_about_is_the_path_served(guarded: Guarded, target: str) -> None:
    answer, served = await guarded.send(f"GET {target}", ZOES)
    expected = TARGETS[target].get(guarded.kind)
    assert (served and served.target) == expected
    assert (answer.status == 200) == (expected is not None)
    # Without a token, the same path passes only if it is open to anyone.
    _, served = await guarded.send(f"GET {target}")
    is_open = expected is not None and expected.startswith("/status")
    assert (served and served.target) == (expected if is_open else None)


@pytest.mark.extended
async def test_envoy_without_normalisation_is_as_safe(tmp_path: Path) -> None:
    off = ("normalize_path", "merge_slashes", "path_with_escaped_slashes_action")
    point = DecisionPoint()
    async with (
        strictly_served(point.app) as port,
        Recorder().running() as service,
        front("envoy", tmp_path, port, service, key=PROXY_KEY, without=off) as proxy,
    ):
        for target, served in TARGETS.items():
            expected = None if served is MERGED else served.get("caddy")
            reached = (await proxy.send(f"GET {target}", ZOES))[1]
            assert (reached and reached.target) == expected, target


@pytest.mark.parametrize("kind", MARKED)
async def test_while_portcullis_is_away_everything_is_closed(kind: str, tmp_path: Path) -> None:
    point = DecisionPoint()
    async with AsyncExitStack() as stack:
        stop = await stack.enter_async_context(AsyncExitStack())
        port = await stop.enter_async_context(strictly_served(point.app))
        service = await stack.enter_async_context(Recorder().running())
        proxy = await stack.enter_async_context(front(kind, tmp_path, port, service, key=PROXY_KEY))
        assert (await proxy.send("GET /status"))[0].status == 200
        point.credentials.is_down = True
        for line in ("GET /status", "GET /orders/7"):
            answer, served = await proxy.send(line, ZOES)
            assert (answer.status, served) == ({"nginx": 500, "envoy": 403}.get(kind, 503), None)
        point.credentials.is_down = False
        assert (await proxy.send("GET /status"))[0].status == 200
        await stop.aclose()
        for line in ("GET /status", "GET /orders/7"):
            answer, served = await proxy.send(line, ZOES)
            assert (answer.status, served) == ({"caddy": 502, "envoy": 403}.get(kind, 500), None)
