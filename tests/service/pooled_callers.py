"""Callers as a proxy's pool makes them: they keep connections, and retry only what they safely can."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

REQUEST = b"GET /api/user/info HTTP/1.1\r\nHost: x\r\n%b\r\n\r\n"


@dataclass
class Seen:
    """What the callers saw. A request is ``cut`` when its connection broke and it must not be repeated."""

    statuses: Counter[int] = field(default_factory=Counter)
    refused: int = 0
    idle_closed: int = 0
    announced: int = 0
    """Answers that said that their connection is closed after them."""
    cut: list[str] = field(default_factory=list)


class _Connection:
    """One kept connection; ``used`` once it has brought an answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.used = False

    async def ask(self, request: bytes) -> tuple[int, bool]:
        """Return the status of the answer, and whether the connection is closed after it."""
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: (\d+)\r\n", head)
        assert length is not None, head
        await self.reader.readexactly(int(length[1]))
        self.used = True
        return int(head.split(b" ", 2)[1]), b"\r\nconnection: close\r\n" in head


class Caller:
    """Sends requests one after another to the running instances, in turn."""

    def __init__(self, instances: Callable[[], Sequence[int]], token: bytes, seen: Seen, first: int) -> None:
        """Take what names the ports that are to be tried."""
        self._instances = instances
        self._request = REQUEST % token
        self._seen = seen
        self._turn = first
        self._pool: dict[int, _Connection] = {}

    async def call(self, over: asyncio.Event) -> None:
        """Call until it is ``over``."""
        while not over.is_set():
            ports = self._instances()
            self._turn += 1
            await self._request_to(ports[self._turn % len(ports)])
            await asyncio.sleep(0.005)
        for connection in self._pool.values():
            connection.writer.close()

    async def _request_to(self, port: int) -> None:
        connection = self._pool.pop(port, None)
        if connection is None:
            try:
                connection = _Connection(*await asyncio.open_connection("127.0.0.1", port))
            except ConnectionRefusedError:
                self._seen.refused += 1
                return
        try:
            status, is_last = await connection.ask(self._request)
        except (OSError, asyncio.IncompleteReadError) as error:
            partial = getattr(error, "partial", b"")
            if connection.used and not partial:
                self._seen.idle_closed += 1  # RFC 9112 §9.3.1: an idle connection was closed; safe to repeat
            else:
                self._seen.cut.append(f"{error!r} used={connection.used}")
            connection.writer.close()
            return
        self._seen.statuses[status] += 1
        if is_last:
            self._seen.announced += 1
            connection.writer.close()
        else:
            self._pool[port] = connection


@asynccontextmanager
async def calling(
    number: int, instances: Callable[[], Sequence[int]], token: bytes, seen: Seen
) -> AsyncIterator[None]:
    """Run ``number`` callers in the background."""
    over = asyncio.Event()
    tasks = [asyncio.create_task(Caller(instances, token, seen, n).call(over)) for n in range(number)]
    try:
        yield
    finally:
        over.set()
        await asyncio.gather(*tasks)
