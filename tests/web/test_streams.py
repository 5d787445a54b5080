"""Answers made while they are sent: whole, refused, or visibly cut off, and never more than is taken."""

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from structlog.testing import capture_logs

from service.errors import NotFound, Unavailable
from service.features.api_document.document import openapi
from service.web.content.streams import Stream, attachment
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import MetadataError, public, sends
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.support.cases import with_each
from tests.support.waiting import eventually_here
from tests.web.driver import ask
from tests.web.example_service import OpenGate, example
from tests.web.served import served

PIECE = b"x" * 65_536


class Made:
    """What became of the chunks of one download."""

    def __init__(self) -> None:
        self.chunks = 0
        self.closed = False


class Download:
    """Sends ``chunks`` pieces and then raises ``fault``, if there is one."""

    def __init__(self, chunks: int, fault: Exception | None = None, **more: Any) -> None:
        self._chunks, self._fault, self._more = chunks, fault, more
        self.made = Made()

    @public(refuses=[NotFound])
    @sends("text/csv", "application/octet-stream")
    async def on_get(self, _context: RequestContext) -> Stream:
        """Download a file."""
        headers = {"Content-Disposition": attachment("a.csv")}
        return Stream(self._pieces(), "text/csv", headers, **self._more)

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        try:
            for _ in range(self._chunks):
                self.made.chunks += 1
                yield PIECE
            if self._fault is not None:
                raise self._fault
        finally:
            self.made.closed = True


def app_of(endpoint: object, calls: list[RequestContext] | None = None) -> tuple[RequestMiddleware, Routes]:
    """Return an application of one endpoint; calls that are over are added to ``calls``."""
    app = Application()
    routes = Routes(app, OpenGate())
    routes.add("/api/download", endpoint)
    return RequestMiddleware(app, counts=() if calls is None else [calls.append]), routes


async def test_a_stream_arrives_whole_with_its_headers() -> None:
    download = Download(3)

    with capture_logs() as logged:
        answer = await ask(app_of(download)[0], "GET", "/api/download")

    assert [line["event"] for line in logged] == ["request"]
    assert (answer.status, answer.body) == (200, PIECE * 3)
    assert answer.header("content-type") == "text/csv"
    assert answer.header("content-disposition") == 'attachment; filename="a.csv"'
    assert answer.header("cache-control") == "no-store"
    assert answer.header("content-length") is None
    assert download.made.closed


async def test_only_an_answer_that_is_cut_off_is_told_to_the_log() -> None:
    whole, _ = app_of(Download(2))
    broken, _ = app_of(Download(2, Unavailable()))

    with capture_logs() as lines:
        await ask(whole, "GET", "/api/download")
        assert [line["event"] for line in lines if line["log_level"] == "warning"] == []
        with pytest.raises(Unavailable):
            await ask(broken, "GET", "/api/download")

    assert [line["event"] for line in lines if line["log_level"] == "warning"] == ["answer cut off"]


async def test_a_stream_may_know_its_length_and_have_a_status_of_its_own() -> None:
    answer = await ask(app_of(Download(1, status=206, length=len(PIECE)))[0], "GET", "/api/download")

    assert (answer.status, answer.header("content-length")) == (206, str(len(PIECE)))


async def test_a_stream_without_a_chunk_is_an_empty_answer() -> None:
    answer = await ask(app_of(Download(0))[0], "GET", "/api/download")

    assert (answer.status, answer.body) == (200, b"")


async def test_what_is_raised_before_the_first_chunk_is_a_refusal_without_the_headers_of_the_file() -> None:
    answer = await ask(app_of(Download(0, Unavailable(), length=9))[0], "GET", "/api/download")

    assert (answer.status, answer.code) == (503, "unavailable")
    assert answer.header("content-disposition") is None
    assert answer.header("content-length") == str(len(answer.body))


async def raw(port: int, version: str = "1.1") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /api/download HTTP/{version}\r\nHost: x\r\n\r\n".encode())
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


async def test_what_is_raised_later_cuts_the_connection_and_is_no_end_of_the_file() -> None:
    with capture_logs() as logged:
        async with served(app_of(Download(2, Unavailable()))[0]) as port:
            answered = await raw(port)

    assert answered.startswith(b"HTTP/1.1 200")
    assert answered.count(PIECE) == 2
    assert b"transfer-encoding: chunked" in answered
    assert not answered.endswith(b"0\r\n\r\n")
    assert {"event": "answer cut off", "reason": "Unavailable"}.items() <= logged[0].items()


async def test_nothing_is_made_for_a_client_that_has_gone() -> None:
    download = Download(100_000)
    calls: list[RequestContext] = []
    async with served(app_of(download, calls)[0]) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /api/download HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readexactly(100_000)
        writer.transport.abort()
        assert await eventually_here(lambda: download.made.closed)

    assert download.made.chunks < 10_000
    assert [context.cut_off for context in calls] == [True]


async def test_no_more_is_made_than_a_slow_client_takes() -> None:
    download = Download(100_000)
    async with served(app_of(download)[0]) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=65_536)
        writer.write(b"GET /api/download HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readexactly(1)

        async def has_stopped() -> bool:
            before = download.made.chunks
            await asyncio.sleep(0.2)
            return download.made.chunks == before

        while not await has_stopped():
            pass
        made = download.made.chunks
        writer.transport.abort()

    assert 0 < made < 1_000  # what fits into the buffers of two sockets


async def test_a_client_that_stays_gets_its_next_answer_over_the_same_connection() -> None:
    async with served(app_of(Download(1))[0]) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
        for _ in range(2):
            writer.write(b"GET /api/download HTTP/1.1\r\nHost: x\r\n\r\n")
            answered = await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 20)
            assert answered.startswith(b"HTTP/1.1 200")
            assert PIECE in answered
        writer.close()


async def test_a_connection_outlives_refusals() -> None:
    lines = (b"GET /api/thing?x=1", b"GET /api/nothing", b"GET /api/faulty", b"GET /api/open")
    heads = (b"Host: x", b"Host: x", b"Host: x", b"Host: x\r\nConnection: close")
    async with served(example()[0]) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for line, head in zip(lines, heads, strict=True):
            writer.write(line + b" HTTP/1.1\r\n" + head + b"\r\n\r\n")
        answered = await asyncio.wait_for(reader.read(), 20)
        writer.close()
    assert re.findall(rb"HTTP/1\.1 (\d+) ", answered) == [b"422", b"404", b"500", b"200"]


async def test_the_documents_name_the_media_types() -> None:
    _, routes = app_of(Download(1))

    made = openapi(routes.operations, info={"title": "x", "version": "1"})

    shown = made["paths"]["/api/download"]["get"]["responses"]["200"]["content"]
    binary = {"schema": {"type": "string", "format": "binary"}}
    assert shown == {"text/csv": {"schema": {"type": "string"}}, "application/octet-stream": binary}


class Silent:
    @public()
    async def on_get(self, _context: RequestContext) -> Stream:
        raise NotFound


class Boastful:
    @public()
    @sends("text/csv")
    async def on_get(self, _context: RequestContext) -> None:
        raise NotFound


@pytest.mark.parametrize("endpoint", [Silent(), Boastful()])
def test_a_stream_and_its_media_types_come_together_or_the_service_does_not_start(endpoint: object) -> None:
    with pytest.raises(MetadataError):
        app_of(endpoint)


def test_media_types_are_at_least_one() -> None:
    with pytest.raises(MetadataError):
        sends()


@with_each(
    ("name", "header"),
    [
        ("a-b_c.csv", 'attachment; filename="a-b_c.csv"'),
        ('a"b.txt', "attachment; filename=\"a_b.txt\"; filename*=UTF-8''a%22b.txt"),
        ("a\r\nX-Evil: 1", "attachment; filename=\"a__X-Evil__1\"; filename*=UTF-8''a%0D%0AX-Evil%3A%201"),
        ("año/№.csv", "attachment; filename=\"a_o__.csv\"; filename*=UTF-8''a%C3%B1o%2F%E2%84%96.csv"),
        ("\udcff", "attachment; filename=\"_\"; filename*=UTF-8''%3F"),
        ("", 'attachment; filename=""'),
    ],
)
def test_a_file_name_is_one_quoted_ascii_line_whatever_is_in_it(name: str, header: str) -> None:
    assert attachment(name) == header
    assert re.fullmatch(r"[\x20-\x7e]+", attachment(name))
