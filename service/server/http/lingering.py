"""Closes connections whose client is still sending (RFC 9112 §9.6), or does not read.

If a socket is closed with unread bytes, the kernel resets the connection, and the client may lose the last
answer. So the sending side is closed first, and incoming bytes are discarded for a while.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Final

LINGER: Final = 2.0
"""Seconds for which the bytes that a client still sends are read and discarded."""

LINGER_BYTES: Final = 4_194_304
"""The most bytes that are discarded."""

_AT_ONCE: Final = struct.pack("ii", 1, 0)  # struct linger, socket(7)


class LingeringTransport:
    """The part of a transport that uvicorn's request cycle needs; ``close`` makes the protocol linger."""

    __slots__ = ("_linger", "is_closing", "write")

    def __init__(self, transport: asyncio.Transport, linger: Callable[[], None]) -> None:
        self._linger = linger
        self.write = transport.write
        self.is_closing = transport.is_closing

    def close(self) -> None:
        """Close the connection once the client has had time to read the answer."""
        self._linger()


def reset(transport: asyncio.Transport) -> None:
    """Reset the connection of a client that does not read; the system discards unsent bytes."""
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()
