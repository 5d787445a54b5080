"""Falcon's request with what it lacks: headers as they were sent, and a body that is read within a limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

import falcon.asgi

from service.errors import BadRequest, TooLarge

_CLOSE: Final = {"Connection": "close"}


class Request(falcon.asgi.Request):
    """A request within the service."""

    def raw_header(self, name: bytes) -> bytes | None:
        """Return the header ``name`` (lower case) as sent; several of one name are joined by commas."""
        return self._asgi_headers.get(name)

    async def body_within(self, limit: int) -> bytes:
        """Return the body; TooLarge as soon as it is known to be longer than ``limit`` bytes.

        The connection is closed then, since the rest of the body would be read as the next request.
        BadRequest when the client goes away in the middle: half a body must not be taken for a whole one,
        which is why Falcon's own stream is not used.
        """
        if (self.content_length or 0) > limit:
            raise _too_large(limit)
        event = self._first_event or {}
        body: bytes = event.get("body", b"")
        if event.get("more_body"):
            body = await self._rest(body, limit)
        if len(body) > limit:
            raise _too_large(limit)
        return body

    async def body_pieces(self, silence: float) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives.

        BadRequest when the client goes away in the middle, or says nothing for ``silence`` seconds.
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
        """Return when the client has gone away, or has got its answer; what it still sends is dropped."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def is_gone(self) -> bool:
        """Tell whether the client has gone away before its answer, as far as the connection has told yet."""
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
