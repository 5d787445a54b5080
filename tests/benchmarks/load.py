"""A load generator that costs less than what it measures: equal requests over a few connections."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import cast


class _Client(asyncio.Protocol):
    """Sends one request after another over one connection; most answers are as long as the first."""

    def __init__(self, request: bytes, length: int, ended: asyncio.Future[None]) -> None:
        self._request = request
        self._length = length
        self._ended = ended
        self._received = 0
        self._sent = 0.0
        self.took: list[float] = []
        self.stopping = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        self._sent = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if self._received == 0 and not data.startswith(b"HTTP/1.1 200 "):
            self._fail(f"an answer was {data[:200]!r}")
            return
        if self._received == 0 and len(data) != self._length:  # versions and times have other lengths
            end = data.index(b"\r\n\r\n") + 4
            self._length = end + _content_length(data[:end])
        self._received += len(data)
        if self._received < self._length:
            return
        if self._received > self._length:
            self._fail("an answer was longer than it says")
            return
        self._received = 0
        now = time.perf_counter()
        self.took.append(now - self._sent)
        if self.stopping:
            self._transport.close()
        else:
            self._sent = now
            self._transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if not self._ended.done():
            self._ended.set_result(None)

    def _fail(self, reason: str) -> None:
        if not self._ended.done():
            self._ended.set_exception(RuntimeError(reason))
        self._transport.abort()


class Connection:
    """One connection that sends any requests, each once the one before it is answered."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, request: bytes, status: int = 200) -> bytes:
        """Send ``request`` and return the body of the answer; RuntimeError for another ``status``."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        body = await self._reader.readexactly(_content_length(head))
        if not head.startswith(b"HTTP/1.1 %d " % status):
            raise RuntimeError(f"the answer was {head + body!r}")
        return body

    def close(self) -> None:
        """Disconnect."""
        self._writer.close()


def json_request(method: str, path: str, port: int, body: object, **headers: str) -> bytes:
    """Return a request in HTTP/1.1 with a body."""
    text = json.dumps(body).encode()
    described = {"Content_Type": "application/json", "Content_Length": str(len(text))}
    head = request_bytes(path, port, method, **described, **headers)
    return head + text


def _content_length(head: bytes) -> int:
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
    return int(fields[b"content-length"])


def request_bytes(path: str, port: int, method: str = "GET", **headers: str) -> bytes:
    """Return a request in HTTP/1.1 without a body."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def answer_length(port: int, request: bytes) -> int:
    """Return the length in bytes of the whole answer to ``request``; RuntimeError unless it is a 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(_content_length(head))
    if not head.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"the answer was {head + body!r}")
    writer.close()
    return len(head) + len(body)


@dataclass(frozen=True)
class Served:
    """What a server did under load: requests a second, and the seconds that answers took, in order."""

    rate: float
    took: list[float]

    @property
    def p99(self) -> float:
        """The seconds within which 99 of 100 answers came."""
        return self.took[int(len(self.took) * 0.99)]


async def rate(port: int, request: bytes, *, connections: int, seconds: float) -> float:
    """Return how many requests a second are answered, over ``connections`` that send without a pause."""
    return (await served(port, request, connections=connections, seconds=seconds)).rate


async def served(port: int, request: bytes, *, connections: int, seconds: float) -> Served:
    """Return what happens to equal requests over ``connections`` that send without a pause."""
    loop = asyncio.get_running_loop()
    length = await answer_length(port, request)
    clients = []
    started = time.perf_counter()
    for _ in range(connections):
        client = _Client(request, length, loop.create_future())
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)  # type: ignore[misc]
        clients.append(client)
    await asyncio.sleep(seconds)
    took, elapsed = (
        [duration for client in clients for duration in client.took],
        time.perf_counter() - started,
    )
    for client in clients:
        client.stopping = True
    async with asyncio.timeout(10):
        await asyncio.gather(*(client._ended for client in clients))
    return Served(len(took) / elapsed, sorted(took))
