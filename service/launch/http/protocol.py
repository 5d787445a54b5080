"""uvicorn's HTTP protocol, which answers nothing that could be read in two ways."""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from service.errors import BadRequest, HeadTooLarge, Refusal
from service.launch.http.framing import MAX_HEAD, Head, check_head
from service.launch.http.incoming import IncomingBody
from service.launch.http.lingering import LingeringTransport
from service.web.entrance import REFUSAL

LINGER: Final = 2.0
"""How long a closed connection takes in what the client still sends, in seconds."""

LINGER_BYTES: Final = 4_194_304
"""How much of it, in bytes."""

_PER_BODY_BYTE: Final = 8  # a body in chunks of one byte each has six around each, and is nobody's usual one


class HttpProtocol(HttpToolsProtocol):
    """One connection. What it refuses, the application answers: in its turn, logged, as a problem document.

    A connection is ``deaf`` from the request on that is its last: what follows is never parsed.
    """

    _around = 0  # bytes of the message that are not of its body; the piece in which it begins is not counted
    _in_head = False
    _deaf = False
    _lingering = False
    _dropped = 0  # bytes that came after the last request
    _body: IncomingBody | None = None

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived."""
        if self._deaf:
            self._drop(data)
            return
        self._around += len(data)
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._deaf = True
        except httptools.HttpParserError:
            # What follows is not a request, whatever it looks like.
            self._refuse(BadRequest("The request is no valid HTTP"))
        if self._around > MAX_HEAD:
            self._refuse(HeadTooLarge())

    def on_message_begin(self) -> None:
        """Begin the head of a request."""
        self._around = 0
        self._in_head = True
        self._body = None
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; trailers are dropped, since nobody may take them for headers (RFC 9110 §6.5.1)."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request to the application, or refuse it."""
        parser = self.parser
        upgrade = parser.should_upgrade()
        head = Head(parser.get_method(), parser.get_http_version(), self.url, self.headers, upgrade)
        self.scope["method"] = head.method.decode("ascii")
        try:
            check_head(head)
        except Refusal as refusal:
            self._refuse(refusal)
            raise  # the parser stops here
        super().on_headers_complete()
        self._in_head = False
        if head.has_body:
            self._body = IncomingBody(self.cycle)
            self._close_gently(self.cycle)
        if upgrade:
            self.cycle.keep_alive = False
            self._close_gently(self.cycle)

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body; its reader has a limit for it."""
        self._around -= _PER_BODY_BYTE * len(body)
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Begin the next request, unless this was the last."""
        if self._lingering:
            self.server_state.total_requests += 1
        else:
            super().on_response_complete()

    def _refuse(self, refusal: Refusal) -> None:
        """Have ``refusal`` answered after all earlier requests, and take nothing more from the client."""
        if self._deaf:
            return
        self._deaf = True
        if self._in_head or self.cycle is None:
            self._answer(refusal)
        elif self.cycle.response_complete:
            self._linger()
        elif self._body is not None:
            self._body.break_off(refusal)
        else:  # between two requests, of which the earlier is not answered yet
            self._answer(refusal)

    def _answer(self, refusal: Refusal) -> None:
        if not self._in_head:
            super().on_message_begin()
        scope = cast(dict[str, Any], self.scope)
        scope |= {"method": scope.get("method", ""), "path": "", "raw_path": b"", "query_string": b""}
        scope[REFUSAL] = refusal
        earlier = self.cycle
        self.cycle = RequestResponseCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=False,
            on_response=self.on_response_complete,
        )
        self.cycle.more_body = False
        self._close_gently(self.cycle)
        if earlier is None or earlier.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.pipeline.appendleft((self.cycle, self.app))

    def _drop(self, data: bytes) -> None:
        self._dropped += len(data)
        if self._dropped > LINGER_BYTES:
            # While an answer is still to come, the client has to wait for it.
            self.transport.close() if self._lingering else self.flow.pause_reading()

    def _close_gently(self, cycle: RequestResponseCycle) -> None:
        """Have ``cycle`` close the connection so that the client gets the answer to what it still sends."""
        cycle.transport = cast(asyncio.Transport, LingeringTransport(self.transport, self._linger))

    def _linger(self) -> None:
        if self._lingering or self.transport.is_closing():
            return
        self._deaf = self._lingering = True
        self._dropped = 0
        self.transport.write_eof()
        self.flow.resume_reading()
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(LINGER, self.transport.close)
