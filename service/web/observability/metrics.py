"""``GET /metrics``: the metrics of all workers of this machine, from any of them."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from service.errors import NotFound, Unauthenticated, Unavailable
from service.keyspace.snapshots import Snapshots
from service.web.observability.exposition import MEDIA_TYPE, Sample, exposition
from service.web.observability.operator_token import OperatorToken
from service.web.requests.context import RequestContext
from service.web.requests.marks import refuses
from service.web.requests.schema import Document

EVERY: Final = 2.0
"""Seconds between two snapshots of a worker."""

Source = Callable[[], Iterable[Sample]]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(list[Sample]).decode


class WorkerMetrics:
    """The metrics of one worker, shared with the other workers of the machine through snapshots."""

    def __init__(self, worker: str, board: Snapshots, *sources: Source) -> None:
        self._worker = worker
        self._board = board
        self._sources = (*sources, _process)

    async def run(self) -> None:
        """Save a snapshot periodically, until cancelled; none while the store is unavailable."""
        while True:
            with suppress(Unavailable):
                await self._board.post(self._worker, _encode(self._own()))
            await asyncio.sleep(EVERY)

    async def leave(self) -> None:
        """Delete the snapshot when the worker ends."""
        with suppress(Unavailable):
            await self._board.withdraw(self._worker)

    async def of_all(self) -> list[Sample]:
        """Return the samples of all workers, labelled by worker; only this worker's if the store is down."""
        try:
            found = {worker: _decode(text) for worker, text in (await self._board.read()).items()}
        except Unavailable:
            found = {}
        found[self._worker] = self._own()
        return [
            Sample(sample.name, sample.value, {"worker": worker, **sample.labels})
            for worker, samples in sorted(found.items())
            for sample in samples
        ]

    def _own(self) -> list[Sample]:
        return [sample for source in self._sources for sample in source()]


class Metrics:
    """GET /metrics."""

    def __init__(self, metrics: WorkerMetrics, token: OperatorToken) -> None:
        """Answer requests with ``token``; none if it is not set."""
        self._metrics = metrics
        self._token = token

    @refuses(NotFound, Unauthenticated)
    async def on_get(self, context: RequestContext) -> Document:
        """Read the metrics of all workers of this machine.

        Needs the bearer token of the setting `server.metrics_token`; 404 if that is empty.
        """
        if not self._token.is_set:
            raise NotFound
        if not self._token.is_held(context):
            raise Unauthenticated
        return Document(exposition(await self._metrics.of_all()), MEDIA_TYPE)


_STARTED: Final = time.time()
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def _process() -> Iterator[Sample]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    yield Sample("portcullis_cpu_seconds_total", usage.ru_utime + usage.ru_stime, {})
    yield Sample("portcullis_start_time_seconds", _STARTED, {})
    with suppress(OSError), open("/proc/self/statm", "rb") as numbers:  # noqa: PTH123 - read with each snapshot
        yield Sample("portcullis_resident_memory_bytes", int(numbers.read().split()[1]) * _PAGE, {})
