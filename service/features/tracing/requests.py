"""Traces of requests: their ids, the choice of recorded requests, and the span of each request.

Names and attributes are those of OpenTelemetry's semantic conventions for HTTP servers. ``url.path``,
``url.query``, ``user_agent.original`` and addresses are left out: a path may hold the token of a public link.
The logs name the caller, by the id of the trace.
"""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import ip_address
from random import getrandbits
from typing import Final

from service.features.tracing.export import SpanExport
from service.features.tracing.recorder import Recorder, RequestSpan, TraceParent, trace_parent
from service.kernel.metrics import Sample
from service.settings import Tracing as TracingSettings
from service.web.messages.context import RequestContext, Scope, peer_address

_SERVER_FAULTS: Final = 500
_PROBES: Final = ("/health/", "/metrics")
"""Machines request these every few seconds; their traces are of no use."""
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"})
_ID: Final = 128  # bits
_LOW: Final = (1 << 64) - 1
_REMEMBERED: Final = 1024


class RequestTracing:
    """Gives requests a trace id, and a share of them a span.

    A trace is recorded if the lower half of its id is below ``tracing.ratio`` of all, like OpenTelemetry's
    sampler ``TraceIdRatioBased``. From a peer in ``tracing.continue_from`` both the id and the decision are
    taken over. A span only links to the ``traceparent`` of other callers.
    """

    def __init__(self, settings: TracingSettings, worker: str, export: SpanExport) -> None:
        self._export = export
        self._recorder = Recorder(export, settings.service_name, worker)
        self._bound = round(settings.ratio * (_LOW + 1))
        networks = settings.continue_from

        @lru_cache(_REMEMBERED)
        def continues(peer: str) -> bool:
            try:
                address = ip_address(peer.partition("%")[0])
            except ValueError:
                return False
            return any(address in network for network in networks)

        self._continues = continues if networks else None

    def start(self) -> None:
        """Start exporting; call it in the process that serves."""
        self._export.start()

    async def finish(self) -> None:
        """Export the waiting spans for a limited time, and stop."""
        await self._export.finish()

    def samples(self) -> Iterator[Sample]:
        """Yield the numbers of spans exported and dropped since the worker started."""
        return self._export.samples()

    def begin(self, context: RequestContext) -> None:
        """Set the ``trace_id`` of a request, and its ``span`` if it is recorded."""
        scope = context.scope
        if scope["path"].startswith(_PROBES):
            return
        sent = trace_parent(scope["headers"])
        parent = sent if sent is not None and self._trusts(scope) else None
        trace_id = (getrandbits(_ID) or 1) if parent is None else parent.trace_id
        context.trace_id = f"{trace_id:032x}"
        if parent.sampled if parent is not None else (trace_id & _LOW) < self._bound:
            context.span = self._span(context, trace_id, sent, parent)

    def _span(
        self, context: RequestContext, trace_id: int, sent: TraceParent | None, parent: TraceParent | None
    ) -> RequestSpan:
        scope = context.scope
        attributes = {
            "http.request.method": _method(scope),
            "url.scheme": scope.get("scheme", "http"),
            "network.protocol.version": scope.get("http_version", "1.1"),
            "portcullis.request_id": context.request_id,
        }
        link = None if parent is not None else sent
        return self._recorder.request(trace_id, _method(scope), attributes, parent=parent, link=link)

    def _trusts(self, scope: Scope) -> bool:
        return self._continues is not None and self._continues(peer_address(scope))

    def end(self, context: RequestContext) -> None:
        """End the span of a finished request, if it has one."""
        span = context.span
        if not isinstance(span, RequestSpan):
            return
        operation = context.operation
        refusal = context.refusal
        error = None
        if operation is not None:
            span.rename(f"{_method(context.scope)} {operation.template}")
            span.set("http.route", operation.template)
        if context.status:
            span.set("http.response.status_code", context.status)
        if refusal is not None:
            span.set("portcullis.problem", refusal.code)
        if context.status >= _SERVER_FAULTS:
            error = str(context.status) if refusal is None else refusal.code
        elif not context.status or context.cut_off:
            error = "cut_off" if context.status else "unanswered"
        span.end(error)


def _method(scope: Scope) -> str:
    """Return the method, ``_OTHER`` for one that HTTP does not define: clients may send any text."""
    method: str = scope["method"]
    return method if method in _METHODS else "_OTHER"
