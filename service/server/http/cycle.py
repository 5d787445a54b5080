"""One request and its answer: uvicorn's cycle, with an answer in one write and a body that can break off."""

from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from service.errors import Refusal

_CLOSE: Final = b"connection: close\r\n"
_CHUNKED: Final = b"transfer-encoding: chunked\r\n"


class Cycle(RequestResponseCycle):
    """uvicorn's cycle, but the head of an answer waits for the first piece of its body: they are one write.

    ``fault`` is set when the body of the request can't be read to its end.
    """

    fault: Refusal | None = None
    _head: bytes = b""

    async def receive(self) -> Any:
        """Return the next ASGI event; raises ``fault`` if the body was broken off."""
        if self.fault is None:
            event = await super().receive()
            if self.fault is None:
                return event
        if self.response_started:
            return {"type": "http.disconnect"}
        raise self.fault

    def break_off(self, fault: Refusal) -> None:
        """Abort the body: the application gets ``fault``, and the connection closes after its answer."""
        self.fault = fault
        self.keep_alive = False
        self.message_event.set()

    async def send(self, message: Any) -> None:
        """Take an ASGI event of the answer; raises RuntimeError for one that HTTP/1.1 does not allow."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if not self.response_started:
            self._begin(message)
        elif self.response_complete:
            raise RuntimeError(f"{message['type']} was sent after the end of the answer")
        else:
            self._go_on(message.get("body", b""), more=message.get("more_body", False))

    def _begin(self, message: Any) -> None:
        """Keep the head of the answer until the first piece of its body."""
        status = message["status"]
        lines = [STATUS_LINE[status]]
        self.chunked_encoding = self.scope["method"] != "HEAD" and status not in (204, 304)
        for name, value in (*self.default_headers, *message["headers"]):
            if name == b"content-length":
                self.expected_content_length = int(value)
                self.chunked_encoding = False
            elif name == b"connection" and value.lower() == b"close":
                self.keep_alive = False
                continue
            lines.append(b"%b: %b\r\n" % (name, value))
        if not self.keep_alive:
            lines.append(_CLOSE)
        if self.chunked_encoding:
            lines.append(_CHUNKED)
        lines.append(b"\r\n")
        head = b"".join(lines)
        # A line break in a header would begin another header, or the body (RFC 9110 §5.5).
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines) or b"\0" in head:
            raise RuntimeError("a header of the answer is not one line")
        self.response_started = True
        self.waiting_for_100_continue = False
        self._head = head

    def _go_on(self, body: bytes, *, more: bool) -> None:
        """Write a piece of the body, and the head before the first one."""
        if self.scope["method"] == "HEAD":
            self.expected_content_length, body = 0, b""
        elif self.chunked_encoding:
            if body:
                body = b"%x\r\n%b\r\n" % (len(body), body)
            if not more:
                body += b"0\r\n\r\n"
        else:
            self.expected_content_length -= len(body)
            if self.expected_content_length < 0:
                raise RuntimeError("the answer is longer than its Content-Length")
        if data := self._head + body:
            self._head = b""
            self.transport.write(data)
        if more:
            return
        if self.expected_content_length:
            raise RuntimeError("the answer is shorter than its Content-Length")
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
