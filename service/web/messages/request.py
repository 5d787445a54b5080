"""Falcon's request with raw headers and a size limit on bodies."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

import falcon.asgi
from falcon import RequestOptions

from service.errors import BadRequest, TooLarge
from service.kernel.core_sentences import sentence

_CLOSE: Final = {"Connection": "close"}
REQUEST_OPTIONS: Final = RequestOptions()
"""Falcon's options of every request."""


class Request(falcon.asgi.Request):
    """A request within the service; ``body`` is what ``body_within`` has read.

    The body is read only when needed: a client that waits before sending its body gets a refusal without
    sending it (RFC 9110 §10.1.1).
    """

    body = b""
    # The slot itself: a property would be a call at each use.
    sent_headers: Mapping[bytes, bytes] = falcon.asgi.Request._asgi_headers  # type: ignore[misc] # noqa: SLF001 - as above
    """The headers as sent, by their names in lower case; repeated headers are joined by commas."""
    arrived: Mapping[str, Any] | None = None
    """The first piece of the body, if it arrived before the body was read."""

    def raw_header(self, name: bytes) -> bytes | None:
        """Return the header ``name`` (lower case) as sent; repeated headers are joined by commas."""
        return self.sent_headers.get(name)

    async def body_within(self, limit: int) -> bytes:
        """Return the body; raises TooLarge as soon as it is longer than ``limit`` bytes.

        The connection is then closed, since the rest of the body would be read as the next request. Raises
        BadRequest if the client disconnects before the end: half a body must not look complete, which is why
        Falcon's own stream is not used.
        """
        if (self.content_length or 0) > limit:
            raise _too_large(limit)
        chunks = []
        length = 0
        more = True
        while more:
            event = self._first() or await self._receive()
            chunk, more = _piece(event)
            length += len(chunk)
            if length > limit:
                raise _too_large(limit)
            chunks.append(chunk)
        self.body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        return self.body

    async def body_pieces(self, silence: float) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives.

        Raises BadRequest if the client disconnects before the end, or sends nothing for ``silence`` seconds.
        """
        more = True
        while more:
            try:
                async with asyncio.timeout(silence):
                    event = self._first() or await self._receive()
            except TimeoutError:
                raise BadRequest(sentence("body_stopped"), headers=_CLOSE) from None
            chunk, more = _piece(event)
            yield chunk

    async def wait_for_disconnect(self) -> None:
        """Wait until the client has disconnected or received its answer; discard further data."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def is_gone(self) -> bool:
        """True if the client is known to have disconnected before its answer."""
        watching = asyncio.ensure_future(self.wait_for_disconnect())
        await asyncio.sleep(0)
        gone = watching.done()
        watching.cancel()
        return gone

    def _first(self) -> Mapping[str, Any] | None:
        event, self.arrived = self.arrived, None
        return event


def _piece(event: Mapping[str, Any]) -> tuple[bytes, bool]:
    """Return the bytes of an event, and whether more follow; BadRequest if the client has disconnected."""
    if event["type"] != "http.request":
        raise BadRequest(sentence("body_ended_early"))
    return event.get("body", b""), event.get("more_body", False)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(sentence("body_too_large", most=limit), headers=_CLOSE)
