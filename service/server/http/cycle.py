"""One request and its answer, on the side of the server."""

import asyncio
import logging
from typing import Any, Final, Protocol

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from service.errors import Refusal
from service.web.requests.application import BODILESS, require_lines

_CLOSE: Final = b"connection: close\r\n"
_CHUNKED: Final = b"transfer-encoding: chunked\r\n"
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_FAILED: Final = (
    {
        "type": "http.response.start",
        "status": 500,
        "headers": [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"21"),
            (b"connection", b"close"),
        ],
    },
    {"type": "http.response.body", "body": b"Internal Server Error"},
)


class CommonLines(Protocol):
    """State shared by all answers of a worker; ``common_lines`` are lines of their heads."""

    common_lines: bytes


class Connection(Protocol):
    """The parts of its connection that a cycle uses."""

    transport: asyncio.Transport
    flow: FlowControl
    logger: logging.Logger
    expect_100_continue: bool

    @property
    def scope(self) -> Any:
        """The ASGI scope of the request."""

    @property
    def server_state(self) -> CommonLines:
        """The state of the worker."""

    def on_response_complete(self) -> None:
        """Hear that the answer is out."""


class Cycle:
    """A request and its answer, for an ASGI application: ``receive``, and the cycle itself as ``send``.

    An application that has a whole answer can ``answer`` in one call. The head of an answer waits for the
    first piece of its body: they are one write. ``fault`` is set when the body of the request can't be read
    to its end.
    """

    # Class attributes are the defaults: most requests have no body, and nothing waits for anything.
    fault: Refusal | None = None
    disconnected = False
    more_body = True
    response_started = False
    response_complete = False
    _body: bytearray | None = None
    _head: bytes = b""
    _chunked = False
    _unsent = 0
    """Bytes of the announced body that are still to be sent."""
    _has_news = False
    """True if there is something that ``receive`` has not returned yet."""
    _news: asyncio.Event | None = None
    """The event that ``receive`` waits for; created when it waits."""

    def __init__(self, connection: Connection, *, keep_alive: bool, has_body: bool = True) -> None:
        if not has_body:
            self.more_body = False
            self._has_news = True
        self._connection: Connection | None = connection
        self.scope: dict[str, Any] = connection.scope
        self.transport = connection.transport
        self.keep_alive = keep_alive
        self._flow = connection.flow
        self._lines = connection.server_state
        self._expects_continue = connection.expect_100_continue

    async def run_asgi(self, app: Any) -> None:
        """Have ``app`` answer; an answer without an end closes the connection."""
        try:
            await app(self.scope, self.receive, self)
        except BaseException:
            if self._connection is not None:
                self._connection.logger.exception("Exception in ASGI application\n")
            if self.response_started:
                self.transport.close()
            else:
                for message in _FAILED:
                    await self(message)
        else:
            if not (self.response_complete or self.disconnected):
                self.transport.close()
        finally:
            self._connection = None  # which has this cycle: only the garbage collector could free them

    async def receive(self) -> Any:
        """Return the next ASGI event; raises ``fault`` if the body was broken off."""
        if self.fault is None:
            await self._wait()
            if self.fault is None:
                if self.disconnected or self.response_complete:
                    return {"type": "http.disconnect"}
                body, self._body = b"" if self._body is None else bytes(self._body), None
                return {"type": "http.request", "body": body, "more_body": self.more_body}
        if self.response_started:
            return {"type": "http.disconnect"}
        raise self.fault

    async def _wait(self) -> None:
        if self._expects_continue and not (self.response_started or self.transport.is_closing()):
            self.transport.write(_CONTINUE)
            self._expects_continue = False
        if self.disconnected or self.response_complete:
            return
        self._flow.resume_reading()
        if not self._has_news:
            if self._news is None:
                self._news = asyncio.Event()
            await self._news.wait()
        self._has_news = False
        if self._news is not None:
            self._news.clear()

    def wake(self) -> None:
        """Wake ``receive``: data has arrived, or the connection has ended."""
        self._has_news = True
        if self._news is not None:
            self._news.set()

    def take(self, body: bytes) -> None:
        """Take a piece of the body of the request; reading pauses while much of it waits for ``receive``."""
        if self._body is None:
            self._body = bytearray()
        self._body += body
        if len(self._body) > HIGH_WATER_LIMIT:
            self._flow.pause_reading()
        self.wake()

    def break_off(self, fault: Refusal) -> None:
        """Abort the body: the application gets ``fault``, and the connection closes after its answer."""
        self.fault = fault
        self.keep_alive = False
        self.wake()

    def answer(self, head: bytes, lines: bytes, body: bytes) -> bool:
        """Write a whole answer; False, and nothing is written, where it can't be written at once.

        ``head`` is the status line and headers, ``lines`` are further headers; all checked to be one line
        each, without the empty line.
        """
        if self._flow.write_paused or self.disconnected or self._connection is None:
            return False
        self.response_started = True
        end = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        self.transport.write(b"".join((head, lines, self._lines.common_lines, end, body)))
        self._complete()
        return True

    async def __call__(self, message: Any) -> None:
        """Take an ASGI event of the answer; raises RuntimeError for one that HTTP/1.1 does not allow."""
        if self._flow.write_paused and not self.disconnected:
            await self._flow.drain()
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
        self._chunked = self.scope["method"] != "HEAD" and status not in BODILESS
        for name, value in message["headers"]:
            if name == b"content-length":
                self._unsent = int(value)
                self._chunked = False
            elif name == b"connection" and value.lower() == b"close":
                self.keep_alive = False
                continue
            lines.append(b"%b: %b\r\n" % (name, value))
        if not self.keep_alive:
            lines.append(_CLOSE)
        if self._chunked:
            lines.append(_CHUNKED)
        head = b"".join(lines)
        require_lines(head, len(lines))
        self.response_started = True
        self._head = b"%b%b\r\n" % (head, self._lines.common_lines)

    def _go_on(self, body: bytes, *, more: bool) -> None:
        """Write a piece of the body, and the head before the first one."""
        if self.scope["method"] == "HEAD":
            self._unsent, body = 0, b""
        elif self._chunked:
            if body:
                body = b"%x\r\n%b\r\n" % (len(body), body)
            if not more:
                body += b"0\r\n\r\n"
        else:
            self._unsent -= len(body)
            if self._unsent < 0:
                raise RuntimeError("the answer is longer than its Content-Length")
        if data := self._head + body:
            self._head = b""
            self.transport.write(data)
        if more:
            return
        if self._unsent:
            raise RuntimeError("the answer is shorter than its Content-Length")
        self._complete()

    def _complete(self) -> None:
        self.response_complete = True
        self._has_news = True
        if self._news is not None:
            self._news.set()
        if not self.keep_alive:
            self.transport.close()
        if self._connection is not None:
            self._connection.on_response_complete()
