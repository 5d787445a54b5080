"""Requests from pages of other origins: which are let through by the browser, and what it is told."""

import asyncio
import secrets
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from service.app import create_app
from service.audit.seals import RevisionSeals
from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import read_shipped
from service.errors import HeadTooLarge, RequestTimeout
from service.settings import load
from service.web.requests.cors import CrossOrigin
from service.web.requests.middleware import REFUSAL, RequestMiddleware
from tests.support.cases import with_each
from tests.support.chromium import chromium
from tests.support.demands import undemanding
from tests.web.driver import Answer, ask
from tests.web.served import served, strictly_served
from tests.web.test_guard import ENDPOINTS, OPENINGS, REVISION, over

OURS = "https://app.example"
ORIGIN = ("Origin", OURS)


def app_for(*origins: str) -> RequestMiddleware:
    shipped = read_shipped()
    live = LivePolicy(shipped, RevisionSeals())
    live.offer(Policy(shipped.model_text, undemanding([*OPENINGS, *ENDPOINTS]), {}, REVISION))
    return over(live, cross_origin=CrossOrigin(origins))


APP = app_for(OURS, "http://localhost:3000")


async def preflight(
    path: str, method: str | None = "GET", origin: str = OURS, app: RequestMiddleware = APP
) -> Answer:
    asked = [] if method is None else [("Access-Control-Request-Method", method)]
    return await ask(app, "OPTIONS", path, ("Origin", origin), *asked)


def cross_origin(answer: Answer) -> dict[str, str]:
    return {name: value for name, value in answer.headers if name.startswith("access-control-")}


@with_each(
    ("method", "path", "token", "status"),
    [
        ("GET", "/api/thing", "lister", 200),
        ("GET", "/api/thing", None, 401),
        ("GET", "/api/thing", "wrong", 401),
        ("GET", "/api/thing", "nobody", 403),
        ("GET", "/api/thing", "down", 503),
        ("GET", "/api/thing/404", "lister", 404),
        ("GET", "/api/nothing", None, 404),
        ("PATCH", "/api/thing", "all", 405),
        ("GET", "/api/thing?page=0", "lister", 422),
        ("GET", "//api/thing", "lister", 400),
    ],
)
async def test_every_answer_to_a_listed_origin_may_be_read(
    method: str, path: str, token: str | None, status: int
) -> None:
    sent = [] if token is None else [("Authorization", f"Bearer {token}")]
    answer = await ask(APP, method, path, ORIGIN, *sent)
    assert answer.status == status
    assert answer.header("access-control-allow-origin") == OURS
    assert answer.header("vary") == "Origin"
    exposed = (answer.header("access-control-expose-headers") or "").split(", ")
    assert set(exposed) >= {"ETag", "Location", "X-Request-Id", "X-Policy-Revision", "X-Policy-In-Force"}
    assert "Retry-After" in exposed


@pytest.mark.parametrize("refusal", [HeadTooLarge(), RequestTimeout()])
async def test_what_the_http_server_refuses_may_be_read_too(refusal: Exception) -> None:
    scope: dict[str, Any] = {REFUSAL: refusal}
    answer = await ask(APP, "GET", "/", ORIGIN, **scope)
    assert answer.status in (431, 408)
    assert answer.header("access-control-allow-origin") == OURS


@with_each(
    "origin",
    [
        "https://other.example",
        "http://app.example",
        "https://app.example:8443",
        "https://app.example/",
        "https://app.example.evil",
        "https://APP.example",
        "https://x.app.example",
        "null",
        "*",
        "",
    ],
)
async def test_no_other_origin_is_told_anything(origin: str) -> None:
    answer = await ask(APP, "GET", "/api/open", ("Origin", origin))
    assert answer.status == 200
    assert answer.header("vary") == "Origin"  # a cache may not give its answer to another origin
    assert cross_origin(answer) == {}
    refused = await preflight("/api/thing", origin=origin)
    assert (refused.status, cross_origin(refused)) == (405, {})


async def test_two_origins_in_one_request_are_none() -> None:
    assert cross_origin(await ask(APP, "GET", "/api/open", ORIGIN, ORIGIN)) == {}


async def test_a_request_of_no_page_is_answered_as_ever() -> None:
    answer = await ask(APP, "GET", "/api/open")
    assert (answer.status, answer.header("vary"), cross_origin(answer)) == (200, "Origin", {})


async def test_without_listed_origins_nothing_is_different() -> None:
    app = app_for()
    answer = await ask(app, "GET", "/api/open", ORIGIN)
    assert (answer.header("vary"), cross_origin(answer)) == (None, {})
    assert (await preflight("/api/thing", app=app)).status == 405


async def test_a_preflight_request_needs_no_token() -> None:
    answer = await preflight("/api/thing", "POST")
    assert (answer.status, answer.body) == (204, b"")
    cors_headers = cross_origin(answer)
    assert cors_headers["access-control-allow-origin"] == OURS
    assert cors_headers["access-control-allow-methods"] == "GET, POST"
    headers = cors_headers["access-control-allow-headers"].split(", ")
    assert {"Authorization", "Content-Type", "If-Match", "X-Policy-Min-Revision"} <= set(headers)
    assert int(cors_headers["access-control-max-age"]) <= 7200  # what Chromium takes at most


@with_each(
    ("path", "method", "status"),
    [
        ("/api/nothing", "GET", 404),
        ("/api/thing", "DELETE", 405),
        ("/api/thing", "get", 405),
        ("/api/thing", None, 405),
        ("/api//thing", "GET", 400),
    ],
)
async def test_a_preflight_request_for_what_is_not_there_is_refused(
    path: str, method: str | None, status: int
) -> None:
    answer = await preflight(path, method)
    assert answer.status == status
    assert answer.header("access-control-allow-methods") is None


async def test_a_preflight_request_reaches_neither_guard_nor_responder() -> None:
    # The guard would refuse this token, and the responder always fails.
    answer = await ask(
        APP,
        "OPTIONS",
        "/api/faulty",
        ORIGIN,
        ("Access-Control-Request-Method", "GET"),
        ("Authorization", "Bearer wrong"),
    )
    assert answer.status == 204
    assert answer.header("x-policy-revision") is None


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
async def test_credentials_are_never_allowed_and_no_origin_stands_for_all(method: str) -> None:
    answer = await ask(APP, method, "/api/thing", ORIGIN, ("Access-Control-Request-Method", "GET"))
    cors_headers = cross_origin(answer)
    assert cors_headers
    assert "access-control-allow-credentials" not in cors_headers
    assert "*" not in cors_headers.values()


async def test_the_header_of_the_token_is_the_configured_one() -> None:
    shipped = read_shipped()
    live = LivePolicy(shipped, RevisionSeals())
    app = over(live, cross_origin=CrossOrigin([OURS], "X-Token"))
    headers = (await preflight("/api/thing", app=app)).header("access-control-allow-headers") or ""
    assert "X-Token" in headers.split(", ")
    assert "Authorization" not in headers


async def test_the_service_takes_its_origins_from_the_settings() -> None:
    stores = {"DATABASE_URL": "postgresql:///", "REDIS_URL": "unix:///dev/null"}
    own = {"JWT_SECRET": secrets.token_urlsafe(48), "PORTCULLIS_SERVER__CORS_ORIGINS": OURS}
    app = create_app(load({"PORTCULLIS_CONFIG": "", **stores, **own}), read_shipped())
    answer = await ask(app, "GET", "/health/live", ORIGIN)
    assert (answer.status, answer.header("access-control-allow-origin")) == (200, OURS)
    assert (await preflight("/api/role/7", "PUT", app=app)).status == 204


async def test_refusals_of_malformed_requests_may_be_read() -> None:
    # The parser tells a header when the next one begins.
    origin = f"Host: x\r\nOrigin: {OURS}\r\nAccept: */*\r\n".encode()
    requests = {
        b"GET //api/open HTTP/1.1\r\n" + origin + b"Connection: close\r\n\r\n": 400,
        b"GET /api/open HTTP/1.1\r\n" + origin + b"Bad Name: 1\r\n\r\n": 400,
        b"GET /api/open HTTP/1.1\r\n" + origin + b"Host: y\r\n\r\n": 400,
        b"PUT /api/open HTTP/1.1\r\n"
        + origin
        + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n": 400,
        b"GET /api/open HTTP/1.1\r\n" + origin + b"X: " + b"x" * 70_000 + b"\r\n\r\n": 431,
        b"OPTIONS /api/thing HTTP/1.1\r\n"
        + origin
        + b"Access-Control-Request-Method: GET\r\nConnection: close\r\n\r\n": 204,
    }
    async with strictly_served(APP) as port:
        for sent, status in requests.items():
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            head = (await asyncio.wait_for(reader.read(), 10)).partition(b"\r\n\r\n")[0].decode()
            writer.close()
            assert head.startswith(f"HTTP/1.1 {status} "), (sent[:60], head)
            assert f"access-control-allow-origin: {OURS}" in head, (sent[:60], head)


PAGE = """<!doctype html><title>waiting</title><body><script>
const call = (path, options) => fetch("http://127.0.0.1:PORT" + path, options);
const bearer = {headers: {"Authorization": "Bearer lister", "X-Policy-Min-Revision": "1"}};
(async () => {
  const said = [];
  try {
    const allowed = await call("/api/thing", bearer);
    said.push(allowed.status, allowed.headers.get("X-Policy-Revision"), (await allowed.json()).data.total);
    const stranger = await call("/api/thing");
    said.push(stranger.status, (await stranger.json()).code);
    const deleted = await call("/api/thing/7", {...bearer, method: "DELETE"});
    said.push(deleted.status);
  } catch (error) { said.push("blocked"); }
  document.body.textContent = "said: " + said.join(" ") + ".";
})();
</script></body>"""


@contextmanager
def page_on_another_origin(pages: dict[str, str]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(pages["page"].encode())

        def log_message(self, *_arguments: object) -> None:
            """Be quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def seen_by_chromium(url: str) -> str:
    program = chromium()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = await asyncio.create_subprocess_exec(
            *(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *(f"--user-data-dir={profile}", "--virtual-time-budget=20000", "--dump-dom", url),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            page, _ = await asyncio.wait_for(browser.communicate(), 60)
        finally:
            if browser.returncode is None:
                browser.kill()
                await browser.wait()
    return page.decode().partition("said: ")[2].partition(".")[0]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("listed", "expected"), [(True, "200 12 1 401 unauthenticated 403"), (False, "blocked")]
)
async def test_a_page_in_chromium_reads_answers_if_its_origin_is_listed(listed: bool, expected: str) -> None:
    pages: dict[str, str] = {}
    with page_on_another_origin(pages) as origin:
        app = app_for(origin if listed else OURS)
        async with served(app) as port:
            pages["page"] = PAGE.replace("PORT", str(port))
            assert await seen_by_chromium(origin) == expected
