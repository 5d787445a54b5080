"""uvicorn's HTTP protocol, made strict: no ambiguous requests, and a deadline for every wait."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any, Final, cast
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from service.errors import BadRequest, HeadTooLarge, Refusal, RequestTimeout
from service.kernel.core_sentences import sentence
from service.server.http.answering import Answering
from service.server.http.cycle import Cycle
from service.server.http.deadlines import Deadlines, Limits, Overdue, Phase
from service.server.http.framing import MAX_HEAD, Head, check_head, head_size, is_plain
from service.web.requests.middleware import REFUSAL

LINGER: Final = 2.0
"""Seconds for which the bytes that a client still sends are read and discarded."""

LINGER_BYTES: Final = 4_194_304
"""The most bytes that are discarded."""

_AT_ONCE: Final = struct.pack("ii", 1, 0)  # struct linger, socket(7)


class LingeringTransport:
    """The part of a transport that uvicorn's request cycle needs; ``close`` makes the protocol linger.

    If a socket is closed with unread bytes, the kernel resets the connection, and the client may lose the
    last answer. So the sending side is closed first, and incoming bytes are discarded for a while (RFC 9112
    §9.6).
    """

    __slots__ = ("_linger", "is_closing", "write")

    def __init__(self, transport: asyncio.Transport, linger: Callable[[], None]) -> None:
        self._linger = linger
        self.write = transport.write
        self.is_closing = transport.is_closing

    def close(self) -> None:
        """Close the connection once the client has had time to read the answer."""
        self._linger()


def reset(transport: asyncio.Transport) -> None:
    """Reset the connection of a client that does not read; the system discards unsent bytes."""
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()


class _Counted(set[Any]):
    """The connections of a worker; ``tell`` receives their number after each change."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        super().__init__()
        self._tell = tell

    def add(self, element: Any) -> None:
        super().add(element)
        self._tell(len(self))

    def discard(self, element: Any) -> None:
        super().discard(element)
        self._tell(len(self))


class WorkerState(ServerState):
    """uvicorn's state, the limits, and ``stopping``: while it is set, answers close their connections.

    ``tell`` receives the number of connections after each change. ``common_lines`` are the
    ``default_headers`` of uvicorn as lines; it sets them once a second.
    """

    def __init__(self, limits: Limits, tell: Callable[[int], None]) -> None:
        super().__init__()
        self.connections = _Counted(tell)
        self.limits = limits
        self.stopping = False

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers of all answers that the application does not make: the date."""
        return self._default_headers

    @default_headers.setter
    def default_headers(self, headers: list[tuple[bytes, bytes]]) -> None:
        self._default_headers = headers
        self.common_lines = b"".join([b"%b: %b\r\n" % header for header in headers])


FIRST_BYTE_AT_STOP: Final = 1.0
"""Seconds in which a connection that has sent nothing yet may begin a request when the worker stops."""

_HEAD, _BODY, _BUSY, _IDLE = Phase  # looking them up in an enumeration is slower
_METHODS: Final = {method.encode(): method for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH")}
_PER_BODY_BYTE: Final = 8  # chunks of one byte have six bytes of framing each; no real client sends those


class HttpProtocol(HttpToolsProtocol):
    """One connection. The application answers its refusals: in order, logged, as problem documents.

    After its last request a connection is ``deaf``: later bytes are never parsed.
    """

    _around = 0  # bytes of the message that are not of its body; the piece in which it begins is not counted
    _piece = 0  # bytes of the piece that is parsed now
    _first = 0  # bytes of the piece in which the message began
    _in_head = False
    _in_body = False
    _deaf = False
    _lingering = False
    _dropped = 0  # bytes that came after the last request
    _unread = 0  # bytes of a body that came after its request was answered
    _hosts = 0  # of the head that is read, as the next four
    _host = b""
    _lengths = 0
    _length = b""
    _has_coding = False  # a header that says how a body is framed
    _deadlines: Deadlines
    server_state: WorkerState
    cycle: Cycle  # type: ignore[assignment]  # our own has what uvicorn's has for this class

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        self._deadlines = Deadlines(self.server_state.limits, self.loop.time())
        self._answering = Answering(self.loop, self.tasks)
        super().connection_made(transport)
        self._facts: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": self.root_path,
            "state": self.app_state,
            # Facts of each request: named here, since to add members to a copy takes longer.
            "headers": [],
            "method": "",
            "path": "",
            "raw_path": b"",
            "query_string": b"",
        }

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the application that its client has disconnected."""
        self.connections.discard(self)
        self._answering.finish()
        if self.cycle is not None:
            self.cycle.disconnected = not self.cycle.response_complete
            self.cycle.wake()
        self.flow.resume_writing()
        if exc is None:
            self.transport.close()
        self.parser = None  # type: ignore[assignment]  # which has this connection

    def data_received(self, data: bytes) -> None:
        """Parse the received bytes."""
        if self._deaf:
            self._drop(data)
            return
        deadlines = self._deadlines
        self._piece = size = len(data)
        self._around += size
        deadlines.taken += size
        if deadlines.phase is _IDLE:
            deadlines.phase, deadlines.since = _HEAD, self.loop.time()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._deaf = True
        except httptools.HttpParserError:
            # The following bytes are not parsed as requests, whatever they look like.
            self.refuse(BadRequest(sentence("not_http")))
        if self._around > MAX_HEAD:
            self.refuse(HeadTooLarge())

    def on_message_begin(self) -> None:
        """Begin the head of a request."""
        self._around = 0
        self._first = self._piece
        self._in_head = True
        self._begin_head()

    def _begin_head(self) -> None:
        self._hosts = 0
        self._lengths = 0
        self._has_coding = False
        self.url = b""
        self.expect_100_continue = False
        scope = self.scope = self._facts.copy()  # type: ignore[assignment]
        self.headers = scope["headers"] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; trailers are dropped, since they must not pass for headers (RFC 9110 §6.5.1)."""
        if not self._in_head:
            return
        name = name.lower()
        self.headers.append((name, value))
        if name == b"host":
            self._hosts += 1
            self._host = value
        elif name == b"content-length":
            self._lengths += 1
            self._length = value
        elif name == b"transfer-encoding":
            self._has_coding = True
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True

    def on_headers_complete(self) -> None:
        """Pass the request to the application, or refuse it."""
        parser, target = self.parser, self.url
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]
        method, version = parser.get_method(), parser.get_http_version()
        scope["method"] = _METHODS.get(method) or method.decode("ascii")
        upgrade = parser.should_upgrade()
        # Only pieces that are large together can hold a head that is too large.
        large = self._first + self._around > MAX_HEAD
        framed = self._has_coding or self._lengths > 1
        if upgrade or large or framed or not is_plain(version, target, self._hosts, self._host):
            names = [name for name, _ in self.headers]
            has_body = self._examine(Head(method, version, target, self.headers, names, upgrade), large=large)
        else:
            has_body = self._lengths == 1 and self._length.strip(b"0") != b""
        self._describe(scope, target)
        self._in_head = False
        persistent = version != "1.0" and parser.should_keep_alive()
        keep_alive = persistent and not (upgrade or self.server_state.stopping)
        cycle = Cycle(self, keep_alive=keep_alive, has_body=has_body)
        if has_body:
            self._in_body = True
            self._unread = 0
        if upgrade or has_body:
            self._close_gently(cycle)
        self._start(cycle)
        deadlines = self._deadlines
        if has_body:
            deadlines.begin(_BODY, self.loop.time())
        else:
            deadlines.phase, deadlines.since = _BUSY, self.loop.time()

    def _examine(self, head: Head, *, large: bool) -> bool:
        """Check a head with something unusual; return whether a body follows, or raise its refusal."""
        try:
            if large and head_size(head.target, head.headers) > MAX_HEAD:
                raise HeadTooLarge
            check_head(head)
        except Refusal as refusal:
            self.refuse(refusal)
            raise  # the parser stops here
        cast(dict[str, Any], self.scope)["http_version"] = head.version
        return head.has_body

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body; its reader has a limit for it."""
        self._around -= _PER_BODY_BYTE * len(body)
        if not self.cycle.response_complete:
            self.cycle.take(body)
            return
        self._unread += len(body)
        if self._unread > LINGER_BYTES:
            self.transport.close()

    def on_message_complete(self) -> None:
        """End the body of the request."""
        if self._in_body:
            if not self.cycle.response_complete:
                self.cycle.more_body = False
                self.cycle.wake()
            self._in_body = False
            self._deadlines.begin(_IDLE if self.cycle.response_complete else _BUSY, self.loop.time())

    def on_response_complete(self) -> None:
        """Start the next request, unless this was the last one."""
        self.server_state.total_requests += 1
        if self._lingering or self.transport.is_closing():
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self.pipeline:
            self._answering.begin(*self.pipeline.pop())  # type: ignore[arg-type]  # as in ``_start``
        if self._in_body:
            return
        deadlines, answered = self._deadlines, self.cycle.response_complete
        deadlines.phase = _BUSY if not answered else _HEAD if self._in_head else _IDLE
        deadlines.since = self.loop.time()

    def enforce_deadlines(self, now: float) -> None:
        """Close the connection, or refuse its request, if the client is too slow. ``now`` is the loop's."""
        unsent = self.transport.get_write_buffer_size()
        late = self._deadlines.overdue(now, paused=self.flow.read_paused, unsent=unsent)
        if late is Overdue.READER:
            reset(self.transport)
        elif late is Overdue.IDLE:
            self.transport.close()
        elif late is Overdue.REQUEST:
            self.refuse(RequestTimeout())

    def begin_stop(self) -> None:
        """Make the current answer the last one of this connection."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Close the connection unless a request is, or may be, under way."""
        self.begin_stop()
        if self.cycle is not None and not self.cycle.response_complete:
            return
        if not self._deadlines.taken:
            self.loop.call_later(FIRST_BYTE_AT_STOP, self._close_unless_begun)
        elif not self._in_head:
            self.transport.close()

    def refuse(self, refusal: Refusal) -> None:
        """Answer ``refusal`` after all earlier requests, and read nothing more from the client."""
        if self._deaf or self.transport.is_closing():
            return
        self._deaf = True
        self._deadlines.begin(_BUSY, self.loop.time())
        if self._in_body:
            self._refuse_body(refusal)
        elif self._in_head or self.cycle is None or not self.cycle.response_complete:
            self._answer(refusal)
        else:
            self._linger()

    def _refuse_body(self, refusal: Refusal) -> None:
        if self.cycle.response_complete:
            self._linger()
        else:
            self.cycle.break_off(refusal)

    def _answer(self, refusal: Refusal) -> None:
        if not self._in_head:
            self._begin_head()
        scope = cast(dict[str, Any], self.scope)
        scope |= {"method": scope.get("method", ""), "path": "", "raw_path": b"", "query_string": b""}
        scope[REFUSAL] = refusal
        self.expect_100_continue = False
        cycle = Cycle(self, keep_alive=False, has_body=False)
        self._close_gently(cycle)
        self._start(cycle)

    def _describe(self, scope: dict[str, Any], target: bytes) -> None:
        """Complete the ASGI scope of the request by its target."""
        url = httptools.parse_url(target)
        scope["raw_path"] = url.path
        path = url.path.decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        scope["query_string"] = url.query or b""

    def _start(self, cycle: Cycle) -> None:
        """Have the application answer once all earlier requests are answered."""
        earlier, self.cycle = self.cycle, cycle
        if earlier is None or earlier.response_complete:
            self._answering.begin(cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))  # type: ignore[arg-type]

    def _drop(self, data: bytes) -> None:
        self._dropped += len(data)
        if self._dropped > LINGER_BYTES:
            # While an answer is still to come, the client has to wait for it.
            self.transport.close() if self._lingering else self.flow.pause_reading()

    def _close_gently(self, cycle: Cycle) -> None:
        """Make ``cycle`` close the connection so that a client that is still sending gets the answer."""
        cycle.transport = LingeringTransport(self.transport, self._linger)  # type: ignore[assignment]  # a part

    def _linger(self) -> None:
        if self._lingering or self.transport.is_closing():
            return
        self._deaf = self._lingering = True
        self._dropped = 0
        self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(LINGER, self.transport.close)

    def _close_unless_begun(self) -> None:
        if not self._deadlines.taken:
            self.transport.close()
