"""The outermost ASGI application: applies to every request, routed or not.

Requests that the HTTP server rejects (malformed request lines or headers) pass here too, with the refusal in
the scope. They are answered and logged like any other.
"""

import re
from collections.abc import Callable, Collection, Sequence
from http import HTTPStatus
from time import perf_counter
from typing import Any, Final, Protocol
from urllib.parse import quote

import structlog

from service.audit.collector import RefusedReads
from service.authn.step_up_methods import StepUpMethods
from service.authz.engine.paths import canonical
from service.authz.engine.policy import Policy
from service.authz.engine.refused import Requestable
from service.errors import BadRequest, InsufficientAuthentication, PermissionDenied, Refusal
from service.kernel.core_sentences import sentence
from service.kernel.origin import ORIGIN
from service.records.logs.events import OperationEvent
from service.web.content.streams import ClientGone
from service.web.messages.context import (
    INERT,
    NO_STORE,
    AddressOf,
    RequestContext,
    Scope,
    peer_address,
)
from service.web.messages.operation_metadata import ACCESS
from service.web.messages.original import TAIL, TAIL_QUERY
from service.web.messages.request import REQUEST_OPTIONS, Request
from service.web.messages.request_ids import new_request_id
from service.web.observability.request_log import RequestLog
from service.web.requests.application import (
    BODILESS,
    Answer,
    Application,
    Message,
    Receive,
    Responder,
    Send,
    require_lines,
)
from service.web.requests.cors import CrossOrigin
from service.web.requests.guard import refused_in
from service.web.requests.problems import MEDIA_TYPE, document, refused
from service.web.requests.recording import note_refused_read

REFUSAL: Final = "portcullis.refusal"
"""The key in the ASGI scope of a refusal by the HTTP server; most requests have none."""

_MUST_CHANGE: Final = sentence("password_change_needed")

_COMMON: Final = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
_CONTENT_POLICY: Final = b"content-security-policy"
_BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})
_log = structlog.get_logger()
_Kind = tuple[int, bytes | None, bytes, bytes]
"""The inputs of the fixed part of an answer's head: status, media type, caching and content policy."""
_VERSIONS: Final = frozenset({"1.0", "1.1", "2", "3"})
"""The HTTP versions that Falcon supports. The HTTP server also passes on 0.9 and 2.0."""


class RequestTracing(Protocol):
    """Records the spans of requests."""

    def begin(self, context: RequestContext) -> None:
        """Set the ``trace_id`` of a request that has arrived, and its ``span`` if it is recorded."""

    def end(self, context: RequestContext) -> None:
        """End the span of a finished request, if it has one."""


class RequestMiddleware:
    """Gives each request its id, common headers and log entries; refuses ambiguous requests.

    Logging must be configured before it is created.
    """

    def __init__(
        self,
        app: Application,
        address_of: AddressOf = peer_address,
        counts: Sequence[Callable[[RequestContext], None]] = (),
        record: Callable[[OperationEvent], None] | None = None,
        *,
        begin: Callable[[], None] = lambda: None,
        stop: Callable[[], None] = lambda: None,
        cross_origin: CrossOrigin | None = None,
        takes_path: Collection[str] = (),
        folders: Collection[str] = (),
        tracing: RequestTracing | None = None,
        refused_reads: RefusedReads | None = None,
        methods: StepUpMethods | None = None,
        requestable: Requestable | None = None,
    ) -> None:
        """``begin`` is called when a request has arrived, each of ``counts`` with each finished one.

        ``record`` takes the entries of logged operations; it must not block or raise. ``stop`` is called once
        when the process is about to stop. ``cross_origin`` adds its headers to every answer. ``takes_path``
        are the templates that the raw path of another request follows. ``folders`` are paths that are also
        served with a trailing slash. ``tracing`` is None if it is off. ``refused_reads`` takes refusals of
        operations that are not logged. ``methods`` returns the caller's methods for stronger authentication.
        ``requestable`` returns the requestable roles that would allow the denied request.
        """
        self._app = app
        self._begin = begin
        self._counts = tuple(counts)
        self._address_of = address_of
        self._record = record
        self._refused_reads = refused_reads
        self._methods = methods or StepUpMethods()
        self._requestable = requestable
        self._log = RequestLog()
        self._stop = stop
        self._cross_origin = cross_origin or CrossOrigin()
        self._takes_path = _with_tail(takes_path) if takes_path else None
        self._folders = frozenset(f"{path}/".encode("ascii") for path in folders)
        self._tracing = tracing
        self._policy: Policy | None = None
        self._common = _common_headers(None)
        self._heads: dict[_Kind, bytes] = {}

    def stop(self) -> None:
        """Announce that the process is about to stop: from now on it is not ready."""
        self._stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self._serve_other(scope, receive, send)
            return
        context = RequestContext(scope, self._address_of)
        self._begin()
        if self._tracing is not None:
            self._tracing.begin(context)
        before = ORIGIN.set(context)
        try:
            try:
                respond, arguments = self._route(context, receive)
                answer = await respond(context, arguments)
            except Exception as error:  # noqa: BLE001 - everything is answered
                answer = refused(context, await self._completed(context, error), self._app.dialects)
            if not self._sent_at_once(context, answer, send):
                await self._send(context, answer, send)
        except ClientGone:
            context.cut_off = True  # the answer has no end for the server, if the client is still connected
        except Exception:
            context.cut_off = True
            raise  # half an answer is out: the server closes the connection
        finally:
            self._finish(context)
            ORIGIN.reset(before)

    def _finish(self, context: RequestContext) -> None:
        """Log and count a request whose answer is out, or that has ended without one."""
        context.took = perf_counter() - context.started
        if self._tracing is not None:
            self._tracing.end(context)
        self._log.write(context)
        for count in self._counts:
            count(context)
        if context.event_of is not None or (context.decision is not None and not context.decision.allowed):
            self._record_operation(context)
        if context.refusal is not None:
            _forget_frames(context.refusal)

    def _route(self, context: RequestContext, receive: Receive) -> tuple[Responder, dict[str, Any]]:
        """Return the responder of the request and its path parameters as text; raises the head's refusal."""
        scope = context.scope
        if REFUSAL in scope:
            raise scope[REFUSAL]
        raw_path = scope.get("raw_path")
        if raw_path is not None:
            # The target of the client's request is cut out of the path: only its reader interprets it.
            if self._takes_path is not None and (match := self._takes_path.fullmatch(raw_path)) is not None:
                raw_path, scope[TAIL] = match.groups()
                scope[TAIL_QUERY], scope["query_string"] = scope["query_string"], b""
            # The slash is cut from the path of a folder; any other path that ends in one is refused.
            if raw_path in self._folders:
                raw_path = raw_path[:-1]
            scope["raw_path"] = raw_path
        if scope.get("http_version", "1.1") not in _VERSIONS:
            raise BadRequest(sentence("http_version_unknown"))
        # A server without a raw path has decoded it; encoding it again gives what the router would read.
        path = scope["path"] = canonical(quote(scope["path"]) if raw_path is None else raw_path)
        if not scope["query_string"].isascii():
            raise BadRequest(sentence("query_without_encoding"))
        request = context.request = Request(scope, receive, None, REQUEST_OPTIONS)
        if path.startswith(ACCESS):
            _take_arrived_body(context, receive)
        return self._app.route(request)

    async def _completed(self, context: RequestContext, error: Exception) -> Exception:
        """Return ``error`` with the caller's remedies.

        For a demand on authentication: the caller's own methods that satisfy it. For missing permissions: the
        roles that the caller may request.
        """
        if isinstance(error, PermissionDenied):
            await self._tell_requestable(context, error)
        if not isinstance(error, InsufficientAuthentication):
            return error
        caller = error.user or context.caller
        if caller is not None:
            try:
                methods = await self._methods.satisfying(caller, error.needs)
            except Refusal as unavailable:
                return unavailable
            error.extra["methods"] = list(methods)
            if caller.authentication is not None and caller.authentication.initial:
                error.say(_MUST_CHANGE)
        return error

    async def _tell_requestable(self, context: RequestContext, denied: PermissionDenied) -> None:
        """Add the roles that a person may ask for; programs, and clients of proxies, ask for none."""
        caller, policy = context.caller, context.policy
        if self._requestable is None or caller is None or policy is None:
            return
        refused = refused_in(context, denied)
        if refused is None or caller.kind != "person" or caller.key_id is not None:
            return
        if roles := await self._requestable(policy, caller, refused):
            denied.extra["requestable"] = roles

    def _sent_at_once(self, context: RequestContext, answer: Answer, send: Send) -> bool:
        """Send a usual answer in one call, where the server takes whole answers; False for any other.

        A usual answer is not a stream and has no headers of its own.
        """
        whole: Callable[[bytes, bytes, bytes], bool] | None = getattr(send, "answer", None)
        status = answer.status
        if (
            whole is None
            or answer.stream is not None
            or context.headers
            or self._cross_origin.is_on
            or status in BODILESS
        ):
            return False
        context.status = status
        if context.policy is not self._policy:
            self._use(context.policy)
        kind = (status, answer.media_type, context.cache_control, context.content_policy)
        head = self._heads.get(kind) or self._head(kind)
        data = answer.data
        request_id = context.echoed_id
        if not request_id.isalnum():
            require_lines(request_id, 0)
        lines = b"content-length: %d\r\nx-request-id: %b\r\n" % (len(data), request_id)
        return whole(head, lines, b"" if context.scope["method"] == "HEAD" else data)

    def _head(self, kind: _Kind) -> bytes:
        """Return the status line and the headers that all answers of ``kind`` have; made once."""
        status, media_type, cache_control, content_policy = kind
        headers = [(b"cache-control", cache_control), (_CONTENT_POLICY, content_policy), *self._common]
        if media_type is not None:
            headers.append((b"content-type", media_type))
        line = _status_line(status).encode("ascii")
        head = b"%b\r\n%b" % (line, b"".join([b"%b: %b\r\n" % header for header in headers]))
        require_lines(head, len(headers) + 1)
        self._heads[kind] = head
        return head

    def _use(self, policy: Policy | None) -> None:
        """Send the revision of ``policy`` from now on."""
        self._policy, self._common = policy, _common_headers(policy)
        self._heads = {}

    async def _send(self, context: RequestContext, answer: Answer, send: Send) -> None:
        if context.policy is not self._policy:
            self._use(context.policy)
        headers = [
            *answer.headers(),
            (b"x-request-id", context.echoed_id),
            (b"cache-control", context.cache_control),
            (_CONTENT_POLICY, context.content_policy),
            *self._common,
            *context.headers,
            *self._cross_origin.headers(context.scope),
        ]
        context.status = answer.status
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await answer.send_body(send, head_only=context.scope["method"] == "HEAD")

    def _record_operation(self, context: RequestContext) -> None:
        # Later changes by tasks of the request are not part of the entry.
        event_of, context.event_of = context.event_of, None
        decision = context.decision
        try:
            if event_of is None:
                if decision is not None and not decision.allowed and self._refused_reads is not None:
                    note_refused_read(self._refused_reads, context)
            elif self._record is not None:
                self._record(event_of(context))
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
    return re.compile(f"({heads})(/.*)".encode(), re.DOTALL)


def _take_arrived_body(context: RequestContext, receive: Receive) -> None:
    """Take the first piece of a body if it is there already, and note whether it is the whole body."""
    has_body = False
    for name, _ in context.scope["headers"]:
        if name == b"expect":
            return
        if name in _BODY_HEADERS:
            has_body = True
    if has_body:
        arrived = context.request.arrived = _arrived(receive)
        context.has_body = arrived is not None and arrived.get("more_body") is False


def _arrived(receive: Receive) -> Message | None:
    """Return the next event if it is there already; otherwise None, and nothing is taken."""
    waiting = receive().__await__()
    try:
        next(waiting)
    except StopIteration as done:
        arrived: Message = done.value
        return arrived
    waiting.close()
    return None


def _common_headers(policy: Policy | None) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that all answers have which ``policy`` has decided."""
    return _COMMON if policy is None else (*_COMMON, (b"x-policy-revision", b"%d" % policy.revision))


def _forget_frames(refusal: Refusal) -> None:
    """Cut the way from a refusal to its request, which has it: only the garbage collector could free them."""
    refusal.__traceback__ = refusal.__context__ = refusal.__cause__ = None


def _status_line(status: int) -> str:
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"


def raw_answer(refusal: Refusal) -> bytes:
    """Return a complete HTTP/1.1 answer for a client whose request is not read before disconnecting it."""
    request_id = new_request_id()
    body = document(refusal, request_id)
    headers = {
        "Content-Type": MEDIA_TYPE,
        "Content-Length": len(body),
        "Connection": "close",
        "X-Request-Id": request_id,
        "Cache-Control": NO_STORE.decode(),
        **{name.decode(): value.decode() for name, value in (*_COMMON, (_CONTENT_POLICY, INERT))},
        **refusal.headers,
    }
    lines = [_status_line(refusal.status)]
    lines += [f"{name.lower()}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
