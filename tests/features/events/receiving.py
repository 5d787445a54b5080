"""A receiver of webhooks on this machine, which keeps its connections."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar


@dataclass
class Receiver:
    """Its requests, and the statuses of its next answers; then it answers 200."""

    url: str = ""
    statuses: list[str] = field(default_factory=list)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    delay: float = 0.0

    @property
    def ids(self) -> list[str]:
        """The ids of all messages, in the order of their arrival."""
        return [headers["webhook-id"] for headers, _ in self.requests]

    @property
    def events(self) -> list[Any]:
        """All bodies, in the order of their arrival."""
        return [json.loads(body) for _, body in self.requests]

    def noted(self) -> None:
        """Note the arrival of a message, for receivers that know more."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read and answer requests until the client leaves."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                _, *rest = head.decode().strip().split("\r\n")
                headers = {name.lower(): value for name, value in (each.split(": ", 1) for each in rest)}
                body = await reader.readexactly(int(headers["content-length"]))
                self.requests.append((headers, body))
                self.noted()
                await asyncio.sleep(self.delay)
                status = self.statuses.pop(0) if self.statuses else "200 OK"
                writer.write(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


R = TypeVar("R", bound=Receiver)


@asynccontextmanager
async def receiving(receiver: R) -> AsyncIterator[R]:
    """Run a receiver at a port of this machine."""
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    async with server:
        receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hooks/S3cretPath"
        yield receiver
