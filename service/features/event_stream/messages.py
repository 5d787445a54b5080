"""The text of an event stream (HTML Living Standard §9.2, server-sent events)."""

from typing import Any, Final

from service.errors import BadRequest
from service.features.event_stream.sentences import sentence
from service.web.messages.context import RequestContext
from service.web.messages.schema import json_text

MEDIA_TYPE: Final = "text/event-stream"
HEARTBEAT: Final = b":\n\n"
"""A comment, which clients ignore: it keeps proxies from closing a quiet connection."""

_HEADER: Final = "Last-Event-ID"
_SENT: Final = _HEADER.lower().encode("ascii")


def message(event: str, data: Any, place: str = "", retry: int = 0) -> bytes:
    """Return one event with ``data`` as JSON, which has no line breaks: a name can't begin another field.

    ``place`` is its id, empty for none. ``retry`` is the pause before a reconnection in milliseconds, 0 for
    none.
    """
    lines = [b"event: %b\ndata: %b\n\n" % (event.encode("ascii"), json_text(data))]
    if place:
        lines.insert(0, b"id: %b\n" % place.encode("ascii"))
    if retry:
        lines.insert(0, b"retry: %d\n" % retry)
    return b"".join(lines)


def resumed(retry: int) -> bytes:
    """Return the beginning of a stream whose client has missed nothing."""
    return b"retry: %d\n%b" % (retry, HEARTBEAT)


def last_id(context: RequestContext) -> bytes:
    """Return the id of the last event that the client has; empty for a new stream."""
    return context.request.raw_header(_SENT) or b""


def malformed() -> BadRequest:
    """Return the refusal of an id that no event of a stream has."""
    return BadRequest(sentence("last_event_id_malformed", header=_HEADER))
