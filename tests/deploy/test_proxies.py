"""The proxies of deploy/caddy and deploy/nginx, run before a service that keeps what it gets."""

import asyncio
import json
import re
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from ipaddress import ip_network

import pytest

from service.features.operations.diagnosis.public import ask_publicly
from service.server.stop_order import GRACE
from service.settings import Settings
from service.web.messages.address import address_behind
from service.web.messages.original import IDENTITY, PROXY_KEY
from tests.support.cases import with_each
from tests.support.deployed_proxies import CADDYFILE, HOST, KINDS, NGINX, deployed
from tests.support.proxies import Recorder, Served

CLIENT = "127.0.0.2"
PATHS = ("/api//x", "/api/../x", "/api/%2e%2e/x", "/api/a%2Fb", "/api/x;v=1/", "/api/%37?x=/y")
FORGED = (
    *("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Prefix"),
    *("X-Forwarded-Server", "X-Forwarded-Uri", "X-Forwarded-Method", "Forwarded", "X-Real-IP", "Upgrade"),
    *("X-Original-URI", "X-Original-URL", "X-Original-Method", "X-Original-Host"),
    *("X_Forwarded_For", "X_Portcullis_User", PROXY_KEY, *IDENTITY),
)
FORGERY = "203.0.113.66"
USUAL = ("accept-encoding", "authorization", "connection", "host", "user-agent", "via")


@dataclass
class Front:
    """A proxy with TLS before ``service``."""

    kind: str
    plain: int
    port: int
    context: ssl.SSLContext
    service: Recorder

    async def send(self, line: str, *headers: str, tls: bool = True) -> tuple[str, Served | None]:
        """Send a request from ``CLIENT``; return the head of the answer, and what the service got."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1",
            self.port if tls else self.plain,
            ssl=self.context if tls else None,
            server_hostname=HOST if tls else None,
            local_addr=(CLIENT, 0),
        )
        self.service.served.clear()
        lines = [f"{line} HTTP/1.1", f"Host: {HOST}", *headers]
        lines += [] if any(header.startswith("Connection:") for header in headers) else ["Connection: close"]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        async with asyncio.timeout(20):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        writer.close()
        got = [served for served in self.service.served if served.target != "/health/ready"]
        return head, got[0] if got else None


@pytest.fixture(scope="module", params=KINDS)
async def front(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Front]:
    kind: str = request.param
    async with (
        Recorder().running() as service,
        deployed(kind, tmp_path_factory.mktemp(kind), [service.port]) as proxy,
    ):
        yield await answering(Front(kind, proxy.plain, proxy.port, proxy.context, service))


async def answering(front: Front) -> Front:
    """Return when requests reach the service: Caddy makes a certificate first."""
    for _ in range(500):
        try:
            if (await front.send("GET /first"))[1] is not None:
                return front
        except OSError:
            pass
        await asyncio.sleep(0.02)
    raise AssertionError("the proxy does not answer")


async def test_no_header_of_a_client_is_taken_for_one_of_the_proxy(front: Front) -> None:
    _, got = await front.send("GET /api/x", *(f"{name}: {FORGERY}" for name in FORGED))
    assert got is not None
    assert FORGERY not in {value for _, value in got.headers}
    assert got.values("X-Forwarded-For") == [CLIENT]
    assert got.values("X-Forwarded-Proto") == ["https"]
    assert got.values("X-Forwarded-Host") == [HOST]


async def test_the_service_that_trusts_the_proxy_knows_the_client(front: Front) -> None:
    _, got = await front.send("GET /api/x", f"X-Forwarded-For: {FORGERY}, 127.0.0.1")
    assert got is not None
    headers = [(name.lower().encode(), value.encode()) for name, value in got.headers]
    scope = {"client": ("127.0.0.1", 4711), "headers": headers}
    assert address_behind((ip_network("127.0.0.1/32"),))(scope) == CLIENT


def arrived(got: Served) -> bytes:
    """Answer as a node that trusts the proxy tells what has arrived."""
    headers = [(name.lower().encode(), value.encode()) for name, value in got.headers]
    address = address_behind((ip_network("127.0.0.1/32"),))(
        {"client": ("127.0.0.1", 4711), "headers": headers}
    )
    arrived = {name.lower(): value for name, value in got.headers if name.lower() not in USUAL}
    request = {"address": address, "peer": "127.0.0.1", "headers": arrived}
    return json.dumps({"data": {"parts": {}, "details": {"request": request}}}).encode()


async def test_the_doctor_finds_that_nothing_forged_passes(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda _host, *rest, **more: resolve("127.0.0.1", *rest, **more)
    )
    monkeypatch.setattr(ssl, "create_default_context", lambda: front.context)
    monkeypatch.setattr(front.service, "answer", arrived)
    findings = dict(await asyncio.to_thread(ask_publicly, f"https://{HOST}:{front.port}", "mX3-" * 8))
    assert findings["public-url"].state == findings["public-headers"].state == "ok"
    assert findings["public-headers"].message.endswith("x-forwarded-for, x-forwarded-host, x-forwarded-proto")
    assert findings["public-address"].state == "unknown"  # the proxy is on the same machine


async def test_nobody_has_a_header_of_the_proxy_removed(front: Front) -> None:
    head, got = await front.send("GET /api/x", "Connection: close, X-Forwarded-For")
    assert got is None
    assert head.startswith("HTTP/1.1 400 ")


async def test_what_the_client_means_reaches_the_service(front: Front) -> None:
    sent = {
        "Authorization": "Bearer a.b.c",
        "Cookie": "__Host-access=a; b=c",
        "Origin": f"https://{HOST}",
        "If-Match": '"7"',
        "Range": "bytes=0-9",
        "User-Agent": "a browser",
        "X-Request-Id": "mine",
        "Idempotency-Key": "once",
    }
    _, got = await front.send("GET /api/x", *(f"{name}: {value}" for name, value in sent.items()))
    assert got is not None
    assert {name: got.values(name) for name in (*sent, "Host")} == {
        name: [value] for name, value in {**sent, "Host": HOST}.items()
    }


@with_each("path", PATHS)
async def test_a_path_goes_on_as_it_was_written(front: Front, path: str) -> None:
    _, got = await front.send(f"GET {path}")
    assert got is not None
    assert got.target == path


@pytest.mark.parametrize("path", ["/metrics", "/access/v1/forward/caddy/orders"])
async def test_what_is_for_programs_inside_stays_inside(front: Front, path: str) -> None:
    head, got = await front.send(f"GET {path}")
    assert got is None
    assert head.startswith("HTTP/1.1 404 ")


@pytest.mark.parametrize("target", [f"{HOST}:443", "elsewhere.example.com:443"])
async def test_nobody_gets_a_tunnel(front: Front, target: str) -> None:
    head, got = await front.send(f"CONNECT {target}")
    assert got is None
    assert head.split()[1] in ("400", "405", "421")


async def test_a_request_for_another_host_goes_no_further(front: Front) -> None:
    head, got = await front.send("GET https://elsewhere.example.com/api/x")
    assert got is None
    assert head.startswith("HTTP/1.1 421 ")


async def test_browsers_are_told_to_use_tls_only(front: Front) -> None:
    head, _ = await front.send("GET /api/x")
    assert "strict-transport-security: max-age=63072000" in head.lower()
    head, got = await front.send("GET /api/x", tls=False)
    assert got is None
    assert head.startswith("HTTP/1.1 308 ")
    assert f"location: https://{HOST}/api/x\r\n" in head.lower()


def test_the_bodies_of_all_allowed_uploads_pass() -> None:
    (megabytes,) = re.findall(r"client_max_body_size (\d+)m;", NGINX)
    assert int(megabytes) * 1024 * 1024 > Settings().upload.max_bytes
    assert "request_body" not in CADDYFILE  # Caddy has no limit of its own


@pytest.mark.parametrize("text", [CADDYFILE, NGINX], ids=KINDS)
def test_kept_connections_are_closed_by_the_proxy_first(text: str) -> None:
    (seconds,) = re.findall(r"keepalive(?:_timeout)? (\d+)s", text)
    assert int(seconds) < Settings().server.keep_alive


def test_a_restarted_node_is_back_before_the_next_one_refuses() -> None:
    (seconds,) = re.findall(r"fail_timeout=(\d+)s", NGINX)
    assert int(seconds) + 1 < GRACE  # nginx counts whole seconds
    (seconds,) = re.findall(r"fail_duration (\d+)s", CADDYFILE)
    assert int(seconds) <= GRACE
