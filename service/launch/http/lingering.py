"""Closing a connection on which the client may still be sending (RFC 9112 §9.6).

A socket that is closed with unread bytes in it makes the kernel reset the connection, and the client may lose
the answer that it has not read yet. So the sending side is closed first, and what comes in is dropped for a
while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class LingeringTransport:
    """What uvicorn's request cycle needs of a transport; ``close`` asks the protocol to linger."""

    __slots__ = ("_linger", "is_closing", "write")

    def __init__(self, transport: asyncio.Transport, linger: Callable[[], None]) -> None:
        self._linger = linger
        self.write = transport.write
        self.is_closing = transport.is_closing

    def close(self) -> None:
        """Close the connection once the client has read what was written, or has had the time to."""
        self._linger()
