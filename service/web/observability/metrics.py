"""``GET /metrics``: the metrics of all workers of this node, from any of them, and of all nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec
import structlog

from service.errors import NotFound, Unauthenticated
from service.kernel.metrics import Sample
from service.web.observability.board import Slot
from service.web.observability.exposition import MEDIA_TYPE, exposition
from service.web.observability.operator_token import OperatorToken
from service.web.requests.context import RequestContext
from service.web.requests.marks import refuses
from service.web.requests.schema import Document

EVERY: Final = 2.0
"""Seconds between two snapshots of a worker."""

Source = Callable[[], Iterable[Sample]]
SourceOfAll = Callable[[], Awaitable[Iterable[Sample]]]

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
            self._slot.board.clear(self._slot.number)

    def of_node(self) -> list[Sample]:
        """Return the samples of all workers, labelled by worker."""
        number, found = _ALONE, {}
        if self._slot is not None:
            number = self._slot.number
            found = {one: _decode(snapshot) for one, snapshot in self._slot.board.read().items()}
        found[number] = self._own()
        return [
            Sample(sample.name, sample.value, {"worker": str(number), **sample.labels})
            for number, samples in sorted(found.items())
            for sample in samples
        ]

    def _own(self) -> list[Sample]:
        return [sample for source in self._sources for sample in source()]

    def _post(self, slot: Slot) -> None:
        try:
            slot.board.write(slot.number, _encode(self._own()))
        except ValueError as error:
            if not self._too_long:
                _log.error("other workers can't show the metrics of this one", reason=str(error))
            self._too_long = True


class Metrics:
    """GET /metrics."""

    def __init__(self, metrics: WorkerMetrics, of_all: SourceOfAll, token: OperatorToken) -> None:
        """Answer requests with ``token``, none if it is not set; ``of_all`` asks about all nodes."""
        self._metrics = metrics
        self._of_all = of_all
        self._token = token

    @refuses(NotFound, Unauthenticated)
    async def on_get(self, context: RequestContext) -> Document:
        """Read the metrics of all workers of this node, and of the whole installation.

        Needs the bearer token of the setting `server.metrics_token`; 404 if that is empty.
        """
        if not self._token.is_set:
            raise NotFound
        if not self._token.is_held(context):
            raise Unauthenticated
        of_all = await self._of_all()
        return Document(exposition([*self._metrics.of_node(), *of_all]), MEDIA_TYPE)
