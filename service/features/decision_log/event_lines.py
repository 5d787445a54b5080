"""Lines of the decision log about answered questions, in parts; common parts are encoded once.

The joined parts of a line equal the result of ``encoded`` for the event. The writing thread joins them, so
that an answer only references them.
"""

from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from service.features.decision_log.decision_event import EvaluationEvent, as_text, encoded
from service.kernel.codes import Ceiling

Line: TypeAlias = tuple[bytes, ...]
"""A line in parts; the last one ends with the line feed."""

_TIME: Final = b'{"event":"evaluation","time":'
_ID: Final = b',"request_id":'
_BY: Final = b',"asked_by":'
_BLANK: Final = b'%b""%b0,"subject_type":""' % (_ID, _BY)


class OfRequest(NamedTuple):
    """The common parts of the lines of one request."""

    time: bytes
    asked: bytes


class OfAnswer(NamedTuple):
    """The common parts of the lines of one answer, for any subject."""

    decided: bytes
    rest: bytes


class _OfSubject(Struct, omit_defaults=True):
    subject_type: str
    user_id: int | None = None
    roles: tuple[str, ...] = ()


def of_request(time: str, request_id: str, trace_id: str, asked_by: int) -> OfRequest:
    """Return the parts with time, id, trace and asking account of a request."""
    traced = b',"trace_id":' + as_text(trace_id) if trace_id else b""
    return OfRequest(_TIME + as_text(time), b"%b%b%b%b%d" % (_ID, as_text(request_id), traced, _BY, asked_by))


def of_subject(kind: str, user_id: int | None, roles: tuple[str, ...]) -> bytes:
    """Return the part about a subject of the type ``kind``."""
    return b"," + as_text(_OfSubject(kind, user_id, roles))[1:-1]


@lru_cache(256)
def of_codes(codes: frozenset[str] | None, ceilings: tuple[Ceiling, ...] = ()) -> bytes:
    """Return the part with the held codes and the ceilings; empty without a session."""
    held = b"" if codes is None else b',"codes":' + as_text(codes)
    return held + b',"ceilings":' + as_text(ceilings) if ceilings else held


def of_answer(event: EvaluationEvent) -> OfAnswer:
    """Return the parts of ``event``, without request, asking account and subject."""
    line = encoded(event).removeprefix(_TIME + b'""')
    decided, _, rest = line.partition(_BLANK)
    return OfAnswer(decided, rest)


def line_of(request: OfRequest, answer: OfAnswer, subject: bytes, codes: bytes) -> Line:
    return request.time, answer.decided, request.asked, subject, codes, answer.rest
