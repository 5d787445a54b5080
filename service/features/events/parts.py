"""The part of a worker that sends events to webhooks."""

import asyncio
from collections.abc import Iterator
from typing import Final

from service.app.container import Container
from service.app.parts import Part
from service.app.stores import pool
from service.features.events.delivery import Delivery
from service.kernel.metrics import Sample
from service.settings.sections.events import EVENT_CONNECTIONS

WITHIN: Final = 10.0
"""Maximum seconds of a transaction; requests do not wait for it."""


class Webhooks(Part):
    """The deliveries to all destinations of the settings."""

    def __init__(self, container: Container) -> None:
        settings = container.settings
        self._database = pool(settings.database, EVENT_CONNECTIONS, WITHIN)
        worker = container.worker
        self.deliveries = [
            Delivery(destination, self._database, worker) for destination in settings.events.destinations
        ]
        if self.deliveries:
            self.runs = self._run

    def name_worker(self, worker: str) -> None:
        """Rename the worker; leases carry its name."""
        for delivery in self.deliveries:
            delivery.worker = worker

    async def _run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            for delivery in self.deliveries:
                group.create_task(delivery.run())

    async def finish(self) -> None:
        """Release the leases, and disconnect."""
        await asyncio.gather(*(delivery.close() for delivery in self.deliveries))
        await self._database.close()

    def samples(self) -> Iterator[Sample]:
        """Yield counts of events by destination and outcome, and the lag of each destination."""
        for delivery in self.deliveries:
            labels = {"destination": delivery.destination.name}
            for outcome, count in delivery.counts.items():
                yield Sample("portcullis_events_total", count, {**labels, "outcome": outcome})
            if (state := delivery.state) is not None:
                yield Sample("portcullis_events_lag_seconds", state.lag, labels)
                yield Sample("portcullis_events_dead_letters", state.dead_letters, labels)
