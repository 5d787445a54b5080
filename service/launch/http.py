"""uvicorn's HTTP protocol, with an end to what is neither body nor yet a request."""

from __future__ import annotations

from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_AROUND: Final = 65_536
"""The longest head of a request in bytes, and as much for what stands around and after its body."""

_PER_BODY_BYTE: Final = 8  # a body in chunks of one byte each has six around each, and is nobody's usual one


class BoundedHttp(HttpToolsProtocol):
    """Refuses a head without end, chunk extensions and trailers without end: uvicorn keeps all of them.

    The piece in which a message begins is not counted, so a little more than the limit may get through.
    """

    _around = 0

    def on_message_begin(self) -> None:
        """Count anew."""
        self._around = 0
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        """Leave the body out: whoever reads it has a limit for it."""
        self._around -= _PER_BODY_BYTE * len(body)
        super().on_body(body)

    def data_received(self, data: bytes) -> None:
        """Take what has arrived; answer 400 and close once there is too much of it."""
        self._around += len(data)
        super().data_received(data)
        if self._around > MOST_AROUND and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")
