"""The outermost ASGI application: applies to every request, routed or not.

Requests that the HTTP server itself refuses (malformed request lines or headers) come here too, with the
refusal in the scope, so that they are answered and logged like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote

import structlog

from service.audit.collector import RefusedReads
from service.authn.step_up_methods import StepUpMethods
from service.authz.engine.paths import canonical
from service.authz.engine.policy import Policy
from service.authz.review.requestable import RequestableRoles
from service.errors import BadRequest, InsufficientAuthentication, PermissionDenied, Refusal
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
from service.web.messages.original import TAIL
from service.web.messages.request import Request
from service.web.messages.request_ids import new_request_id
from service.web.observability.request_log import RequestLog
from service.web.requests.application import Answer, Application, Message, Receive, Send
from service.web.requests.cors import CrossOrigin
from service.web.requests.guard import refused_in
from service.web.requests.problems import MEDIA_TYPE, document, refused
from service.web.requests.recording import note_refused_read

if TYPE_CHECKING:  # it imports OpenTelemetry
    from service.web.observability.tracing.requests import RequestTracing

REFUSAL: Final = "portcullis.refusal"
"""The key in the ASGI scope of a refusal by the HTTP server; most requests have none."""

_MUST_CHANGE: Final = (
    "Change the password first, since somebody else has set it or knows it: PUT /api/user/profile/password "
    "with currentPassword and newPassword. Then log in again, or refresh the tokens"
)

_COMMON: Final = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
_CONTENT_POLICY: Final = b"content-security-policy"
_BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})
_log = structlog.get_logger()
_VERSIONS: Final = frozenset({"1.0", "1.1", "2", "3"})
"""The HTTP versions that Falcon supports. The HTTP server also passes on 0.9 and 2.0."""


class RequestMiddleware:
    """Gives each request its id, common headers and log entries; refuses ambiguous requests.

    Logging must be configured before it is created.
    """

    def __init__(
        self,
        app: Application,
        address_of: AddressOf = peer_address,
        count: Callable[[RequestContext], None] | None = None,
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
        requestable: RequestableRoles | None = None,
    ) -> None:
        """``begin`` is called when a request has arrived, ``count``, if given, with each finished one.

        ``record`` takes the entries of logged operations; it must not block or raise. ``stop`` is called once
        when the process is about to stop. ``cross_origin`` adds its headers to every answer.
        ``takes_path`` are the templates after which the raw path of another request follows; ``folders`` are
        paths that are also served with a slash after them, as browsers and people write them. ``tracing`` is
        None if it is off. ``refused_reads`` takes refusals of operations that are not logged. ``methods``
        tells callers by which of theirs they can authenticate more strongly, ``requestable`` which roles that
        they may ask for would open what was refused.
        """
        self._app = app
        self._begin = begin
        self._count = count
        self._address_of = address_of
        self._record = record
        self._refused_reads = refused_reads
        self._methods = methods or StepUpMethods()
        self._requestable = requestable
        self._log = RequestLog()
        self._stop = stop
        self._cross_origin = cross_origin or CrossOrigin()
        self._takes_path = _with_tail(takes_path)
        self._folders = frozenset(f"{path}/".encode("ascii") for path in folders)
        self._tracing = tracing
        self._policy: Policy | None = None
        self._common = _common_headers(None)

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
                answer = await self._answer(context, receive)
            except Exception as error:  # noqa: BLE001 - everything is answered
                answer = refused(context, await self._completed(context, error))
            await self._send(context, answer, send)
        except ClientGone:
            context.cut_off = True  # the answer has no end for the server, if the client is still connected
        except Exception:
            context.cut_off = True
            raise  # half an answer is out: the server closes the connection
        finally:
            if self._tracing is not None:
                self._tracing.end(context)
            self._log.write(context)
            if self._count is not None:
                self._count(context)
            self._record_operation(context)
            ORIGIN.reset(before)
            if context.refusal is not None:
                _forget_frames(context.refusal)

    async def _answer(self, context: RequestContext, receive: Receive) -> Answer:
        scope = context.scope
        if REFUSAL in scope:
            raise scope[REFUSAL]
        self._cut_tail(scope)
        self._cut_slash(scope)
        _refuse_ambiguous(scope)
        request = context.request = Request(scope, receive)
        if scope["path"].startswith(ACCESS):
            _take_arrived_body(context, receive)
        respond, arguments = self._app.route(request)
        return await respond(context, arguments)

    async def _completed(self, context: RequestContext, error: Exception) -> Exception:
        """Return ``error`` with what the caller can do about it.

        Where it demands another authentication, the caller's own ways to get it; where permissions are
        missing, the roles that the caller may ask for.
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
                error.detail = _MUST_CHANGE
        return error

    async def _tell_requestable(self, context: RequestContext, denied: PermissionDenied) -> None:
        """Add the roles that a person may ask for; programs, and clients of proxies, ask for none."""
        caller, policy = context.caller, context.policy
        if self._requestable is None or caller is None or policy is None:
            return
        refused = refused_in(context, denied)
        if refused is None or caller.kind != "person" or caller.key_id is not None:
            return
        if roles := await self._requestable.opening(policy, caller, refused):
            denied.extra["requestable"] = roles

    async def _send(self, context: RequestContext, answer: Answer, send: Send) -> None:
        headers = answer.headers() + self._headers(context)
        context.status = answer.status
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await answer.send_body(send, head_only=context.scope["method"] == "HEAD")

    def _headers(self, context: RequestContext) -> list[tuple[bytes, bytes]]:
        policy = context.policy
        if policy is not self._policy:
            self._policy, self._common = policy, _common_headers(policy)
        headers = [
            (b"x-request-id", context.echoed_id),
            (b"cache-control", context.cache_control),
            (_CONTENT_POLICY, context.content_policy),
            *self._common,
            *context.headers,
        ]
        return headers + self._cross_origin.headers(context.scope)

    def _cut_tail(self, scope: Scope) -> None:
        """Take the target of another request out of the path: only its reader knows what it may be."""
        raw_path = scope.get("raw_path")
        if raw_path is not None and (match := self._takes_path.fullmatch(raw_path)) is not None:
            scope["raw_path"], scope[TAIL] = match.groups()
            scope["query_string"] = b""

    def _cut_slash(self, scope: Scope) -> None:
        """Take the slash from the path of a folder; any other path that ends in one is refused."""
        if scope.get("raw_path") in self._folders:
            scope["raw_path"] = scope["raw_path"][:-1]

    def _record_operation(self, context: RequestContext) -> None:
        # What a task of the request still saves afterwards can't be a part of the entry.
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
    return re.compile(f"({heads})(/.*)".encode() if heads else rb"(?!)", re.DOTALL)


def _take_arrived_body(context: RequestContext, receive: Receive) -> None:
    """Take the first piece of a body if it is there already, and note whether it is the whole body."""
    headers = context.scope["headers"]
    if not any(name in _BODY_HEADERS for name, _ in headers) or _expects(context.scope):
        return
    arrived = context.request.arrived = _arrived(receive)
    context.has_body = arrived is not None and arrived.get("more_body") is False


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


def _common_headers(policy: Policy | None) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that all answers have which ``policy`` has decided."""
    return _COMMON if policy is None else (*_COMMON, (b"x-policy-revision", b"%d" % policy.revision))


def _forget_frames(refusal: Refusal) -> None:
    """Cut the way from a refusal to its request, which has it: only the garbage collector could free them."""
    refusal.__traceback__ = refusal.__context__ = refusal.__cause__ = None


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
    lines = [f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}"]
    lines += [f"{name.lower()}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
