"""Request metrics of one worker; counting must be cheap, since it happens for each request."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from time import perf_counter
from typing import Final

from service.web.observability.exposition import Sample
from service.web.requests.context import RequestContext

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of the duration buckets in seconds; a last bucket has the rest."""

OTHER: Final = "other"
"""The route label of unrouted requests. Clients choose their paths, so labels would be unbounded."""


class _Durations:
    """A histogram of durations, and their sum in seconds."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0


class Traffic:
    """Counts requests by route and status, their durations by route, and denials by layer."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._durations: dict[str, _Durations] = {}
        self._denials: Counter[str] = Counter()

    def count(self, context: RequestContext) -> None:
        """Count a finished request; status 0 means that the client disconnected before an answer."""
        route = OTHER if context.operation is None else context.operation.object
        self._requests[route, context.status] += 1
        durations = self._durations.get(route)
        if durations is None:
            durations = self._durations[route] = _Durations()
        took = perf_counter() - context.started
        durations.buckets[bisect_left(BOUNDS, took)] += 1
        durations.seconds += took
        if (decision := context.decision) is not None and not decision.allowed:
            self._denials[decision.layer] += 1

    def samples(self) -> Iterator[Sample]:
        """Yield the counts since the worker started."""
        for (route, status), number in self._requests.items():
            yield Sample("portcullis_http_requests_total", number, {**_route(route), "status": str(status)})
        for route, durations in self._durations.items():
            yield from _histogram(_route(route), durations)
        for layer, number in self._denials.items():
            yield Sample("portcullis_denials_total", number, {"layer": layer})


def _histogram(labels: dict[str, str], durations: _Durations) -> Iterator[Sample]:
    name = "portcullis_http_request_duration_seconds"
    for bound, number in zip((*BOUNDS, "+Inf"), accumulate(durations.buckets), strict=True):
        yield Sample(f"{name}_bucket", number, {**labels, "le": str(bound)})
    yield Sample(f"{name}_sum", durations.seconds, labels)
    yield Sample(f"{name}_count", sum(durations.buckets), labels)


def _route(route: str) -> dict[str, str]:
    method, _, template = route.partition(" ")
    return {"method": method, "route": template} if template else {"method": OTHER, "route": OTHER}
