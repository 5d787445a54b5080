"""Serves the requests of one operation; built once at registration.

The steps are: admit, parse, call, encode. Everything that can be looked up is looked up at registration.
"""

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final, get_type_hints

from msgspec import Struct

from service.authz.engine.rules import ANYONE
from service.kernel.origin import ChangeRecord
from service.web.content.entity_tags import is_known
from service.web.content.streams import Sending, Stream
from service.web.messages import bodies
from service.web.messages.context import RequestContext
from service.web.messages.dialect import BodyReader, Dialect, OwnBody
from service.web.messages.dry_run import DryRunQuery, ImpactOf, Previewed, dry_answer
from service.web.messages.operation_metadata import MetadataError, Operation, Signature, metadata_of, noun_of
from service.web.messages.preconditions import answer_tag, content_tag
from service.web.messages.request import Request
from service.web.messages.schema import Document, envelope, is_protocol, json_text, members_of
from service.web.requests.application import Answer, Responder
from service.web.requests.guard import AuthorizationGuard
from service.web.requests.idempotency import IdempotentWrites, Run, with_keys
from service.web.requests.recording import Recording

CREATED: Final = 201
OK: Final = 200
NO_CONTENT: Final = 204

_FIELD: Final = re.compile(r"\{([^}]*)\}")

_described: Final[dict[tuple[str, str, Callable[..., Any]], Operation]] = {}
_read: Final[dict[tuple[Callable[..., Any], str], Signature]] = {}


class SignatureError(TypeError):
    """The annotations of a responder do not fit its route."""


def describe(
    method: str,
    template: str,
    responder: Callable[..., Any],
    *,
    dialect: Dialect | None = None,
) -> Operation:
    """Return the description of the bound ``responder`` that serves ``method`` of ``template``.

    Its answers have the form of ``dialect``. Raises ``MetadataError`` if the operation metadata contradict
    types, and ``SignatureError`` like ``signature_of``. Results are cached.
    """
    key = (method, template, getattr(responder, "__func__", responder))
    if key not in _described:
        made = _description(method, template, responder)
        _described[key] = replace(made, dialect=dialect)
    return _described[key]


def _description(method: str, template: str, responder: Callable[..., Any]) -> Operation:
    metadata = metadata_of(responder)
    if (entry := metadata.logged) is not None and not entry.module:
        metadata = replace(metadata, logged=replace(entry, module=noun_of(template)))
    signature = signature_of(responder, template)
    if (signature.answer is Stream) != bool(metadata.media):
        raise MetadataError(f"{method} {template}: a Stream has @sends, and nothing else has")
    if metadata.dry_run:
        if signature.query is not None:
            raise MetadataError(f"{method} {template}: dry_run gives it its query, and it has one already")
        signature = _asking_dry_run(signature)
    summary, _, description = (inspect.getdoc(responder) or f"{method} {template}").partition("\n")
    return Operation(
        method=method,
        template=template,
        access=metadata.access,
        metadata=metadata,
        signature=signature,
        status=metadata.status or (CREATED if metadata.location else OK),
        name=getattr(responder, "__qualname__", repr(responder)),
        summary=summary.rstrip("."),
        description=description.strip(),
        object=f"{method} {template}",
        public=metadata.access == (ANYONE,),
        subrequest=metadata.subrequest,
    )


@cache
def _asking_dry_run(signature: Signature) -> Signature:
    return replace(signature, query=DryRunQuery)


def signature_of(responder: Callable[..., Any], template: str) -> Signature:
    """Return the types of a bound ``responder``; raises SignatureError if they do not fit ``template``.

    ``context: RequestContext`` comes first; ``body`` and ``query`` are Structs. Every other parameter is a
    field of the template: ``int`` (an id), ``str``, or a text with constraints. Results are cached.
    """
    key = (getattr(responder, "__func__", responder), template)
    if key not in _read:
        _read[key] = _signature(responder, template)
    return _read[key]


def _signature(responder: Callable[..., Any], template: str) -> Signature:
    name = getattr(responder, "__qualname__", repr(responder))
    if not inspect.iscoroutinefunction(responder):
        raise SignatureError(f"{name} is not async")
    hints = get_type_hints(responder, include_extras=True)
    parameters = list(inspect.signature(responder).parameters)
    if missing := [parameter for parameter in (*parameters, "return") if parameter not in hints]:
        raise SignatureError(f"{name} does not annotate {', '.join(missing)}")
    if not parameters or hints[parameters[0]] is not RequestContext:
        raise SignatureError(f"the first parameter of {name} is not context: RequestContext")
    path = {parameter: hints[parameter] for parameter in parameters[1:] if parameter not in ("body", "query")}
    if set(path) != set(fields := _FIELD.findall(template)):
        raise SignatureError(f"{name} takes {sorted(path)} of {template}, whose fields are {sorted(fields)}")
    signature = Signature(hints.get("body"), hints.get("query"), path, hints["return"])
    _check(signature, name)
    return signature


def _check(signature: Signature, name: str) -> None:
    kinds = [kind for kind in (signature.body, signature.query) if kind is not None]
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Struct)):
            raise SignatureError(f"{name}: body and query must be Structs, not {kind}")
    answer = [] if signature.answer in (Document, Stream) else [signature.answer]
    try:
        for kind in (*kinds, *signature.path.values(), *answer):
            members_of(kind)
    except (TypeError, NotImplementedError) as error:
        raise SignatureError(f"{name} has a type that JSON does not: {error}") from error


Function = Callable[..., Awaitable[Any]]
"""A responder of an endpoint: takes a context and arguments by name, and returns the answer."""

Admit = Callable[[RequestContext, Operation], Awaitable[None]]
"""Lets a request pass, or raises its refusal."""

ReadBody = Callable[[Request], Awaitable[Any]]
"""Returns the body of a request, or raises its refusal."""

TakeInput = Callable[[RequestContext, dict[str, Any]], None]
"""Reads path and query into the arguments, or raises their refusal."""

Acknowledged = Callable[[int], Awaitable[tuple[int, int]]]
"""Returns the number of workers that decide by a revision, and of all; waits for them for a moment."""

Followed = Callable[[int, int], Awaitable[object]]
"""Waits until those that follow elsewhere have a policy revision and a transaction."""

IN_FORCE: Final = "X-Policy-In-Force"
"""The header of the answer to a publishing write, such as ``4/4``."""
RIGHTS: Final = "Portcullis-Rights"
"""The header with the number of the transaction that has changed rights, which followers may be asked for."""


NOT_MODIFIED: Final = 304
"""The status of a conditional read whose answer the client has (RFC 9110 §13.1.2)."""


def responder_of(
    operation: Operation,
    function: Function,
    guard: AuthorizationGuard | None,
    acknowledged: Acknowledged | None = None,
    impact_of: ImpactOf | None = None,
    *,
    followed: Followed | None = None,
    idempotent_writes: IdempotentWrites | None = None,
) -> Responder:
    """Return the responder that serves ``operation`` by ``function``, the endpoint's own responder.

    With ``guard`` None every request is admitted; with ``acknowledged`` None, ``IN_FORCE`` is left out.
    ``followed`` is waited for after a change of rights.
    ``impact_of`` serves dry runs of operations that have them, ``idempotent_writes`` requests with an
    ``Idempotency-Key``.
    """
    admit = None if guard is None else guard.admit
    signature, metadata = operation.signature, operation.metadata
    checks_query = admit is not None and not (metadata.subrequest or is_protocol(signature.body))
    take_input = _input_reader(signature, checks_query=checks_query)
    recording = None if metadata.logged is None else Recording(operation, metadata.logged)
    run = with_keys(operation, _run_of(operation, function, impact_of), idempotent_writes)
    if admit is not None and _only_reads(operation):
        return _reading(operation, function, admit, take_input, recording, followed=followed)
    read_body = None if signature.body is None else _body(signature.body, public=operation.public).read
    if admit is not None and read_body is not None and _only_asks(operation):
        return _asking(operation, function, admit, read_body)
    answer_of, status = _encoder_of(operation), operation.status
    streams = signature.answer is Stream
    tell = acknowledged if metadata.publishes else None
    event_of = None if recording is None else recording.event
    keeps_answer = recording is not None and recording.keeps_answer

    async def respond(context: RequestContext, arguments: dict[str, Any]) -> Answer:
        context.operation = operation
        context.event_of = event_of
        context.arguments = arguments
        if admit is not None:
            await admit(context, operation)
        take_input(context, arguments)
        if read_body is not None:
            arguments["body"] = await read_body(context.request)
        result = await run(context, arguments)
        if tell is not None and context.policy is not None and not isinstance(result, Previewed):
            context.respond_header(IN_FORCE, "{}/{}".format(*await tell(context.policy.revision)))
        if context.recorded is not None and not isinstance(result, Previewed):
            await _tell_rights(context, context.recorded, followed)
        if streams:
            still = None if guard is None else partial(guard.recheck_admission, context, operation)
            return await _streamed(context, result, still)
        answer = answer_of(context, result, context.answers_with or status)
        if keeps_answer:
            context.answer = answer.data
        return answer

    return respond


def _reading(
    operation: Operation,
    function: Function,
    admit: Admit,
    take_input: TakeInput,
    recording: Recording | None,
    *,
    followed: Followed | None,
) -> Responder:
    """Return the responder of a plain read: as any other, without the steps that it does not have.

    Most requests are reads, and each step more is a call more.
    """
    status = operation.status
    event_of = None if recording is None else recording.event
    keeps_answer = recording is not None and recording.keeps_answer
    takes_input = bool(operation.signature.path) or operation.signature.query is not None

    async def respond(context: RequestContext, arguments: dict[str, Any]) -> Answer:
        context.operation = operation
        context.event_of = event_of
        context.arguments = arguments
        await admit(context, operation)
        if takes_input or context.request.query_string:
            take_input(context, arguments)
        result = await function(context, **arguments)
        if context.recorded is not None:
            await _tell_rights(context, context.recorded, followed)
        data = b'{"data":' + json_text(result) + b"}"
        if keeps_answer:
            context.answer = data
        return Answer(status, data)

    return respond


def _only_reads(operation: Operation) -> bool:
    """Return whether ``operation`` takes no body, is answered by JSON, and no mark of it adds a step."""
    signature = operation.signature
    is_read = operation.method == "GET" and signature.body is None and signature.answer is not Stream
    return is_read and _has_usual_steps(operation) and _encoder_of(operation) is _data


def _has_usual_steps(operation: Operation) -> bool:
    marks = operation.metadata
    return not (marks.dry_run or marks.location or marks.publishes or marks.idempotent or marks.refuses_keys)


def _only_asks(operation: Operation) -> bool:
    """Return whether ``operation`` answers a question by JSON, both in a form that others have specified."""
    signature, marks = operation.signature, operation.metadata
    takes_more = signature.path or signature.query is not None or marks.logged is not None
    is_question = marks.asks and is_protocol(signature.body) and _encoder_of(operation) is _bare
    return is_question and not takes_more and _has_usual_steps(operation)


def _asking(operation: Operation, function: Function, admit: Admit, read_body: ReadBody) -> Responder:
    """Return the responder of a question of another service: as any other, without steps it does not have."""
    status = operation.status

    async def respond(context: RequestContext, arguments: dict[str, Any]) -> Answer:
        context.operation = operation
        context.arguments = arguments
        await admit(context, operation)
        body = arguments["body"] = await read_body(context.request)
        return Answer(status, json_text(await function(context, body=body)))

    return respond


def _input_reader(signature: Signature, *, checks_query: bool) -> TakeInput:
    """Return a function that reads path and query into the arguments, or rejects them."""
    readers = tuple(
        (name, reader)
        for name, kind in signature.path.items()
        if (reader := bodies.path_reader(name, kind)) is not None
    )
    read_query = None if signature.query is None else bodies.query_of(signature.query).read

    def take_input(context: RequestContext, arguments: dict[str, Any]) -> None:
        for name, read in readers:
            arguments[name] = read(arguments[name])
        if read_query is not None:
            arguments["query"] = read_query(context.request.query_string)
        elif checks_query and context.request.query_string:
            bodies.no_query(context.request.query_string)

    return take_input


async def _tell_rights(context: RequestContext, record: ChangeRecord, followed: Followed | None) -> None:
    if not record.transaction:
        return
    context.respond_header(RIGHTS, str(record.transaction))
    if followed is not None:
        await followed(0 if context.policy is None else context.policy.revision, record.transaction)


def _run_of(operation: Operation, function: Function, impact_of: ImpactOf | None) -> Run:
    if operation.metadata.dry_run:
        return _with_dry_run(operation, function, impact_of)
    return _plain(operation, function)


def _plain(operation: Operation, function: Function) -> Run:
    def run(context: RequestContext, arguments: dict[str, Any]) -> Awaitable[Any]:
        return function(context, **arguments)

    async def run_and_locate(context: RequestContext, arguments: dict[str, Any]) -> Any:
        result = await function(context, **arguments)
        context.tell_location(operation, arguments, result)
        return result

    return run_and_locate if operation.metadata.location else run


def _with_dry_run(operation: Operation, function: Function, impact_of: ImpactOf | None) -> Run:
    """Return a function that calls ``function``, or lets ``impact_of`` call it for a dry run."""
    if impact_of is None:
        raise MetadataError(f"{operation.object}: nothing serves its dry runs")
    plain = _plain(operation, function)

    async def run(context: RequestContext, arguments: dict[str, Any]) -> Any:
        # The query stays among the arguments of the context: the operation log records it.
        given = {name: value for name, value in arguments.items() if name != "query"}
        if arguments["query"].dry_run:
            context.answers_with = OK
            return await dry_answer(impact_of, context, function, given)
        return await plain(context, given)

    return run


@cache
def _body(kind: type[Struct], *, public: bool) -> BodyReader:
    if issubclass(kind, OwnBody):
        return kind.body_reader()
    if is_protocol(kind):
        return bodies.ProtocolBody(kind, bodies.MAX_PUBLIC_BODY if public else bodies.MAX_BODY)
    return bodies.JsonBody(kind, bodies.MAX_PUBLIC_BODY if public else bodies.MAX_BODY)


Encode = Callable[[RequestContext, Any, int], Answer]
"""Makes the answer of what a responder has returned, with a status."""


def _encoder_of(operation: Operation) -> Encode:
    kind = operation.signature.answer
    if kind is Document:
        return _document
    if operation.status == NO_CONTENT:
        return _nothing
    if operation.dialect:
        return partial(_in_dialect, operation.dialect.media.encode("ascii"))
    if operation.conditional:
        return _data_unless_known
    return _bare if is_protocol(kind) else _data


def _data_unless_known(context: RequestContext, result: object, status: int) -> Answer:
    """Return the answer of a conditional read; a responder that has added no tag gets that of its content."""
    tag = next((value.decode() for name, value in context.headers if name == b"etag"), None)
    if tag is None:
        answer_tag(context, tag := content_tag(result))
    if is_known(context, tag):
        return Answer(NOT_MODIFIED, media_type=None)
    return _data(context, result, status)


def _data(context: RequestContext, result: object, status: int) -> Answer:
    if isinstance(result, Previewed):
        return Answer(status, json_text(result))
    warnings = () if context.recorded is None else context.recorded.warnings
    return Answer(status, envelope(result, warnings))


def _nothing(_context: RequestContext, _result: None, status: int) -> Answer:
    return Answer(status, media_type=None)


def _bare(_context: RequestContext, result: object, status: int) -> Answer:
    return Answer(status, json_text(result))


def _in_dialect(media: bytes, _context: RequestContext, result: object, status: int) -> Answer:
    return Answer(status, json_text(result), media)


def _document(_context: RequestContext, result: Document, _status: int) -> Answer:
    return Answer(result.status, result.content, result.media_type.encode("ascii"))


async def _streamed(
    context: RequestContext, result: Stream, still: Callable[[], Awaitable[None]] | None
) -> Answer:
    for name, value in result.headers.items():
        context.respond_header(name, value)
    still = still if result.stop is None else None
    sending = Sending(result.chunks, context.request.wait_for_disconnect, still, result.stop)
    await sending.begin()
    media_type = result.media_type.encode("ascii")
    return Answer(result.status, media_type=media_type, stream=sending, length=result.length)
