"""Spans by the SDK of OpenTelemetry. Imported only when tracing is on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    Tracer,
    set_span_in_context,
)
from opentelemetry.trace import Span as OpenTelemetrySpan

from service import __version__
from service.kernel.about import NAME
from service.kernel.origin import Kind, Span, Value

_SAMPLED: Final = 0x01
_FORM: Final = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_LONGEST: Final = 128  # bytes; version 00 has 55


class TraceParent(NamedTuple):
    """The trace of the caller, its span there, and whether it records that trace."""

    trace_id: int
    span_id: int
    sampled: bool


def trace_parent(headers: list[tuple[bytes, bytes]]) -> TraceParent | None:
    """Return the trace context in a request's headers; None if it is missing, repeated or malformed.

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


MOST_SPANS: Final = 200
"""The most spans of one request: a trace of an edit of ten thousand rows would be too large to load."""

LEFT_OUT: Final = "portcullis.spans_left_out"
"""The attribute with the number of further spans."""

_KINDS: Final = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
_LIMITS: Final = SpanLimits(max_attributes=32, max_attribute_length=256, max_links=1, max_events=0)


class _Ids(RandomIdGenerator):
    """Returns the id that decided about the recording of a new trace."""

    trace_id = 0

    def generate_trace_id(self) -> int:
        return self.trace_id


class Recorder:
    """Begins the spans of requests, and passes each ended span to ``processor``."""

    def __init__(self, processor: SpanProcessor, service_name: str, worker: str) -> None:
        self._ids = _Ids()
        provider = TracerProvider(
            sampler=ALWAYS_ON,  # it was decided before
            resource=Resource.create(
                {"service.name": service_name, "service.version": __version__, "service.instance.id": worker}
            ),
            id_generator=self._ids,
            span_limits=_LIMITS,
            shutdown_on_exit=False,  # the worker does it
        )
        provider.add_span_processor(processor)
        self._tracer = provider.get_tracer(NAME, __version__)

    def request(
        self,
        trace_id: int,
        name: str,
        attributes: Mapping[str, Value],
        *,
        parent: TraceParent | None = None,
        link: TraceParent | None = None,
    ) -> RequestSpan:
        """Begin the span of a request: within ``parent``, or as the root of the trace ``trace_id``.

        ``link`` is a trace that the span only refers to.
        """
        self._ids.trace_id = trace_id
        span = self._tracer.start_span(
            name,
            Context() if parent is None else set_span_in_context(_remote(parent), Context()),
            SpanKind.SERVER,
            attributes,
            links=() if link is None else [Link(_remote(link).get_span_context())],
        )
        return RequestSpan(self._tracer, span, _Left())


def _remote(parent: TraceParent) -> NonRecordingSpan:
    flags = TraceFlags(TraceFlags.SAMPLED if parent.sampled else TraceFlags.DEFAULT)
    return NonRecordingSpan(SpanContext(parent.trace_id, parent.span_id, is_remote=True, trace_flags=flags))


class _Left:
    """The number of spans that a request may still begin; below 0 it counts the spans left out."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = MOST_SPANS - 1


class RecordedSpan:
    """A recorded span: see ``service.kernel.origin.Span``."""

    __slots__ = ("_context", "_left", "_span", "_tracer")

    def __init__(self, tracer: Tracer, span: OpenTelemetrySpan, left: _Left) -> None:
        self._tracer = tracer
        self._span = span
        self._left = left
        self._context: Context | None = None

    def child(
        self, name: str, attributes: Mapping[str, Value] | None = None, *, kind: Kind = "internal"
    ) -> Span:
        """Begin a span within this one; spans beyond ``MOST_SPANS`` are not recorded."""
        self._left.count -= 1
        if self._left.count < 0:
            return RecordedSpan(self._tracer, INVALID_SPAN, self._left)
        if self._context is None:
            self._context = set_span_in_context(self._span, Context())
        span = self._tracer.start_span(name, self._context, _KINDS[kind], attributes)
        return RecordedSpan(self._tracer, span, self._left)

    def set(self, name: str, value: Value) -> None:
        self._span.set_attribute(name, value)

    def end(self, error: str | None = None) -> None:
        """End the span, with ``error`` as its ``error.type``."""
        if error is not None:
            self._span.set_attribute("error.type", error)
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


class RequestSpan(RecordedSpan):
    """The span of a whole request."""

    __slots__ = ()

    def rename(self, name: str) -> None:
        """Set the name of the span once the route is known."""
        self._span.update_name(name)

    def end(self, error: str | None = None) -> None:
        """End the span, and record the number of spans left out."""
        if self._left.count < 0:
            self._span.set_attribute(LEFT_OUT, -self._left.count)
        super().end(error)
