"""The export of one worker: its deliveries, and the transfer of decision events to the database."""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple
from uuid import UUID

import structlog

from service.errors import Unavailable
from service.features.export import store_entries
from service.features.export.delivery import Delivery
from service.kernel.clock import AtMostEvery, new_event_id, now
from service.records.database.transactions import Database
from service.settings import Export

MOST_WAITING: Final = 4096
"""Maximum number of events waiting in a worker's memory; further events are dropped."""
MOST_HELD: Final = 16_777_216
"""Maximum characters of these events; each has all codes of its caller, possibly thousands."""
AT_ONCE: Final = 500
"""Maximum number of events written in one transaction."""
LONGEST_BATCH: Final = 262_144
"""Characters of events that close a transaction; encoding them blocks requests."""
WRITE_EVERY: Final = 0.5
"""Seconds between two writes."""
RETRY_EVERY: Final = 2.0
FINISH_WITHIN: Final = 2.0
"""Maximum seconds to write the last events when the worker ends."""
_TELL_EVERY: Final = 10.0

_log = structlog.get_logger(__name__)


class DecisionOutbox:
    """Accepts events without waiting, and writes them to the database; ``dropped`` counts lost events."""

    def __init__(self, database: Database, limit: int) -> None:
        """Create the outbox; ``limit`` is the maximum number of waiting events of all nodes."""
        self._database = database
        self._limit = limit
        self._waiting: deque[tuple[UUID, str]] = deque()
        self._held = 0
        self._telling = AtMostEvery(_TELL_EVERY)
        self.dropped = 0

    def put(self, line: bytes) -> None:
        """Accept an event as one line of JSON, or drop it if too many wait."""
        if len(self._waiting) >= MOST_WAITING or self._held >= MOST_HELD:
            self._drop(1)
            return
        text = line.decode().rstrip("\n")
        self._waiting.append((new_event_id(), text))
        self._held += len(text)

    async def run(self) -> None:
        """Write until cancelled; raises nothing else."""
        while True:
            wait = WRITE_EVERY
            try:
                await self._write()
            except Unavailable:
                wait = RETRY_EVERY
            except Exception:  # noqa: BLE001 - an unexpected error must not end the export
                _log.exception("events of the decision log can't be written")
                wait = RETRY_EVERY
            await asyncio.sleep(wait)

    async def finish(self) -> None:
        """Write waiting events; drop events that cannot be written within ``FINISH_WITHIN`` seconds."""
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(FINISH_WITHIN):
                await self._write()
        if self._waiting:
            _log.warning("events of the decision log are lost for the export", lost=len(self._waiting))

    async def _write(self) -> None:
        while self._waiting:
            batch = self._next()
            async with self._database.transaction() as connection:
                added = await store_entries.add_decisions(connection, batch, self._limit)
            for _, text in batch:
                self._waiting.popleft()
                self._held -= len(text)
            if not added:
                self._drop(len(batch))

    def _next(self) -> list[tuple[UUID, str]]:
        batch, length = [], 0
        for event in islice(self._waiting, AT_ONCE):
            batch.append(event)
            length += len(event[1])
            if length >= LONGEST_BATCH:
                break
        return batch

    def _drop(self, number: int) -> None:
        self.dropped += number
        if self._telling.due():
            _log.warning("events of the decision log are dropped for the export", dropped=self.dropped)


class Measured(NamedTuple):
    """Measurements of a destination: entries by outcome, age of the oldest waiting one, dead letters.

    ``counts`` are those of this worker, the others those of all workers.
    """

    destination: str
    counts: dict[str, int]
    lag: float
    dead_letters: int


class Exporter:
    """Sends to all destinations of the settings; closes its own pool ``database``."""

    def __init__(self, settings: Export, database: Database, worker: str) -> None:
        self._database = database
        self.deliveries = [Delivery(destination, database, worker) for destination in settings.destinations]
        exports_decisions = any("decisions" in destination.logs for destination in settings.destinations)
        self.outbox = DecisionOutbox(database, settings.decision_limit) if exports_decisions else None
        """Outbox of decision events; None if no destination exports them."""

    def name_worker(self, worker: str) -> None:
        """Rename the worker, before ``run``."""
        for delivery in self.deliveries:
            delivery.worker = worker

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:  # gather would end with the first failure
            for delivery in self.deliveries:
                group.create_task(delivery.run())
            if self.outbox is not None:
                group.create_task(self.outbox.run())

    async def finish(self) -> None:
        """Write the last events, release the leases, and disconnect."""
        if self.outbox is not None:
            await self.outbox.finish()
        await asyncio.gather(*(delivery.close() for delivery in self.deliveries))
        await self._database.close()

    def measured(self) -> Iterator[Measured]:
        """Yield the measurements of each destination; the lag is 0 before the first look."""
        for delivery in self.deliveries:
            counts = dict(delivery.counts)
            if "decisions" in delivery.destination.logs and self.outbox is not None:
                counts["dropped"] = self.outbox.dropped
            since = None if delivery.state is None else delivery.state.waiting_time
            lag = 0.0 if since is None else max(0.0, (now() - since).total_seconds())
            yield Measured(
                delivery.destination.name, counts, lag, delivery.state.dead_letters if delivery.state else 0
            )
