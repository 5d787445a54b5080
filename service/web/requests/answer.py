"""What a responder returns, and how it is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

from service.web.content.streams import Sending

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON: Final = b"application/json"

_BODILESS: Final = frozenset({204, 304})  # RFC 9110 §6.4.1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answer:
    """An answer: its status, its media type, and its body, either ``data`` or the chunks of ``stream``.

    ``length`` is the size of all chunks in bytes, None if unknown. ``media_type`` is None without a body.
    """

    status: int
    data: bytes = b""
    media_type: bytes | None = JSON
    _: KW_ONLY
    stream: Sending | None = None
    length: int | None = None

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers that describe the body."""
        headers = []
        if self.stream is None and self.status not in _BODILESS:
            headers.append((b"content-length", b"%d" % len(self.data)))
        elif self.length is not None:
            headers.append((b"content-length", b"%d" % self.length))
        if self.media_type is not None:
            headers.append((b"content-type", self.media_type))
        return headers

    async def send_body(self, send: Send, *, head_only: bool) -> None:
        """Send what follows the head: nothing with ``head_only``, and with a status that has no body.

        Closes the stream, whatever happens.
        """
        has_body = not head_only and self.status not in _BODILESS
        if self.stream is None:
            await send({"type": "http.response.body", "body": self.data if has_body else b""})
            return
        try:
            if has_body:
                async for chunk in self.stream:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            await self.stream.close()
        await send({"type": "http.response.body", "body": b""})
