"""A receiver of messages on this machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Receiver:
    """What it got, and what it answers."""

    url: str = ""
    status: str = "200 OK"
    headers: str = ""
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read a request, and answer it."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value for name, value in (each.split(": ", 1) for each in rest)}
        body = await reader.readexactly(int(headers["content-length"]))
        self.requests.append((line, headers, body))
        writer.write(f"HTTP/1.1 {self.status}\r\n{self.headers}content-length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """Run a receiver at a port of this machine."""
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    async with server:
        receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/services/T0/S3cretPath"
        yield receiver
