"""Parts of a worker that export logs and write the decision log."""

from collections.abc import Iterator
from typing import Final

from service.app.container import Container
from service.app.parts import Part
from service.app.stores import pool
from service.features.export.decision_events import DecisionEvents
from service.features.export.decisions import decision_log
from service.features.export.exporter import Exporter
from service.kernel.metrics import Sample
from service.settings.sections.export import EXPORT_CONNECTIONS

WITHIN: Final = 10.0
"""Maximum seconds of a transaction; requests do not wait for it."""


class Sending(Part):
    """The exporter, and the decision log; the latter is None without a target."""

    def __init__(self, container: Container) -> None:
        settings = container.settings
        database = pool(settings.database, EXPORT_CONNECTIONS, WITHIN)
        self.exporter = Exporter(settings.export, database, container.worker)
        self.decisions = self._log = decision_log(settings.policy, self.exporter.outbox)
        self.runs = self.exporter.run
        if self._log is not None:
            self.note = DecisionEvents(self._log).note

    def name_worker(self, worker: str) -> None:
        """Rename the worker; leases carry its name."""
        self.exporter.name_worker(worker)

    def start(self) -> None:
        """Start writing the decision log."""
        if self._log is not None:
            self._log.start()

    async def finish(self) -> None:
        """Write the last events, release the leases, and disconnect."""
        try:
            if self._log is not None:
                await self._log.finish()
        finally:
            await self.exporter.finish()

    def samples(self) -> Iterator[Sample]:
        """Yield counts of decisions and of entries by destination, and the lag of each destination."""
        if self._log is not None:
            yield from self._log.samples()
        for measurement in self.exporter.measured():
            labels = {"destination": measurement.destination}
            for outcome, count in measurement.counts.items():
                yield Sample("portcullis_export_entries_total", count, {**labels, "outcome": outcome})
            yield Sample("portcullis_export_lag_seconds", measurement.lag, labels)
            yield Sample("portcullis_export_dead_letters", measurement.dead_letters, labels)
