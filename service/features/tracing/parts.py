"""The part of a worker that records the spans of its requests, and sends them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from service.app.parts import Part
from service.features.tracing.packages import request_tracing
from service.kernel.metrics import Sample

if TYPE_CHECKING:  # it imports OpenTelemetry
    from service.features.tracing.requests import RequestTracing


class TracingPart(Part):
    """Traces the requests of a worker. Other parts may record spans until they have finished."""

    last = True

    def __init__(self, tracing: RequestTracing) -> None:
        self.tracing = tracing
        self._tracing = tracing

    def start(self) -> None:
        self._tracing.start()

    async def finish(self) -> None:
        """Export the waiting spans for a limited time, and stop."""
        await self._tracing.finish()

    def samples(self) -> Iterator[Sample]:
        """Yield the numbers of exported and dropped spans."""
        return self._tracing.samples()


def part_of(container: Any) -> TracingPart | None:
    """Return the part of the worker; None if tracing is off. Raises SettingsError."""
    tracing = request_tracing(container.settings.tracing, container.worker)
    return None if tracing is None else TracingPart(tracing)
