"""Sends spans to a collector by OTLP over HTTP, in a separate thread, so that requests do not wait."""

import logging
from collections.abc import Iterator
from typing import Any, Final

import requests
import structlog
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExportResult

from service.kernel.backlog import Backlog
from service.kernel.clock import AtMostEvery
from service.kernel.metrics import Sample
from service.settings import Tracing as TracingSettings

AT_ONCE: Final = 512
"""The maximum number of spans in a request to the collector."""
GATHER: Final = 1.0
"""Seconds that spans wait to be sent in one batch."""
LONGEST_PAUSE: Final = 60.0
"""The maximum pause in seconds between two attempts; each pause is longer than the one before."""
TELL_EVERY: Final = 60.0
"""Seconds between two log lines about dropped spans."""
FINISH_WITHIN: Final = 2.0
"""Seconds for the last spans when the worker ends."""

_log = structlog.get_logger(__name__)


class _Session(requests.Session):
    """Remembers why the last request failed; the exporter itself reports that only in its own log lines.

    It follows no redirect: the headers may hold a secret that only the collector may get. It uses no proxy of
    the environment, and no ``.netrc``, whose password would replace that header.
    """

    reason = ""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False

    def request(self, *arguments: Any, **named: Any) -> requests.Response:
        """Send a request."""
        try:
            answer = super().request(*arguments, **{**named, "allow_redirects": False})
        except Exception as error:
            self.reason = type(error).__name__
            raise
        self.reason = f"HTTP status {answer.status_code}"
        if answer.is_redirect:
            answer.close()
            raise requests.TooManyRedirects("redirects are not followed")  # to the exporter 3xx is a success
        return answer


class Collector:
    """The collector of the settings; ``reason`` is the cause of the last failed ``send``."""

    def __init__(self, settings: TracingSettings) -> None:
        # One line for each attempt would be too many; `SpanExport` reports failures.
        logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)
        self._session = _Session()
        self._exporter = OTLPSpanExporter(
            endpoint=settings.traces_url,
            certificate_file=None if settings.ca_file is None else str(settings.ca_file),
            headers=settings.all_headers(),
            timeout=settings.timeout,
            compression=Compression.Gzip,
            session=self._session,
        )

    @property
    def reason(self) -> str:
        """The reason of the last failure, without the address and the data sent."""
        return self._session.reason

    def send(self, spans: list[ReadableSpan]) -> bool:
        """Send spans; retry until the timeout while the collector is busy or away. False: not sent."""
        return self._exporter.export(spans) is SpanExportResult.SUCCESS

    def stop(self) -> None:
        """End a ``send`` that waits in another thread."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # the exporter's gap


class SpanExport(SpanProcessor):
    """Takes ended spans without waiting, and sends them in order.

    At most ``most`` spans wait. ``sent`` and ``dropped`` count spans since the worker started. Dropped spans
    found no room, or were not accepted by the collector in time.
    """

    def __init__(self, collector: Collector, most: int) -> None:
        self._collector = collector
        self._spans: Backlog[ReadableSpan] = Backlog("tracing", most, GATHER, self._send_waiting)
        self._sending = 0
        self._refused = 0  # counted by the thread, as the next one
        self.sent = 0
        self._fails = False
        self._pause = GATHER
        self._telling = AtMostEvery(TELL_EVERY)

    @property
    def dropped(self) -> int:
        return self._spans.missed + self._refused

    def samples(self) -> Iterator[Sample]:
        """Yield the counts since the worker started."""
        yield Sample("portcullis_trace_spans_total", self.sent, {"outcome": "sent"})
        yield Sample("portcullis_trace_spans_total", self.dropped, {"outcome": "dropped"})

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Do nothing: only spans that have ended are sent."""

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span that has ended, or drop it if too many wait."""
        self._spans.put(span)

    def start(self) -> None:
        self._spans.start()

    async def finish(self) -> None:
        """Send the waiting spans and stop; spans not sent within ``FINISH_WITHIN`` seconds are dropped."""
        await self._spans.finish(FINISH_WITHIN)
        left = self._sending + len(self._spans.waiting)
        self._collector.stop()
        if left:
            _log.warning("spans of traces are lost", lost=left)

    def shutdown(self) -> None:
        """Do nothing: ``finish`` stops the export."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - the name is the SDK's
        """Return False: an early flush is not supported."""
        return False

    def _send_waiting(self) -> float | None:
        """Send all waiting spans; drop the first refused batch, and return the pause."""
        waiting = self._spans.waiting
        while waiting:
            batch = [waiting.popleft() for _ in range(min(len(waiting), AT_ONCE))]
            self._sending = len(batch)
            taken = self._take(batch)
            self._sending = 0
            if not taken:
                self._refused += len(batch)
                return self._failed()
            self.sent += len(batch)
            self._recovered()
        return None

    def _take(self, batch: list[ReadableSpan]) -> bool:
        try:
            return self._collector.send(batch)
        except Exception as error:  # noqa: BLE001 - the thread must go on
            _log.warning("spans can't be encoded", reason=type(error).__name__)
            return False

    def _recovered(self) -> None:
        self._pause = GATHER
        if self._fails:
            self._fails = False
            _log.info("the collector of traces takes spans again", dropped=self.dropped)

    def _failed(self) -> float:
        """Report the failure from time to time; return the pause before the next attempt."""
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._fails = True
        if self._telling.due():
            _log.warning(
                "the collector of traces takes no spans", reason=self._collector.reason, dropped=self.dropped
            )
        return self._pause
