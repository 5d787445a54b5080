"""Translates all errors into ``application/problem+json`` (RFC 9457)."""

from collections.abc import Iterable
from typing import Final

import falcon
import msgspec
import structlog

from service import errors
from service.audit.redaction import KEY_SIGN, without_keys
from service.web.content.pages import HTML, refusal_page
from service.web.messages.context import INERT, NO_STORE, RequestContext
from service.web.messages.dialect import Dialect
from service.web.requests.application import Answer

MEDIA_TYPE: Final = "application/problem+json"
ERRORS_PAGE: Final = "/docs/errors"

_BY_STATUS: Final[dict[int, type[errors.Refusal]]] = {
    refusal.status: refusal
    for refusal in (errors.BadRequest, errors.NotFound, errors.TooLarge, errors.UnsupportedMediaType)
}
_SERVER_FAULTS: Final = 500

_log = structlog.get_logger()


def refusals() -> list[type[errors.Refusal]]:
    """Return all refusals that ``service.errors`` declares, ordered by status and code."""
    kinds = (each for each in vars(errors).values() if isinstance(each, type))
    refused = [kind for kind in kinds if issubclass(kind, errors.Refusal) and "code" in vars(kind)]
    return sorted(refused, key=lambda refusal: (refusal.status, refusal.code))


def type_of(refusal: type[errors.Refusal]) -> str:
    """Return the ``type`` of a refusal's documents: its section on the page of problem codes."""
    return f"{ERRORS_PAGE}#{refusal.code.replace('_', '-')}"


def document(refusal: errors.Refusal, request_id: str, trace_id: str = "") -> bytes:
    """Return the problem document of ``refusal``; without ``trace_id`` it names no trace."""
    kind, stated = type(refusal), refusal.sentence
    body = msgspec.json.encode(
        {
            "type": type_of(kind),
            "title": kind.title,
            "status": kind.status,
            "detail": refusal.detail,
            "code": kind.code,
            # The code and the parameters of the detail, by which clients translate it; none for a title.
            **({} if stated is None else {"detailCode": stated.code, "params": stated.params}),
            "requestId": request_id,
            **({"traceId": trace_id} if trace_id else {}),
            **refusal.extra,
        }
    )
    # A refusal may name what was sent, such as an unknown parameter: no key is echoed.
    return without_keys(body.decode()).encode() if KEY_SIGN.encode() in body else body


def refusal_of(error: Exception) -> errors.Refusal:
    """Return ``error`` as a refusal; unexpected errors become InternalError, without details."""
    if isinstance(error, errors.Refusal):
        return error
    if isinstance(error, falcon.HTTPMethodNotAllowed):
        return errors.MethodNotAllowed(dict(error.headers or {})["Allow"].split(", "))
    if isinstance(error, falcon.HTTPError) and error.status_code < _SERVER_FAULTS:
        # Falcon's own messages may quote the request.
        return _BY_STATUS.get(error.status_code, errors.BadRequest)()
    return errors.InternalError()


def refused(context: RequestContext, error: Exception, dialects: Iterable[Dialect] = ()) -> Answer:
    """Return the answer to ``error``; logs faults; sets the headers of the refusal.

    Below the prefix of one of ``dialects`` it has the form of that one.

    Headers that the responder set for a success, such as cookies, are dropped.
    """
    refusal = context.refusal = refusal_of(error)
    if refusal.decision is not None:
        context.decision = refusal.decision  # a denied grant, where both layers of the guard had allowed
    if isinstance(refusal, errors.InternalError):
        operation = context.operation
        _log.error("fault", operation=operation.object if operation else None, exc_info=error)
    context.headers.clear()
    context.cache_control, context.content_policy = NO_STORE, INERT
    try:
        for name, value in refusal.headers.items():
            context.respond_header(name, value)
    except ValueError as fault:  # no header: a fault has none of its own
        return refused(context, fault, dialects)
    for dialect in dialects:
        if context.scope["path"].startswith(dialect.prefix):
            status, error_document = dialect.error_of(refusal)
            return Answer(status, msgspec.json.encode(error_document), dialect.media.encode())
    if _reads_pages(context):
        page = refusal_page(refusal.title, refusal.detail, refusal.code, context.request_id)
        return Answer(refusal.status, page, HTML.encode())
    return Answer(
        refusal.status, document(refusal, context.request_id, context.trace_id), MEDIA_TYPE.encode()
    )


def _reads_pages(context: RequestContext) -> bool:
    """Return whether to answer with a page: for browsers, unless the client accepts JSON and no HTML."""
    if context.operation is None or not context.operation.metadata.in_browser:
        return False
    accepted = context.request.raw_header(b"accept") or b""
    return b"json" not in accepted or b"text/html" in accepted
