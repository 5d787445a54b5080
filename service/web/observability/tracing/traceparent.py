"""The header ``traceparent`` (W3C Trace Context, https://www.w3.org/TR/trace-context/#traceparent-header)."""

import re
from typing import Final, NamedTuple

_SAMPLED: Final = 0x01
_FORM: Final = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_LONGEST: Final = 128  # bytes; version 00 has 55


class TraceParent(NamedTuple):
    """The trace of the caller, its span there, and whether it records that trace."""

    trace_id: int
    span_id: int
    sampled: bool


def trace_parent(headers: list[tuple[bytes, bytes]]) -> TraceParent | None:
    """Return what the headers of a request say; None if it is missing, repeated or malformed.

    A later version may have more members, which are ignored; version 00 has none (§3.2.2.1, §4.3).
    """
    sent = [value for name, value in headers if name == b"traceparent"]
    if len(sent) != 1 or len(sent[0]) > _LONGEST or (read := _FORM.fullmatch(sent[0])) is None:
        return None
    version, trace, span, flags, more = read.groups()
    trace_id, span_id = int(trace, 16), int(span, 16)
    if version == b"ff" or (version == b"00" and more) or not trace_id or not span_id:
        return None
    return TraceParent(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))
