"""The outermost ASGI application: applies to every request, routed or not.

Requests that the HTTP server itself refuses (malformed request lines or headers) come here too, with the
refusal in the scope, so that they are answered and logged like any other.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import quote

import structlog
from falcon import HTTPError
from falcon.asgi import App, Response

from service.authz.engine.paths import canonical
from service.errors import BadRequest, Refusal
from service.kernel.origin import ORIGIN
from service.records.logs.operation_events import OperationEvent
from service.web.content.streams import ClientGone
from service.web.observability.request_log import RequestLog
from service.web.requests.context import AddressOf, RequestContext, Scope, new_request_id, peer_address
from service.web.requests.cors import CrossOrigin
from service.web.requests.description import ACCESS
from service.web.requests.original import TAIL
from service.web.requests.problems import MEDIA_TYPE, answer, document, refused
from service.web.requests.request import Request
from service.web.requests.routes import Router

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

REFUSAL: Final = "portcullis.refusal"
"""The key in the ASGI scope of a refusal by the HTTP server; most requests have none."""

_COMMON: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
_BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})
_log = structlog.get_logger()
_VERSIONS: Final = frozenset({"1.0", "1.1", "2", "3"})
"""The HTTP versions that Falcon supports. The HTTP server also passes on 0.9 and 2.0."""


def falcon_app() -> App[Request, Response]:
    """Return a Falcon application without routes that answers every error as a problem document."""
    app = App(request_type=Request, router=Router())
    app.add_error_handler(Exception, answer)
    # Falcon uses the handler of the nearest class, and has one of its own for this class.
    app.add_error_handler(HTTPError, answer)
    return app


class RequestMiddleware:
    """Gives each request its id, common headers and log entries; refuses ambiguous requests.

    Logging must be configured before it is created.
    """

    def __init__(
        self,
        app: App[Request, Response],
        address_of: AddressOf = peer_address,
        count: Callable[[RequestContext], None] | None = None,
        record: Callable[[OperationEvent], None] | None = None,
        *,
        stop: Callable[[], None] = lambda: None,
        cross_origin: CrossOrigin | None = None,
        takes_path: Collection[str] = (),
    ) -> None:
        """``count``, if given, is called with each finished request.

        ``record`` takes the entries of logged operations; it must not block or raise. ``stop`` is called once
        when the process is about to stop. ``cross_origin`` adds its headers to every answer.
        ``takes_path`` are the templates after which the raw path of another request follows.
        """
        self._app = app
        self._count = count
        self._address_of = address_of
        self._record = record
        self._log = RequestLog()
        self._stop = stop
        self._cross_origin = cross_origin or CrossOrigin()
        self._takes_path = _with_tail(takes_path)

    def stop(self) -> None:
        """Announce that the process is about to stop: from now on it is not ready."""
        self._stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self._serve_other(scope, receive, send)
            return
        context = RequestContext(scope, self._address_of)
        before = ORIGIN.set(context)

        def send_with_headers(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                message["headers"] += _headers(context)
                message["headers"] += self._cross_origin.headers(scope)
            return send(message)

        try:
            if REFUSAL in scope:
                raise scope[REFUSAL]  # noqa: TRY301 - answered below, as what is refused later
            self._cut_tail(scope)
            _refuse_ambiguous(scope)
            await self._app(scope, _without_waiting(context, receive), send_with_headers)
        except ClientGone:
            context.cut_off = True  # the answer has no end for the server, if the client is still connected
        except Exception as error:
            if context.status:
                context.cut_off = True
                raise  # half an answer is out: the server closes the connection
            await _send_refusal(context, error, send_with_headers)
        finally:
            self._log.write(context)
            if self._count is not None:
                self._count(context)
            self._record_operation(context)
            ORIGIN.reset(before)

    def _cut_tail(self, scope: Scope) -> None:
        """Take the target of another request out of the path: only its reader knows what it may be."""
        raw_path = scope.get("raw_path")
        if raw_path is not None and (found := self._takes_path.fullmatch(raw_path)) is not None:
            scope["raw_path"], scope[TAIL] = found.groups()
            scope["query_string"] = b""

    def _record_operation(self, context: RequestContext) -> None:
        if self._record is None or context.event_of is None:
            return
        try:
            self._record(context.event_of(context))
        except Exception as error:  # noqa: BLE001 - the answer is out, and others wait for this worker
            name = context.operation.object if context.operation else None
            _log.error("an operation can't be recorded", operation=name, exc_info=error)

    async def _serve_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})
        else:
            await self._app(scope, receive, send)


def _with_tail(templates: Collection[str]) -> re.Pattern[bytes]:
    """Return a pattern of the raw paths that begin with one of ``templates`` and go on after it."""
    heads = "|".join(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template)) for template in templates)
    return re.compile(f"({heads})(/.*)".encode() if heads else rb"(?!)", re.DOTALL)


def _without_waiting(context: RequestContext, receive: Receive) -> Receive:
    """Return a function for Falcon to call instead of ``receive``.

    Falcon takes the first event before routing. For a request with a body this is its first piece: a client
    that waits with the body would not get its refusal, or would be asked to send it (RFC 9110 §10.1.1).
    Below ``/access/`` it is noted in ``context`` if the whole body is there already.
    """
    if not any(name in _BODY_HEADERS for name, _ in context.scope["headers"]):
        return receive
    is_first = True
    arrived: Message | None = None
    if context.scope["path"].startswith(ACCESS) and not _expects(context.scope):
        arrived = _arrived(receive)
        context.has_body = arrived is not None and arrived.get("more_body") is False

    async def receive_later() -> Message:
        nonlocal is_first, arrived
        if is_first:
            is_first = False
            return {"type": "http.request", "body": b"", "more_body": True}
        if arrived is not None:
            message, arrived = arrived, None
            return message
        return await receive()

    return receive_later


def _expects(scope: Scope) -> bool:
    return any(name == b"expect" for name, _ in scope["headers"])


def _arrived(receive: Receive) -> Message | None:
    """Return the next event if it is there already; otherwise None, and nothing is taken."""
    waiting = receive().__await__()
    try:
        next(waiting)
    except StopIteration as done:
        return cast(Message, done.value)
    waiting.close()
    return None


def _refuse_ambiguous(scope: Scope) -> None:
    if scope.get("http_version", "1.1") not in _VERSIONS:
        raise BadRequest("The request line names a version of HTTP that is not spoken here")
    raw_path = scope.get("raw_path")
    # A server without a raw path has decoded it; encoding it again gives what the router would read.
    scope["path"] = canonical(quote(scope["path"]) if raw_path is None else raw_path)
    if not scope["query_string"].isascii():
        raise BadRequest("The query holds bytes that must be percent-encoded")


def _headers(context: RequestContext) -> list[tuple[bytes, bytes]]:
    headers = [(b"x-request-id", context.echoed_id), *_COMMON, *context.headers]
    if context.policy is not None:
        headers.append((b"x-policy-revision", b"%d" % context.policy.revision))
    return headers


def raw_answer(refusal: Refusal) -> bytes:
    """Return a complete HTTP/1.1 answer for a client whose request is not read before disconnecting it."""
    request_id = new_request_id()
    body = document(refusal, request_id)
    headers = {
        "Content-Type": MEDIA_TYPE,
        "Content-Length": len(body),
        "Connection": "close",
        "X-Request-Id": request_id,
        **{name.decode(): value.decode() for name, value in _COMMON},
        **refusal.headers,
    }
    lines = [f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}"]
    lines += [f"{name.lower()}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


async def _send_refusal(context: RequestContext, error: Exception, send: Send) -> None:
    status, body = refused(context, error)
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if context.scope["method"] == "HEAD" else body})
