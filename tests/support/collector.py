"""A collector of traces on a port of its own, which decodes what OTLP over HTTP brings."""

import gzip
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtocolSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status


@dataclass(frozen=True)
class Span:
    """A span as it arrived; ids are hexadecimal, ``parent`` is "" for a root."""

    name: str
    trace: str
    id: str
    parent: str
    kind: str
    error: bool
    attributes: dict[str, Any]
    links: list[str]


@dataclass
class Collector:
    """What has arrived: spans in the order of their ends, resources, headers, and all bytes.

    ``status`` may be that of a redirect; ``followed`` is how often one was followed.
    """

    url: str = ""
    status: int = 200
    followed: int = 0
    spans: list[Span] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def take(self, headers: dict[str, str], body: bytes) -> None:
        """Take one request."""
        self.headers.append(headers)
        self.bodies.append(body)
        for resource_span in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(_attributes(resource_span.resource.attributes))
            self.spans += [_span(span) for scope in resource_span.scope_spans for span in scope.spans]


def tree(spans: Sequence[Span], parent: str | None = None) -> list[Any]:
    """Return the names of the spans below ``parent`` in the order of their ends, each with those below it."""
    known = {span.id for span in spans}
    below = [
        span for span in spans if (span.parent not in known if parent is None else span.parent == parent)
    ]
    return [[span.name, *tree(spans, span.id)] for span in below]


def named(spans: Sequence[Span], name: str) -> Span:
    """Return the only span of that name."""
    (match,) = [span for span in spans if span.name == name]
    return match


def _span(span: ProtocolSpan) -> Span:
    return Span(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        ProtocolSpan.SpanKind.Name(span.kind),
        span.status.code == Status.STATUS_CODE_ERROR,
        _attributes(span.attributes),
        [link.trace_id.hex() for link in span.links],
    )


def _attributes(pairs: Sequence[KeyValue]) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value") for pair in pairs}


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector; ``status`` is what it answers."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            collector.followed += 1
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if collector.status == 200:
                collector.take(
                    {name.lower(): value for name, value in self.headers.items()}, gzip.decompress(body)
                )
            self.send_response(collector.status)
            if collector.status in range(300, 400):
                self.send_header("Location", f"{collector.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
