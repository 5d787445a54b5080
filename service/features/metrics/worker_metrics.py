"""The metrics of a worker, its process and its requests, shared with the other workers of its node."""

import asyncio
import os
import platform
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

import msgspec
import structlog

from service import __version__
from service.authz.engine.rules import DENYING
from service.errors import Refusal
from service.features.metrics.shared_metrics import SharedMetrics
from service.kernel.metrics import Durations, Sample, counted
from service.kernel.worker_slot import Slot
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Operation

OTHER: Final = "other"
"""The route label of unrouted requests. Clients choose their paths, so labels would be unbounded."""

_SUCCESSES: Final = (200, 201, 202, 204, 206, 304, 307)
_CUT_OFF: Final = 0


def _statuses(kind: type[Refusal]) -> Iterator[int]:
    for subclass in kind.__subclasses__():
        yield from _statuses(subclass)
        if hasattr(subclass, "status"):
            yield subclass.status


_STATUSES: Final = (_CUT_OFF, *_SUCCESSES, *sorted({*_statuses(Refusal)}))


class Traffic:
    """Counts requests by status, by route and status, their durations by route, and denials by layer."""

    def __init__(self) -> None:
        self._durations: dict[tuple[Operation | None, int], Durations] = {}
        self._denials: Counter[str] = Counter(dict.fromkeys(DENYING, 0))
        self._in_flight = 0

    def begin(self) -> None:
        """Count a request that has arrived; ``count`` must follow."""
        self._in_flight += 1

    def count(self, context: RequestContext) -> None:
        """Count a finished request; status 0 means that the client disconnected before an answer."""
        self._in_flight -= 1
        key = (context.operation, context.status)
        durations = self._durations.get(key)
        if durations is None:
            durations = self._durations[key] = Durations()
        durations.observe(context.took)
        if (decision := context.decision) is not None and not decision.allowed:
            self._denials[decision.layer] += 1

    def samples(self) -> Iterator[Sample]:
        """Yield the counts since the worker started."""
        yield Sample("portcullis_http_requests_in_flight", self._in_flight, {})
        statuses = Counter(dict.fromkeys(_STATUSES, 0))
        requests: Counter[tuple[str, int]] = Counter()
        by_route: defaultdict[str, Durations] = defaultdict(Durations)
        for (operation, status), durations in self._durations.items():
            route = OTHER if operation is None else operation.object
            number = durations.count
            requests[route, status] += number
            statuses[status] += number
            by_route[route].add(durations)
        named = {str(status): number for status, number in statuses.items()}
        yield from counted("portcullis_http_responses_total", "status", named)
        for (route, status), number in requests.items():
            yield Sample("portcullis_http_requests_total", number, {**_route(route), "status": str(status)})
        for route, durations in by_route.items():
            yield from durations.samples("portcullis_http_request_duration_seconds", _route(route))
        yield from counted("portcullis_denials_total", "layer", self._denials)


def _route(route: str) -> dict[str, str]:
    method, _, template = route.partition(" ")
    return {"method": method, "route": template} if template else {"method": OTHER, "route": OTHER}


_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Process:
    """The process of one worker; create it when the worker begins, and call ``serves`` when it serves."""

    def __init__(self) -> None:
        self._took: float | None = None
        self.begins()

    def begins(self) -> None:
        """Record that the worker begins now."""
        self._started = time.time()
        self._begun = time.monotonic()

    def serves(self) -> None:
        """Record that the worker has started."""
        self._took = time.monotonic() - self._begun

    def samples(self) -> Iterator[Sample]:
        """Yield the samples of the process: version, start, resource use and open files."""
        yield Sample(
            "portcullis_build_info", 1, {"version": __version__, "python": platform.python_version()}
        )
        yield Sample("portcullis_start_timestamp_seconds", self._started, {})
        if self._took is not None:
            yield Sample("portcullis_start_duration_seconds", self._took, {})
        usage = resource.getrusage(resource.RUSAGE_SELF)
        yield Sample("portcullis_cpu_seconds_total", usage.ru_utime + usage.ru_stime, {})
        with suppress(OSError), open("/proc/self/statm", "rb") as numbers:  # noqa: PTH123 - read with each snapshot
            yield Sample("portcullis_resident_memory_bytes", int(numbers.read().split()[1]) * _PAGE, {})
        with suppress(OSError):
            yield Sample("portcullis_open_files", len(os.listdir("/proc/self/fd")), {})  # noqa: PTH208 - as above
        yield Sample("portcullis_open_files_limit", resource.getrlimit(resource.RLIMIT_NOFILE)[0], {})


BOARD: Final = "metrics"
"""The board of a slot: the name of the feature."""
EVERY: Final = 2.0
"""Seconds between two snapshots of a worker."""

Source = Callable[[], Iterable[Sample]]

_log = structlog.get_logger(__name__)
_ALONE: Final = 1
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(list[Sample]).decode


class WorkerMetrics:
    """The metrics of one worker, shared with the other workers of its node.

    A worker takes over the ``slot`` of the worker it replaces, so the series continue and restart at 0. A
    worker without a slot reports only itself.
    """

    def __init__(self, slot: Slot | None) -> None:
        self.slot = slot
        self._sources: list[Source] = []
        self._too_long = False

    def add(self, source: Source) -> None:
        """Also report the samples of ``source``."""
        self._sources.append(source)

    async def run(self) -> None:
        """Write a snapshot every ``EVERY`` seconds until cancelled; none if there are no other workers."""
        while self.slot is not None and _board(self.slot).slots > 1:
            self._post(self.slot)
            await asyncio.sleep(EVERY)

    def leave(self) -> None:
        """Delete the snapshot when the worker ends."""
        if self.slot is not None:
            _board(self.slot).clear(self.slot.number)

    def of_node(self) -> list[Sample]:
        """Return the samples of all workers, labelled by worker."""
        number, by_worker = _ALONE, {}
        if self.slot is not None:
            number = self.slot.number
            by_worker = {slot: _decode(snapshot) for slot, snapshot in _board(self.slot).read().items()}
        by_worker[number] = self._own()
        return [
            Sample(sample.name, sample.value, {"worker": str(number), **sample.labels})
            for number, samples in sorted(by_worker.items())
            for sample in samples
        ]

    def _own(self) -> list[Sample]:
        return [sample for source in self._sources for sample in source()]

    def _post(self, slot: Slot) -> None:
        try:
            _board(slot).write(slot.number, _encode(self._own()))
        except ValueError as error:
            if not self._too_long:
                _log.error("other workers can't show the metrics of this one", reason=str(error))
            self._too_long = True


def _board(slot: Slot) -> SharedMetrics:
    board: SharedMetrics = slot.boards[BOARD]
    return board
