"""Request metrics of one worker; counting must be cheap, since it happens for each request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from time import perf_counter
from typing import Final

from service.authz.engine.rules import ACCOUNT, ASSURANCE, ENDPOINT, GRANT, RESOURCE, SERVICE
from service.errors import Refusal
from service.kernel.metrics import Durations, Sample, counted
from service.web.messages.context import RequestContext

OTHER: Final = "other"
"""The route label of unrouted requests. Clients choose their paths, so labels would be unbounded."""

_SUCCESSES: Final = (200, 201, 202, 204, 206, 304, 307)
_CUT_OFF: Final = 0
_DENYING: Final = (RESOURCE, ENDPOINT, GRANT, SERVICE, ACCOUNT, ASSURANCE)


def _statuses(kind: type[Refusal]) -> Iterator[int]:
    """Yield the statuses of all refusals of a kind."""
    for subclass in kind.__subclasses__():
        yield from _statuses(subclass)
        if hasattr(subclass, "status"):
            yield subclass.status


_STATUSES: Final = (_CUT_OFF, *_SUCCESSES, *sorted({*_statuses(Refusal)}))


class Traffic:
    """Counts requests by status, by route and status, their durations by route, and denials by layer."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._durations: dict[str, Durations] = {}
        self._denials = Counter(dict.fromkeys(_DENYING, 0))
        self._in_flight = 0

    def begin(self) -> None:
        """Count a request that has arrived; ``count`` must follow."""
        self._in_flight += 1

    def count(self, context: RequestContext) -> None:
        """Count a finished request; status 0 means that the client disconnected before an answer."""
        self._in_flight -= 1
        route = OTHER if context.operation is None else context.operation.object
        self._requests[route, context.status] += 1
        durations = self._durations.get(route)
        if durations is None:
            durations = self._durations[route] = Durations()
        durations.observe(perf_counter() - context.started)
        if (decision := context.decision) is not None and not decision.allowed:
            self._denials[decision.layer] += 1

    def samples(self) -> Iterator[Sample]:
        """Yield the counts since the worker started."""
        yield Sample("portcullis_http_requests_in_flight", self._in_flight, {})
        statuses = Counter(dict.fromkeys(_STATUSES, 0))
        for (_, status), number in self._requests.items():
            statuses[status] += number
        named = {str(status): number for status, number in statuses.items()}
        yield from counted("portcullis_http_responses_total", "status", named)
        for (route, status), number in self._requests.items():
            yield Sample("portcullis_http_requests_total", number, {**_route(route), "status": str(status)})
        for route, durations in self._durations.items():
            yield from durations.samples("portcullis_http_request_duration_seconds", _route(route))
        yield from counted("portcullis_denials_total", "layer", self._denials)


def _route(route: str) -> dict[str, str]:
    method, _, template = route.partition(" ")
    return {"method": method, "route": template} if template else {"method": OTHER, "route": OTHER}
