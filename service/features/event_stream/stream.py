"""One event stream: the messages that wait for its reader, and its end."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Final

from service.features.event_stream.messages import HEARTBEAT

QUIET: Final = 15.0
"""Seconds without an event after which a heartbeat is sent."""
MOST_WAITING: Final = 64
"""Messages that wait for a reader; a reader with more of them is dropped."""
MOST_BYTES: Final = 262_144
"""Their size; a single message may be larger."""


class EventStream:
    """The messages for one reader. ``put`` and ``end`` never wait."""

    def __init__(self, left: Callable[[], None]) -> None:
        """``left`` is called once, when the stream has ended."""
        self._left = left
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._news = asyncio.Event()
        self.has_ended = False

    def put(self, message: bytes) -> None:
        """Send a message; ends the stream without it if the reader is too slow."""
        if self.has_ended:
            return
        size = self._size + len(message)
        if self._waiting and (len(self._waiting) >= MOST_WAITING or size > MOST_BYTES):
            self._waiting.clear()
            self.end()
            return
        self._waiting.append(message)
        self._size = size
        self._news.set()

    def end(self, message: bytes = b"") -> None:
        """End the stream, after ``message`` if it is not empty."""
        if self.has_ended:
            return
        if message:
            self._waiting.append(message)
        self.has_ended = True
        self._news.set()
        self._left()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield what is to be sent, until the stream ends."""
        try:
            while True:
                if self._waiting:
                    content = b"".join(self._waiting)
                    self._waiting.clear()
                    self._size = 0
                    yield content
                elif self.has_ended:
                    return
                elif not await self._has_news():
                    yield HEARTBEAT
        finally:
            self.end()

    async def _has_news(self) -> bool:
        self._news.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET):
                await self._news.wait()
        return self._news.is_set()
