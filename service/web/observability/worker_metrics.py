"""The metrics of a worker, shared with the other workers of its node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

import msgspec
import structlog

from service.kernel.metrics import Sample
from service.web.observability.shared_metrics import Slot

EVERY: Final = 2.0
"""Seconds between two snapshots of a worker."""

Source = Callable[[], Iterable[Sample]]

_log = structlog.get_logger(__name__)
_ALONE: Final = 1
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(list[Sample]).decode


class WorkerMetrics:
    """The metrics of one worker, shared with the other workers of its node.

    A worker that replaces another one has its ``slot``, so its series go on, and begin at 0 again. A worker
    without a slot is the only one that it knows.
    """

    def __init__(self, slot: Slot | None) -> None:
        self._slot = slot
        self._sources: list[Source] = []
        self._too_long = False

    def add(self, source: Source) -> None:
        """Show what ``source`` yields, too."""
        self._sources.append(source)

    async def run(self) -> None:
        """Leave a snapshot every ``EVERY`` seconds, until cancelled."""
        while self._slot is not None:
            self._post(self._slot)
            await asyncio.sleep(EVERY)

    def leave(self) -> None:
        """Forget the snapshot when the worker ends."""
        if self._slot is not None:
            self._slot.shared_metrics.clear(self._slot.number)

    def of_node(self) -> list[Sample]:
        """Return the samples of all workers, labelled by worker."""
        number, by_worker = _ALONE, {}
        if self._slot is not None:
            number = self._slot.number
            by_worker = {
                slot: _decode(snapshot) for slot, snapshot in self._slot.shared_metrics.read().items()
            }
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
            slot.shared_metrics.write(slot.number, _encode(self._own()))
        except ValueError as error:
            if not self._too_long:
                _log.error("other workers can't show the metrics of this one", reason=str(error))
            self._too_long = True
