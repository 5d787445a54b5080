"""The audit export of one worker: its deliveries, and the decision events on their way to the database."""

import asyncio
from collections.abc import Iterator
from typing import Final, NamedTuple

from service.audit.export.delivery import Delivery
from service.audit.export.outbox import DecisionOutbox
from service.kernel.clock import now
from service.records.database.transactions import Database
from service.settings import Export

EXPORT_CONNECTIONS: Final = 1
"""Connections of each worker to the database, for the export; opened only where there are destinations."""
EXPORT_WITHIN: Final = 10.0
"""Seconds that a transaction may take; requests do not wait for it."""


class Measured(NamedTuple):
    """What is told of a destination: entries by outcome, the age of the oldest that waits, dead letters.

    ``counts`` are those of this worker, the others those of all.
    """

    destination: str
    counts: dict[str, int]
    lag: float
    dead_letters: int


class Exporter:
    """Sends to all destinations of the settings; ``database`` is a pool of its own, which it closes."""

    def __init__(self, settings: Export, database: Database, worker: str) -> None:
        self._database = database
        self.deliveries = [Delivery(destination, database, worker) for destination in settings.destinations]
        exports_decisions = any("decisions" in destination.logs for destination in settings.destinations)
        self.outbox = DecisionOutbox(database, settings.decision_limit) if exports_decisions else None
        """Where events of the decision log go; None if no destination wants them."""

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:  # it ends when all have ended: gather ends with the first
            for delivery in self.deliveries:
                group.create_task(delivery.run())
            if self.outbox is not None:
                group.create_task(self.outbox.run())

    async def finish(self) -> None:
        """Write the last events, let other workers send, and disconnect."""
        if self.outbox is not None:
            await self.outbox.finish()
        await asyncio.gather(*(delivery.close() for delivery in self.deliveries))
        await self._database.close()

    def measured(self) -> Iterator[Measured]:
        """Yield what is known of each destination; a destination that no look has found yet has no lag."""
        for delivery in self.deliveries:
            counts = dict(delivery.counts)
            if "decisions" in delivery.destination.logs and self.outbox is not None:
                counts["dropped"] = self.outbox.dropped
            since = None if delivery.state is None else delivery.state.waiting_time
            lag = 0.0 if since is None else max(0.0, (now() - since).total_seconds())
            yield Measured(
                delivery.destination.name, counts, lag, delivery.state.dead_letters if delivery.state else 0
            )
