"""Falcon's request with raw headers and a size limit on bodies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

import falcon.asgi

from service.errors import BadRequest, TooLarge

_CLOSE: Final = {"Connection": "close"}


class Request(falcon.asgi.Request):
    """A request within the service; ``body`` is what ``body_within`` has read."""

    body = b""

    def raw_header(self, name: bytes) -> bytes | None:
        """Return the header ``name`` (lower case) as sent; repeated headers are joined by commas."""
        return self._asgi_headers.get(name)

    async def body_within(self, limit: int) -> bytes:
        """Return the body; raises TooLarge as soon as it is longer than ``limit`` bytes.

        The connection is then closed, since the rest of the body would be read as the next request. Raises
        BadRequest if the client disconnects before the end: half a body must not look complete, which is why
        Falcon's own stream is not used.
        """
        if (self.content_length or 0) > limit:
            raise _too_large(limit)
        event = self._first_event or {}
        body: bytes = event.get("body", b"")
        if event.get("more_body"):
            body = await self._rest(body, limit)
        if len(body) > limit:
            raise _too_large(limit)
        self.body = body
        return body

    async def body_pieces(self, silence: float) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives.

        Raises BadRequest if the client disconnects before the end, or sends nothing for ``silence`` seconds.
        """
        event = self._first_event or {}
        yield event.get("body", b"")
        while event.get("more_body"):
            try:
                async with asyncio.timeout(silence):
                    event = await self._receive()
            except TimeoutError:
                raise BadRequest("The body did not go on", headers=_CLOSE) from None
            if event["type"] != "http.request":
                raise BadRequest("The body ended before its end")
            yield event.get("body", b"")

    async def until_gone(self) -> None:
        """Wait until the client has disconnected or got its answer; drop what it still sends."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def is_gone(self) -> bool:
        """True if the client is known to have disconnected before its answer."""
        watching = asyncio.ensure_future(self.until_gone())
        await asyncio.sleep(0)
        gone = watching.done()
        watching.cancel()
        return gone

    async def _rest(self, first: bytes, limit: int) -> bytes:
        chunks, length = [first], len(first)
        while length <= limit:
            event = await self._receive()
            if event["type"] != "http.request":
                raise BadRequest("The body ended before its end")
            chunk: bytes = event.get("body", b"")
            chunks.append(chunk)
            length += len(chunk)
            if not event.get("more_body"):
                return b"".join(chunks)
        raise _too_large(limit)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than {limit} bytes", headers=_CLOSE)
