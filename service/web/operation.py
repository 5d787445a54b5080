"""One method of one URI template: built once, then the whole way of each of its requests.

The way is: admit, parse, call, encode. Everything that can be looked up is looked up at registration.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, Final

from falcon.asgi import Response
from msgspec import Struct

from service.authz.rules import ANYONE
from service.web.bodies import MAX_BODY, MAX_PUBLIC_BODY, JsonBody
from service.web.call import Call
from service.web.gate import Gate
from service.web.marks import Mark, MarkFault, mark_of
from service.web.operation_record import Recording
from service.web.queries import Query, no_query, path_reader
from service.web.request import CALL, Request
from service.web.signature import Signature, signature_of
from service.web.streams import Sending, Stream
from service.web.tables import Table, TableBody
from service.web.wire import Document, envelope

Responder = Callable[..., Awaitable[Any]]

CREATED: Final = 201
OK: Final = 200


class Operation:
    """What a responder and its marks and annotations say, for the gate, the log and the documents.

    ``object`` is the object of its endpoint lines: ``GET /api/role/{id}``. ``access`` holds the codes that
    those lines must have, empty when nothing was declared. ``recording`` is None when no call is logged.
    """

    __slots__ = (
        "access",
        "function",
        "mark",
        "method",
        "object",
        "public",
        "recording",
        "signature",
        "status",
        "template",
    )

    def __init__(self, method: str, template: str, function: Responder, *, public: bool = False) -> None:
        """Read ``function``, a bound responder; ``public`` opens the route as ``@public`` would."""
        self.method = method
        self.template = template
        self.object = f"{method} {template}"
        self.function = function
        self.mark: Mark = mark_of(function)
        if public and self.mark.access not in ((), (ANYONE,)):
            raise MarkFault(f"{self.object} is declared public, and its responder is not")
        self.access = (ANYONE,) if public else self.mark.access
        self.public = self.access == (ANYONE,)
        self.signature: Signature = signature_of(function, template)
        if (self.signature.answer is Stream) != bool(self.mark.media):
            raise MarkFault(f"{self.object}: a Stream has @sends, and nothing else has")
        self.status = CREATED if self.mark.created else OK
        self.recording = None if self.mark.logged is None else Recording(self)

    @property
    def summary(self) -> str:
        """The first line of the responder's docstring."""
        return (inspect.getdoc(self.function) or self.object).partition("\n")[0].rstrip(".")

    @property
    def description(self) -> str:
        """The docstring below its first line."""
        return (inspect.getdoc(self.function) or "").partition("\n")[2].strip()


def responder_of(operation: Operation, gate: Gate | None) -> Responder:
    """Return the Falcon responder of ``operation``; None as ``gate`` lets every request in."""
    function, status = operation.function, operation.status
    admit = None if gate is None else gate.admit
    signature = operation.signature
    readers = tuple(
        (name, reader)
        for name, kind in signature.path.items()
        if (reader := path_reader(name, kind)) is not None
    )
    read_query = None if signature.query is None else _query(signature.query).read
    read_body = None if signature.body is None else _body(signature.body, public=operation.public).read
    answer = _document if signature.answer is Document else _data
    streams = signature.answer is Stream
    keeps_answer = operation.recording is not None and operation.recording.keeps_answer

    async def respond(request: Request, response: Response, **arguments: Any) -> None:
        call: Call = request.scope[CALL]
        call.operation = operation
        call.request = request
        call.arguments = arguments
        if admit is not None:
            await admit(call, operation)
        for name, read in readers:
            arguments[name] = read(arguments[name])
        if read_query is not None:
            arguments["query"] = read_query(request.query_string)
        elif admit is not None:
            no_query(request.query_string)
        if read_body is not None:
            arguments["body"] = await read_body(request)
        result = await function(call, **arguments)
        response.status = status
        if streams:
            await _stream(request, response, result)
        else:
            answer(response, result)
            if keeps_answer:
                call.answer = response.data

    return respond


@cache
def _query(kind: type[Struct]) -> Query[Any]:
    return Query(kind)


@cache
def _body(kind: type[Struct], *, public: bool) -> JsonBody[Any] | TableBody[Any]:
    if issubclass(kind, Table):
        return TableBody(kind)
    return JsonBody(kind, MAX_PUBLIC_BODY if public else MAX_BODY)


def _data(response: Response, result: object) -> None:
    response.data = envelope(result)


def _document(response: Response, result: Document) -> None:
    response.data = result.content
    response.content_type = result.media_type


async def _stream(request: Request, response: Response, result: Stream) -> None:
    for name, value in result.headers.items():
        request.call.respond_header(name, value)
    sending = Sending(result.chunks, request.until_gone)
    await sending.begin()
    response.status = result.status
    response.content_type = result.media_type
    response.stream = sending
    if result.length is not None:
        response.content_length = result.length
