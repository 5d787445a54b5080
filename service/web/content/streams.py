"""Streamed answers: downloads and exports, of any length in little memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import quote

import structlog
from msgspec import Struct

_TOKEN: Final = "!#$&+-.^_`|~"  # noqa: S105 - RFC 8187 §3.2.1, attr-char beside letters and digits

_log = structlog.get_logger()


class Stream(Struct, frozen=True):
    """An answer without a JSON envelope, whose ``chunks`` are made as the client reads them.

    The first chunk is made before anything is sent: exceptions until then become normal refusals. Later ones
    cut the connection, so that half a file never looks complete. The generator is closed when the client
    disconnects, and must then release its resources. ``length`` is the size of all chunks in bytes, None if
    unknown.
    """

    chunks: AsyncGenerator[bytes, None]
    media_type: str
    headers: Mapping[str, str] = {}
    length: int | None = None
    status: int = 200


async def nothing() -> AsyncGenerator[bytes, None]:
    """Return the chunks of an answer without content, such as a redirect."""
    chunks: tuple[bytes, ...] = ()
    for chunk in chunks:
        yield chunk


class ClientGone(Exception):  # noqa: N818 - nobody erred
    """The client disconnected during a stream."""


class Sending:
    """The iterator over the chunks of a stream, with the ``close`` that Falcon calls at the end.

    ``gone`` returns when the client has disconnected; otherwise the server would go on making chunks.
    """

    def __init__(self, chunks: AsyncGenerator[bytes, None], gone: Callable[[], Awaitable[None]]) -> None:
        self._chunks = chunks
        self._gone = gone
        self._first: bytes | None = None
        self._watching: asyncio.Future[None] | None = None

    async def begin(self) -> None:
        """Make the first chunk."""
        self._first = await anext(self._chunks, b"")

    def __aiter__(self) -> Sending:
        return self

    async def __anext__(self) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            self._watching = asyncio.ensure_future(self._gone())
            return first
        if self._watching is not None and self._watching.done():
            raise ClientGone
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            raise
        except Exception as error:
            _log.warning("answer cut off", reason=type(error).__name__)
            raise

    async def close(self) -> None:
        """Release the source of the chunks."""
        if self._watching is not None:
            self._watching.cancel()
        await self._chunks.aclose()


def attachment(file_name: str) -> str:
    """Return the Content-Disposition (RFC 6266) that saves an answer under ``file_name``, of any characters.

    Clients that don't support ``filename*`` get a name in which all characters except letters, digits, ``-``,
    ``.`` and ``_`` are replaced.
    """
    plain = "".join(
        character if character.isascii() and (character.isalnum() or character in "-._") else "_"
        for character in file_name
    )
    if plain == file_name:
        return f'attachment; filename="{plain}"'
    encoded = quote(file_name, safe=_TOKEN, errors="replace")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"
