"""A receiver of webhooks whose answers have no end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200 OK\r\n"
ENDLESS = b"transfer-encoding: chunked\r\n\r\n"
CHUNK = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
DROP = b"1\r\nx\r\n"
MOST_BUFFERED = 32 * 2**20
"""Bytes that the buffers between a receiver and a reader may hold."""


@dataclass
class Flood:
    """Sends ``head``, and then ``part`` again and again, with a pause in seconds, until the client leaves."""

    head: bytes
    part: bytes
    pause: float = 0.0
    url: str = ""
    requests: int = 0
    sent: int = 0
    answering: set[asyncio.Task[None]] = field(default_factory=set)

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request, and answer it without an end."""
        self.answering.add(asyncio.get_running_loop().create_task(self._answer(reader, writer)))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            self.requests += 1
            writer.write(self.head)
            while not writer.is_closing():
                writer.write(self.part)
                self.sent += len(self.part)
                await writer.drain()
                await asyncio.sleep(self.pause)
        writer.close()


@asynccontextmanager
async def flooding(flood: Flood) -> AsyncIterator[Flood]:
    """Run it at a port of this machine; at the end its clients must have left."""
    server = await asyncio.start_server(flood.serve, "127.0.0.1", 0)
    async with server:
        flood.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hooks/S3cretPath"
        yield flood
        async with asyncio.timeout(10):
            await asyncio.gather(*flood.answering)
