"""Receivers that really listen, and do what a test tells them."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Answer: TypeAlias = tuple[int, dict[str, str]]


@dataclass(frozen=True)
class Request:
    """What was posted."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def ids(self) -> list[str]:
        """The ids of its entries."""
        return [event.get("id") or event["metadata"]["uid"] for event in json.loads(self.body)]


@dataclass
class HttpReceiver:
    """Answers each request as ``answer`` says; ``requests`` are all, ``taken`` the ids that were accepted."""

    answer: Callable[[Request], Answer] = lambda _request: (204, {})
    requests: list[Request] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    hangs: bool = False
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                pairs = (line.split(": ", 1) for line in head[1:] if line)
                headers = {name.lower(): value for name, value in pairs}
                body = await reader.readexactly(int(headers["content-length"]))
                request = Request(head[0].split(" ")[1], headers, body)
                self.requests.append(request)
                if self.hangs:
                    await asyncio.sleep(60)
                status, more = self.answer(request)
                if status < 300:
                    self.taken += request.ids
                lines = [f"HTTP/1.1 {status} Said", "Content-Length: 0"]
                lines += [f"{name}: {value}" for name, value in more.items()]
                writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
                await writer.drain()
        writer.close()

    @asynccontextmanager
    async def listening(self, secured: ssl.SSLContext | None = None) -> AsyncIterator[HttpReceiver]:
        """Listen, on the same port as before if there was one; connections are cut when it ends."""
        open_ones: set[asyncio.StreamWriter] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            open_ones.add(writer)
            with suppress(asyncio.CancelledError):
                await self.serve(reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", self.port, ssl=secured)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for writer in open_ones:
                writer.transport.abort()


def answering(status: int, **headers: str) -> Callable[[Any], Answer]:
    """Return an ``answer`` that is always the same."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _request: (status, named)


def poisoned(status: int) -> Callable[[Request], Answer]:
    """Answer ``status`` to a request whose body has the word "poison", and 200 to all others."""
    return lambda request: ((status if b"poison" in request.body else 200), {})
