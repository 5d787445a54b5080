"""Connections above the limit: told so, and closed once the client can have read it."""

from __future__ import annotations

import socket
from collections import deque
from contextlib import suppress
from typing import Final

import structlog

from service.errors import Unavailable
from service.web.requests.middleware import raw_answer

STAY: Final = 1.0
"""How long such a connection stays half open, so that the client gets its answer, in seconds."""

MOST: Final = 64
"""How many of them stay at once."""

_RETRY_AFTER: Final = 5  # seconds
_TAKEN_IN: Final = 65_536
_log = structlog.get_logger()


class Surplus:
    """The connections of one worker that were turned away."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, socket.socket]] = deque()
        self._untold = 0

    def turn_away(self, connection: socket.socket, now: float) -> None:
        """Answer 503 whatever the client asks, and close ``connection`` later."""
        self._untold += 1
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
        """Close those who have had their time, and tell the log how many came."""
        if self._untold:
            _log.warning("connections were turned away: there are too many", number=self._untold)
            self._untold = 0
        while self._waiting and now - self._waiting[0][0] > STAY:
            _close(self._waiting.popleft()[1])

    def close(self) -> None:
        """Close all."""
        while self._waiting:
            _close(self._waiting.popleft()[1])


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.recv(_TAKEN_IN)  # what is left unread would reset the connection
    connection.close()
