"""Middleware for ASGI and WSGI: what is asked about is what is served, and everything else is refused."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

import httpx
import pytest

from service import errors
from service.features.decisions.client import GuardASGI, GuardWSGI, User, gate
from service.features.decisions.client.asgi import Message
from service.features.decisions.client.wsgi import AssertedWSGI
from service.web.messages import original
from service.web.requests.problems import refusals, type_of
from tests.client.decision_points import ALICE, DecisionPoint, decided
from tests.support.cases import with_each
from tests.support.proxies import GUIDE, file_of_guide

BEARER = ("Authorization", f"Bearer {ALICE}")
Guarded = Callable[..., "Served"]


class Served:
    """The status of the answer, and what the application got: None if nothing."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.seen: dict[str, Any] | None = None


async def by_asgi(
    point: DecisionPoint,
    line: str,
    *headers: tuple[str, str],
    served_path: str | None = None,
    mounted_at: str = "",
    mount: str | None = None,
    **more: Any,
) -> Served:
    """Send a request to an application behind the middleware for ASGI."""
    method, target = line.split(" ", 1)
    raw = target.partition("?")[0].encode("latin-1")
    response = Served()

    async def app(scope: Any, _receive: Any, send: Any) -> None:
        response.seen = dict(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"orders"})

    async def send(message: Message) -> None:
        response.status = message.get("status", response.status) or message.get("code", 0)
        response.headers |= {name.decode(): value.decode() for name, value in message.get("headers", [])}
        response.body += message.get("body", b"")

    scope = {
        "type": "http",
        "method": method,
        "path": served_path or unquote_to_bytes(raw).decode("utf-8", "replace"),
        "raw_path": raw,
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
    }
    if mount is not None:
        scope["root_path"] = mount
    async with point.async_client() as client:
        guard = GuardASGI(app, client, unguarded=["/health"], mounted_at=mounted_at)
        await guard(scope | more, lambda: None, send)  # type: ignore[arg-type, return-value]
    return response


async def by_wsgi(
    point: DecisionPoint,
    line: str,
    *headers: tuple[str, str],
    served_path: str | None = None,
    mounted_at: str = "",
    mount: str | None = None,
    **more: Any,
) -> Served:
    """Send a request to an application behind the middleware for WSGI."""
    method, target = line.split(" ", 1)
    raw = target.partition("?")[0].encode("latin-1")
    response = Served()

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        response.seen = environ
        start_response("200 OK", [])
        return [b"orders"]

    def start(status: str, headers: list[tuple[str, str]]) -> None:
        response.status = int(status[:3])
        response.headers = {name.lower(): value for name, value in headers}

    path = unquote_to_bytes(raw) if served_path is None else served_path.encode()
    script = (mount or "").encode()
    environ = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": script.decode("latin-1"),
        "PATH_INFO": path.removeprefix(script).decode("latin-1"),
        "REQUEST_URI": target,
    }
    for name, value in headers:
        key = f"HTTP_{name.upper().replace('-', '_')}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    with point.client() as client:
        guard = GuardWSGI(app, client, unguarded=["/health"], mounted_at=mounted_at)
        response.body = b"".join(guard(environ | more, start))  # type: ignore[arg-type]
    return response


OVERRIDES = (
    "X-HTTP-Method-Override",
    "X-HTTP-Method",
    "X-Method-Override",
    "Script-Name",
    "Path-Info",
    "Daphne-Root-Path",
    "X-Script-Name",
    "X-Original-URL",
    "X-Rewrite-URL",
)
both = with_each("guarded", [by_asgi, by_wsgi])


@both
async def test_an_allowed_request_is_served_with_its_user(guarded: Any) -> None:
    point = DecisionPoint()
    response = await guarded(point, "GET /orders/7?x=/y", BEARER)
    assert (response.status, response.body) == (200, b"orders")
    assert response.seen["portcullis.user"] == User("7", "alice", ("clerk",))
    assert point.routes == [("GET", "/orders/7")]
    assert point.asked[0][1]["subject"] == {"type": "token", "id": ALICE}


@both
@with_each(
    ("obligations", "challenge", "members"),
    [
        (
            [{"id": "step_up", "acrValues": ["mfa", "phr"], "maxAge": 900}],
            'Bearer error="insufficient_user_authentication", acr_values="mfa phr", max_age="900"',
            {"acrValues": ["mfa", "phr"], "maxAge": 900},
        ),
        (
            [{"id": "other"}, {"id": "step_up", "acrValues": ["phr"]}],
            'Bearer error="insufficient_user_authentication", acr_values="phr"',
            {"acrValues": ["phr"]},
        ),
        (
            [{"id": "step_up", "acrValues": ['" injected'], "maxAge": True}],
            'Bearer error="insufficient_user_authentication"',
            {"acrValues": []},
        ),
        (None, 'Bearer error="insufficient_user_authentication"', {"acrValues": []}),
    ],
)
async def test_who_has_to_step_up_gets_the_challenge(
    guarded: Any, obligations: Any, challenge: str, members: dict[str, Any]
) -> None:
    point = DecisionPoint(
        lambda _: decided(False, "insufficient_user_authentication", obligations=obligations)
    )
    response = await guarded(point, "GET /orders/7", BEARER)
    assert (response.status, response.seen) == (401, None)
    assert response.headers["www-authenticate"] == challenge
    problem = json.loads(response.body)
    assert problem["code"] == "insufficient_user_authentication"
    assert members.items() <= problem.items()


ANSWERS = {
    403: lambda _: decided(False, "not_held"),
    401: lambda _: decided(False, "subject_not_active"),
    503: lambda _: httpx.Response(500),
}


@both
@with_each("status", ANSWERS)
async def test_what_is_not_allowed_is_not_served(guarded: Any, status: int) -> None:
    response = await guarded(DecisionPoint(ANSWERS[status]), "GET /orders/7", BEARER)
    assert (response.status, response.seen) == (status, None)
    assert json.loads(response.body)["status"] == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"
    assert ("www-authenticate" in response.headers) == (status == 401)


@both
async def test_a_refusal_names_the_permissions_any_one_of_which_is_lacking(guarded: Any) -> None:
    codes = ["orders:order:list", "orders:order:read"]
    point = DecisionPoint(lambda _: decided(False, "not_held", required=codes))
    response = await guarded(point, "GET /orders/7", BEARER)
    assert json.loads(response.body) == as_portcullis(errors.PermissionDenied) | {
        "required": codes,
        "needed": "any",
    }


def as_portcullis(kind: type[errors.Refusal]) -> dict[str, Any]:
    """Return the problem document of Portcullis itself, without what is of one request."""
    shown = {"title": kind.title, "detail": kind.title, "status": kind.status, "code": kind.code}
    return shown | {"type": type_of(kind)}


REFUSED_TOKENS = [
    ((), "", errors.Unauthenticated),
    ((("Authorization", "Basic YTpi"),), "", errors.TokenInvalid),
    ((BEARER,), "subject_not_active", errors.RefreshRequired),
    ((("Authorization", "Bearer pck_7_secret"),), "subject_not_active", errors.TokenInvalid),
]


@both
@with_each(("headers", "reason", "kind"), REFUSED_TOKENS)
async def test_a_401_is_the_document_that_portcullis_itself_answers(
    guarded: Any, headers: Any, reason: str, kind: type[errors.Refusal]
) -> None:
    response = await guarded(DecisionPoint(lambda _: decided(False, reason)), "GET /orders/7", *headers)
    assert json.loads(response.body) == as_portcullis(kind)
    assert response.headers["www-authenticate"] == kind().headers["WWW-Authenticate"]


def test_the_guards_name_their_refusals_as_portcullis_does() -> None:
    kinds = {kind.code: kind.title for kind in refusals()}
    own = gate._TITLES | {"unavailable": kinds["unavailable"]}  # one store is out of reach: Portcullis
    assert own.items() <= kinds.items()


ROBOT = ("Authorization", "Bearer pck_7_secret")


@both
async def test_an_api_key_is_served_as_the_account_that_the_answer_names(guarded: Any) -> None:
    account = {"id": "9", "name": "robot", "roles": ["job"]}
    point = DecisionPoint(lambda _: decided(True, subject=account, decisionId="r3-1"))
    response = await guarded(point, "GET /orders/7", ROBOT)
    assert response.seen["portcullis.user"] == User("9", "robot", ("job",), "r3-1")
    assert point.asked[0][1]["subject"] == {"type": "token", "id": "pck_7_secret"}


@both
@with_each("account", [None, "robot", {}, {"id": 9, "name": "robot", "roles": []}])
async def test_an_api_key_of_which_the_answer_does_not_say_whose_it_is_is_not_served(
    guarded: Any, account: Any
) -> None:
    response = await guarded(DecisionPoint(lambda _: decided(True, subject=account)), "GET /orders/7", ROBOT)
    assert (response.status, response.seen) == (401, None)


NO_TOKEN = [
    (),
    (("Authorization", ""),),
    (("Authorization", "Basic YTpi"),),
    (("Authorization", "Bearer"),),
    (("Authorization", "Bearer a b"),),
    (("Authorization", "Bearer caf\xe9"),),
    (BEARER, BEARER),
    (("Authorization", "Bearer " + "a" * 9000),),
]


@both
@with_each("headers", NO_TOKEN)
async def test_without_one_well_formed_token_nobody_is_asked(guarded: Any, headers: Any) -> None:
    point = DecisionPoint()
    response = await guarded(point, "GET /orders/7", *headers)
    assert (response.status, response.seen, point.asked) == (401, None, [])


@both
@with_each("target", ["/orders/%C3%A9", "//orders//7", "/a/../b", "/%2e%2e/x", "/a%2Fb", "/orders/"])
async def test_the_path_is_asked_about_as_it_was_sent(guarded: Any, target: str) -> None:
    point = DecisionPoint()
    await guarded(point, f"GET {target}?q=1", BEARER)
    assert point.routes == [("GET", target)]


REFUSED = [
    "/orders;v=1",
    "/orders/{id}",
    "/a\\b",
    "/a#b",
    "http://x/orders/7",
    "*",
    "/%ff",
    "/caf\xe9",
    "/a b",
]


@both
@with_each("target", REFUSED)
async def test_a_path_that_is_none_is_refused(guarded: Any, target: str) -> None:
    point = DecisionPoint()
    response = await guarded(point, f"GET {target}", BEARER)
    assert (response.status, response.seen, point.asked) == (400, None, [])


@both
async def test_a_path_that_is_not_the_one_served_is_refused(guarded: Any) -> None:
    point = DecisionPoint()
    response = await guarded(point, "GET /orders/7", BEARER, served_path="/secrets")
    assert (response.status, response.seen, point.asked) == (400, None, [])


@both
async def test_without_the_raw_path_only_a_plain_one_is_known(guarded: Any) -> None:
    for path, status in {"/orders/7": 200, "/orders/a b": 400, "/orders/\xe9": 400, "/a%2Fb": 400}.items():
        point = DecisionPoint()
        response = await guarded(
            point, f"GET {path}", BEARER, served_path=path, raw_path=None, REQUEST_URI=""
        )
        assert (response.status, len(point.asked)) == (status, int(status == 200))


@both
@with_each("method", ["get", "G T", ""])
async def test_a_method_that_is_none_is_refused(guarded: Any, method: str) -> None:
    more = {"method": method} if guarded is by_asgi else {"REQUEST_METHOD": method}
    response = await guarded(DecisionPoint(), "GET /orders/7", BEARER, **more)
    assert (response.status, response.seen) == (400, None)


@both
@with_each("name", OVERRIDES)
async def test_a_header_that_would_change_the_method_or_the_path_is_refused(guarded: Any, name: str) -> None:
    for spelt in name, name.upper(), name.replace("-", "_"), name.replace("-", "_").upper():
        for target in "/orders/7", "/health":
            point = DecisionPoint()
            response = await guarded(point, f"GET {target}", BEARER, (spelt, "/pub"))
            assert (response.status, response.seen, point.asked) == (400, None, [])


MOUNTS = {
    # where it says that it is, what the server says: the status, and the path that is asked about
    ("", ""): (200, "/pub/orders/7"),
    ("", None): (200, "/pub/orders/7"),
    ("/pub", "/pub"): (200, "/pub/orders/7"),
    ("/pub/orders", "/pub/orders"): (200, "/pub/orders/7"),
    ("", "/pub"): (400, None),
    ("", "/"): (400, None),
    ("/pub", ""): (400, None),
    ("/pub", None): (400, None),
    ("/pub", "/pub/"): (400, None),
    ("/pub", "/pub/orders"): (400, None),
    ("/pub", "/Pub"): (400, None),
    ("/pub/orders", "/pub"): (400, None),
}


@both
@with_each(("mounted_at", "mount"), MOUNTS)
@with_each("raw", [True, False])
async def test_the_whole_path_is_asked_about_where_the_application_is_mounted_as_it_says(
    guarded: Any, mounted_at: str, mount: str | None, *, raw: bool
) -> None:
    point = DecisionPoint()
    more: dict[str, Any] = {} if raw else {"raw_path": None, "REQUEST_URI": ""}
    response = await guarded(point, "GET /pub/orders/7", BEARER, mounted_at=mounted_at, mount=mount, **more)
    status, path = MOUNTS[mounted_at, mount]
    assert (response.status, response.seen is not None) == (status, status == 200)
    assert point.routes == ([("GET", path)] if path else [])


@both
async def test_nothing_unguarded_is_open_by_another_mount(guarded: Any) -> None:
    """The application would serve ``/`` of its mount where ``/health`` is open."""
    response = await guarded(DecisionPoint(), "GET /health", mount="/health")
    assert (response.status, response.seen) == (400, None)


@both
@with_each("target", ["/orders/7", "/public/7", "/Pub/7", "//pub/7", "/pub%2F7"])
async def test_a_path_beside_the_mount_is_refused(guarded: Any, target: str) -> None:
    """gunicorn cuts ``/pub`` off ``/public/7``; other servers leave a path as it is."""
    decoded = unquote_to_bytes(target).decode()
    below = decoded.removeprefix("/pub") if guarded is by_wsgi else decoded
    if decoded.startswith("/pub/"):
        below = "" if guarded is by_wsgi else "/pub"  # what a server makes of it is not what was sent
    point = DecisionPoint()
    response = await guarded(
        point, f"GET {target}", BEARER, mounted_at="/pub", mount="/pub", served_path=below
    )
    assert (response.status, response.seen, point.asked) == (400, None, [])


@with_each("mounted_at", ["/", "pub", "/pub/", "pub/"])
def test_a_mount_begins_with_a_slash_and_ends_without_one(mounted_at: str) -> None:
    for guard in GuardASGI, GuardWSGI, AssertedWSGI:
        with pytest.raises(ValueError, match="mount path"):
            guard(None, None, mounted_at=mounted_at)  # type: ignore[arg-type]


def test_the_guards_and_forward_authentication_refuse_the_same_headers() -> None:
    assert {name.encode() for name in gate._OVERRIDES} == original._OVERRIDES
    assert {name.lower() for name in OVERRIDES} == gate._OVERRIDES


def test_the_guide_names_each_header_that_is_refused_and_lets_envoy_tell_of_it() -> None:
    table = (
        GUIDE.read_text(encoding="utf-8").partition("### Headers that are refused")[2].partition("\n## ")[0]
    )
    named = [cell for line in table.splitlines() if line.startswith("| `") for cell in line.split("|")[1:2]]
    assert sorted(re.findall("`([A-Za-z-]+)`", "".join(named))) == sorted(OVERRIDES)
    headers = set(re.findall("exact: ([a-z-]+)", file_of_guide("envoy.yaml")))
    assert headers >= gate._OVERRIDES


@both
async def test_a_client_forges_no_identity(guarded: Any) -> None:
    forged = [
        ("X-Portcullis-User", "root"),
        ("X_Portcullis_User", "root"),
        ("x-portcullis-assertion", "root"),
    ]
    for target in "/orders/7", "/health":
        response = await guarded(DecisionPoint(), f"GET {target}", BEARER, *forged)
        assert response.status == 200
        assert "root" not in str(response.seen)


@both
async def test_only_the_very_path_of_an_unguarded_one_is_open(guarded: Any) -> None:
    point = DecisionPoint(ANSWERS[403])
    response = await guarded(point, "GET /health")
    assert (response.status, response.seen["portcullis.user"], point.asked) == (200, None, [])
    for target in "/health/", "//health", "/health/x", "/%68ealth", "/Health":
        assert (await guarded(point, f"GET {target}")).status == 401


async def test_a_websocket_is_asked_about_before_it_is_accepted() -> None:
    point = DecisionPoint(ANSWERS[403])
    response = await by_asgi(point, "GET /orders/7", BEARER, type="websocket")
    assert (response.status, response.seen, point.routes) == (1008, None, [("GET", "/orders/7")])
    response = await by_asgi(DecisionPoint(), "GET /orders/7", BEARER, type="websocket")
    assert response.seen is not None


async def test_a_websocket_is_refused_below_another_mount() -> None:
    point = DecisionPoint()
    response = await by_asgi(point, "GET /pub/orders/7", BEARER, mount="/pub", type="websocket")
    assert (response.status, response.seen, point.asked) == (1008, None, [])


async def test_the_lifespan_of_the_application_is_its_own() -> None:
    response = await by_asgi(DecisionPoint(ANSWERS[403]), "GET /", type="lifespan")
    assert response.seen is not None


async def test_an_allowed_token_that_names_nobody_is_refused() -> None:
    for token in "abc", "a.b.c", "e30.e30.c2ln", "e30.W10.c2ln":
        response = await by_wsgi(DecisionPoint(), "GET /orders/7", ("Authorization", f"Bearer {token}"))
        assert (response.status, response.seen) == (401, None)
