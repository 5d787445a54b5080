"""``GET /metrics``: what all workers of this machine count, whichever of them answers."""

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
"""Seconds between two snapshots that a worker leaves for the others."""

Source = Callable[[], Iterable[Sample]]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(list[Sample]).decode


class WorkerMetrics:
    """The metrics of one worker, left where those of the same machine find them."""

    def __init__(self, worker: str, board: Snapshots, *sources: Source) -> None:
        self._worker = worker
        self._board = board
        self._sources = (*sources, _process)

    async def run(self) -> None:
        """Leave a snapshot now and then, until cancelled; while the store is away there is none."""
        while True:
            with suppress(Unavailable):
                await self._board.post(self._worker, _encode(self._own()))
            await asyncio.sleep(EVERY)

    async def leave(self) -> None:
        """Take the snapshot away, since the worker ends."""
        with suppress(Unavailable):
            await self._board.withdraw(self._worker)

    async def of_all(self) -> list[Sample]:
        """Return the samples of all workers, named by it; without a store those of this one."""
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
        """Answer those who hold ``token``; nobody when it is not set."""
        self._metrics = metrics
        self._token = token

    @refuses(NotFound, Unauthenticated)
    async def on_get(self, context: RequestContext) -> Document:
        """Read the metrics of all workers of this machine.

        Needs the bearer token of the setting `server.metrics_token`; where that is empty there is nothing
        here.
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
