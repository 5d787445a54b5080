"""What traces cost a guarded GET that does nothing: off, on but not recorded, and recorded with four spans.

Each worker is one process on one core, with a collector beside it; the processor time is that of the whole
worker, so encoding and sending are in it. Rounds alternate. Where every request is recorded, more spans are
made than one thread can send, and the rest is dropped: so a tenth is measured as well.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from service.features.embedded.stores import EmbeddedStores
from service.features.tracing.export import AT_ONCE, SpanExport
from service.features.tracing.packages import collector_of
from service.features.tracing.recorder import Recorder
from service.features.tracing.requests import RequestTracing
from service.settings import Tracing
from service.web.messages.context import RequestContext
from tests.benchmarks.frame.results import Pace, Result, at_most, result
from tests.benchmarks.idle_extension import READ
from tests.benchmarks.installation import IDLE, environment, install, log_in
from tests.benchmarks.load import request_bytes
from tests.benchmarks.servers import (
    PORT,
    Measured,
    interleaved,
    measured,
    pin_to_last_core,
    running,
    serving_worker,
)

SINK: Final = ("tests.benchmarks.span_sink", PORT)
SHARES: Final = {"traced, none recorded": "0", "traced, a tenth": "0.1", "traced, all": "1"}
SPANS: Final = 5_000
BELOW: Final = 5
"""Spans of one trace: the request's, and four below it."""
A_SPAN: Final = at_most(40.0)
UNSAMPLED: Final = at_most(9.0)
"""Microseconds."""


class _Kept(SpanProcessor):
    """Keeps the spans that have ended."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Do nothing."""

    def on_end(self, span: ReadableSpan) -> None:
        """Keep it."""
        self.spans.append(span)


def main(pace: Pace) -> Iterator[Result]:
    """Yield what a span and an unrecorded request cost by themselves, and what all of it costs a request."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pc-")))
        stores = stack.enter_context(EmbeddedStores(folder / "data", durable=False))
        pin_to_last_core()
        sink = stack.enter_context(running(SINK, {}))
        endpoint = f"http://127.0.0.1:{sink.port}"
        yield from _alone(pace, endpoint)
        environ = environment(stores, folder) | IDLE
        install(environ)
        workers = {"not traced": stack.enter_context(serving_worker(environ))}
        for name, share in SHARES.items():
            on = {"PORTCULLIS_TRACING__ENDPOINT": endpoint, "PORTCULLIS_TRACING__RATIO": share}
            workers[name] = stack.enter_context(serving_worker(environ | on))
        token = log_in(workers["not traced"])
        asked = [
            (worker, request_bytes(READ, worker.port, Authorization=f"Bearer {token}"))
            for worker in workers.values()
        ]
        all_rounds = interleaved(asked, replace(pace, seconds=pace.seconds / 4))
    reference: Measured | None = None
    for name, rounds in zip(workers, all_rounds, strict=True):
        measurement = measured(
            name, rounds, against=reference, chart="A guarded GET that does nothing, traced"
        )
        yield from measurement
        reference = reference or measurement


def _alone(pace: Pace, endpoint: str) -> Iterator[Result]:
    """Yield the microseconds of a span, made and sent, and of a request that is not recorded."""
    settings = Tracing(endpoint=endpoint, ratio=0.0)
    tracing = RequestTracing(settings, "bench", SpanExport(collector_of(settings), settings.queue))
    made, sent, unsampled = [], [], []
    for _ in range(pace.rounds):
        kept = _Kept()
        made.append(_microseconds_of_spans(kept))
        sent.append(_microseconds_to_send(kept.spans, settings))
        unsampled.append(_microseconds_unsampled(tracing))
    yield result("a span, made and ended", "µs of processor time", made, goals=[A_SPAN])
    yield result("a span, encoded and sent", "µs of processor time", sent)
    yield result("a request that is not recorded", "µs of processor time", unsampled, goals=[UNSAMPLED])


def _microseconds_of_spans(kept: _Kept) -> float:
    recorder = Recorder(kept, "bench", "bench")
    attributes = {"db.system.name": "redis", "db.operation.name": "MGET"}
    start = time.process_time()
    for number in range(SPANS // BELOW):
        request = recorder.request(number + 1, "GET", {"http.request.method": "GET"})
        for _ in range(BELOW - 1):
            request.child("MGET", attributes, kind="client").end()
        request.end()
    return (time.process_time() - start) / SPANS * 1e6


def _microseconds_to_send(spans: list[ReadableSpan], settings: Tracing) -> float:
    collector = collector_of(settings)
    start = time.process_time()
    for first in range(0, len(spans), AT_ONCE):
        if not collector.send(spans[first : first + AT_ONCE]):
            raise RuntimeError(collector.reason)
    return (time.process_time() - start) / len(spans) * 1e6


def _microseconds_unsampled(tracing: RequestTracing) -> float:
    scope = {"path": READ, "headers": [(b"host", b"bench"), (b"authorization", b"x")], "client": None}
    contexts = [RequestContext(scope) for _ in range(SPANS)]
    start = time.process_time()
    for context in contexts:
        tracing.begin(context)
        tracing.end(context)
    return (time.process_time() - start) / SPANS * 1e6
