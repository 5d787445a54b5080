"""A load generator that measures how long each answer takes."""

import asyncio
import time
from collections import deque
from typing import Final, cast

_TICK: Final = 0.0005  # seconds between two looks at the clock


class _Client(asyncio.Protocol):
    """Sends a request when it is due, over one connection; one that can't go yet waits, and that counts."""

    def __init__(self, request: bytes, took: list[float]) -> None:
        self._request = request
        self._took = took
        self._due: deque[float] = deque()
        self._busy = False
        self._answer = b""
        self.without_pause = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, separator, body = self._answer.partition(b"\r\n\r\n")
        if not separator or len(body) < int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]):
            return
        assert head.startswith(b"HTTP/1.1 200 "), self._answer[:200]
        now = time.perf_counter()
        self._took.append(now - self._due.popleft())
        self._answer, self._busy = b"", False
        if self.without_pause:
            self.send(now)
        elif self._due:
            self._write()

    def send(self, due: float) -> None:
        """Send a request that was due at ``due``, as soon as the one before is answered."""
        self._due.append(due)
        if not self._busy:
            self._write()

    def _write(self) -> None:
        self._busy = True
        self.transport.write(self._request)


async def latencies(
    port: int, request: bytes, *, connections: int, seconds: float, a_second: float = 0
) -> list[float]:
    """Return the seconds that each answer took, at ``a_second`` requests a second; 0: without a pause."""
    loop = asyncio.get_running_loop()
    took: list[float] = []
    clients = [_Client(request, took) for _ in range(connections)]
    for client in clients:
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)  # type: ignore[misc]
    started = time.perf_counter()
    if a_second:
        await _steadily(clients, started, seconds, a_second)
    else:
        for client in clients:
            client.without_pause = True
            client.send(time.perf_counter())
        await asyncio.sleep(seconds)
    for client in clients:
        client.transport.abort()
    return took


async def _steadily(clients: list[_Client], started: float, seconds: float, a_second: float) -> None:
    sent = 0
    while (now := time.perf_counter()) - started < seconds:
        while started + sent / a_second <= now:
            clients[sent % len(clients)].send(started + sent / a_second)
            sent += 1
        await asyncio.sleep(_TICK)


def percentile(took: list[float], share: float) -> float:
    """Return the milliseconds within which ``share`` of the answers came."""
    return sorted(took)[min(len(took) - 1, int(len(took) * share))] * 1000
