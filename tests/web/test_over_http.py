"""The same promises through a real server and a real socket, where clients need not be polite."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import httptools
import pytest

from service.web.messages.bodies import MAX_BODY
from tests.web.example_service import example
from tests.web.served import served

pytestmark = pytest.mark.anyio


def serving() -> AbstractAsyncContextManager[int]:
    """Serve the example on a free port; yield the port."""
    app, _ = example()
    return served(app)


class Parsed:
    """Collects the responses of one connection."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)

    def on_message_begin(self) -> None:
        self.headers.append({})
        self.bodies.append(b"")

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[-1][name.decode().lower()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self.bodies[-1] += body

    def on_headers_complete(self) -> None:
        self.statuses.append(self._parser.get_status_code())

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)


async def talk(port: int, *pieces: bytes) -> Parsed:
    """Send ``pieces`` and read until the server closes or has nothing to say for a while."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answered = Parsed()
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        while data := await asyncio.wait_for(reader.read(65536), 5):
            answered.feed(data)
    finally:
        writer.close()
    return answered


def request(line: str, *headers: str, body: bytes = b"") -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", "Host: x", *headers, "", ""]).encode("latin-1") + body


CLOSE = "Connection: close"
JSON = "Content-Type: application/json"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET /api/open", 200),
        ("GET http://elsewhere/api/open", 200),
        ("GET //api/open", 400),
        ("GET /api/%6fpen", 400),
        ("GET /api/open%2f", 400),
        ("GET /api/open/", 400),
        ("GET /api/open;x", 400),
        ("GET /api/open#x", 200),
        ("GET /api/nothing", 404),
        ("HEAD /api/open", 405),
        ("OPTIONS /api/open", 405),
        ("OPTIONS *", 400),
        ("PROPFIND /api/open", 405),
        ("GET /api/echo?%ff", 422),
    ],
)
async def test_a_request_line_is_read_one_way(line: str, status: int) -> None:
    async with serving() as port:
        answered = await talk(port, request(line, CLOSE))
    assert answered.statuses == [status]
    assert answered.headers[0]["x-content-type-options"] == "nosniff"
    assert "server" not in answered.headers[0]


async def test_a_body_that_says_it_is_too_large_is_refused_and_the_connection_closed() -> None:
    head = request("POST /api/thing", JSON, f"Content-Length: {MAX_BODY * 2}")
    async with serving() as port:
        answered = await talk(port, head, b"{")
    assert answered.statuses == [413]
    assert answered.headers[0]["connection"] == "close"


async def test_a_chunked_body_that_never_ends_is_refused_and_the_connection_closed() -> None:
    head = request("POST /api/thing", JSON, "Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    async with serving() as port:
        answered = await talk(port, head, *[chunk] * 17)
    assert answered.statuses == [413]


async def test_a_connection_outlives_refusals() -> None:
    bad = request("POST /api/thing", JSON, "Content-Length: 1", body=b"{")
    async with serving() as port:
        answered = await talk(
            port,
            bad,
            request("GET /api/nothing"),
            request("GET /api/faulty"),
            request("GET /api/open", CLOSE),
        )
    assert answered.statuses == [400, 404, 500, 200]


async def test_the_body_of_a_request_that_reads_none_is_not_the_next_request() -> None:
    hidden = request("GET /api/faulty")
    carrier = request("GET /api/open", f"Content-Length: {len(hidden)}", body=hidden)
    async with serving() as port:
        answered = await talk(port, carrier, request("GET /api/nothing", CLOSE))
    assert answered.statuses == [200, 404]


async def test_an_upgrade_to_a_websocket_is_an_ordinary_request() -> None:
    upgrade = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==")
    async with serving() as port:
        answered = await talk(port, request("GET /api/open", "Connection: upgrade, close", *upgrade))
    assert answered.statuses == [200]
