"""Rejects connections above the limit: each gets a 503, and is closed once the client may have read it."""

from __future__ import annotations

import socket
from collections import deque
from contextlib import suppress
from typing import Final

import structlog

from service.errors import Unavailable
from service.web.requests.middleware import raw_answer

STAY: Final = 1.0
"""Seconds that a rejected connection stays half open, so that the client gets its answer."""

MOST: Final = 64
"""The most rejected connections that are kept half open."""

_RETRY_AFTER: Final = 5  # seconds
_READ_AT_CLOSE: Final = 65_536  # bytes
_log = structlog.get_logger()


class RejectedConnections:
    """The connections that one worker has rejected and not closed yet."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, socket.socket]] = deque()
        self._unlogged = 0

    def reject(self, connection: socket.socket, now: float) -> None:
        """Answer 503 to any request, and close ``connection`` later; ``now`` is the loop's time."""
        self._unlogged += 1
        refusal = Unavailable("The service has too many connections", retry_after=_RETRY_AFTER)
        try:
            connection.send(raw_answer(refusal))
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            connection.close()
            return
        self._waiting.append((now, connection))
        if len(self._waiting) > MOST:
            _close(self._waiting.popleft()[1])

    def tidy(self, now: float) -> None:
        """Close those whose time is over, and log how many were rejected since the last call."""
        if self._unlogged:
            _log.warning("connections were turned away: there are too many", number=self._unlogged)
            self._unlogged = 0
        while self._waiting and now - self._waiting[0][0] > STAY:
            _close(self._waiting.popleft()[1])

    def close(self) -> None:
        """Close all."""
        while self._waiting:
            _close(self._waiting.popleft()[1])


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.recv(_READ_AT_CLOSE)  # unread bytes would reset the connection
    connection.close()
