"""Closing a connection on which the client may still be sending (RFC 9112 §9.6), or does not read.

A socket that is closed with unread bytes in it makes the kernel reset the connection, and the client may lose
the answer that it has not read yet. So the sending side is closed first, and what comes in is dropped for a
while.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Final

LINGER: Final = 2.0
"""How long a closed connection takes in what the client still sends, in seconds."""

LINGER_BYTES: Final = 4_194_304
"""How much of it, in bytes."""

_AT_ONCE: Final = struct.pack("ii", 1, 0)  # struct linger, socket(7)


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


def reset(transport: asyncio.Transport) -> None:
    """Close the connection of a client that does not read; the system keeps nothing of what is unsent."""
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()
