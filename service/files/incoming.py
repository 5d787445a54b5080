"""The content of an upload: counted, limited and hashed as it arrives."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from time import monotonic
from typing import Final

from service.errors import Unavailable
from service.kernel.media_types import HEAD

_PIECE: Final = 1024 * 1024
"""Bytes passed on at once: each time costs a thread switch."""

Content = AsyncGenerator[bytes, None]


async def first_of(content: Content) -> bytes:
    """Return the beginning of ``content``: at least ``HEAD`` bytes, or all if it has fewer."""
    head = bytearray()
    async for piece in content:
        head += piece
        if len(head) >= HEAD:
            break
    return bytes(head)


class Incoming:
    """``head`` followed by ``content``, at most ``limit`` bytes; ``renew`` is called every ``every`` seconds.

    ``size`` and ``sha256`` are those of the bytes so far.
    """

    def __init__(
        self,
        head: bytes,
        content: Content,
        *,
        limit: int,
        too_much: Exception,
        renew: Callable[[], Awaitable[bool]],
        every: float,
    ) -> None:
        self._head = head
        self._content = content
        self._limit = limit
        self._too_much = too_much
        self._renew = renew
        self._every = every
        self._renewed = monotonic()
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        """The digest of the bytes so far, in hexadecimal."""
        return self._hash.hexdigest()

    async def pieces(self) -> Content:
        """Yield the bytes in pieces. Raises ``too_much``, what the content raises, and Unavailable."""
        async for piece in self._together():
            self._hash.update(piece)
            yield piece

    async def _together(self) -> Content:
        waiting = bytearray(self._take(self._head))
        async for piece in self._content:
            waiting += self._take(piece)
            await self._stay()
            if len(waiting) >= _PIECE:
                yield bytes(waiting)
                waiting.clear()
        if waiting:
            yield bytes(waiting)

    def _take(self, piece: bytes) -> bytes:
        self.size += len(piece)
        if self.size > self._limit:
            raise self._too_much
        return piece

    async def _stay(self) -> None:
        if monotonic() - self._renewed < self._every:
            return
        if not await self._renew():
            raise Unavailable("The upload took too long between two of its parts")
        self._renewed = monotonic()
