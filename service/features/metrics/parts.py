"""The part of a worker that counts its requests and shares the counts."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from service.app.parts import Part
from service.features.metrics.installation_samples import Installation
from service.features.metrics.worker_metrics import Process, Traffic, WorkerMetrics
from service.features.metrics.worker_samples import worker_samples
from service.kernel.metrics import Sample


class MetricsPart(Part):
    """The worker's own measurements, and the queries to the stores at a scrape."""

    def __init__(self, container: Any) -> None:
        settings, stores = container.settings, container.stores
        self._container = container
        self._serves = False
        self.process = Process()
        self.traffic = Traffic()
        self.metrics = WorkerMetrics(container.slot)
        self.metrics.add(partial(worker_samples, container))
        self.installation = Installation(
            stores.database,
            stores.sessions,
            container.parts,
            container.node.scheduler.jobs,
            limit=settings.oplog.stream_limit,
            backup_days=settings.database.backup_days,
        )
        self.arrived = self.traffic.begin
        self.note = self.traffic.count
        self.runs = self.metrics.run

    def name_worker(self, worker: str) -> None:  # noqa: ARG002 - of the form of all parts
        """Assign the worker's slot on its node; the worker begins now."""
        self.metrics.slot = self._container.slot
        self.process.begins()

    def serves(self) -> None:
        """Record that the worker has started."""
        self._serves = True
        self.process.serves()

    async def finish(self) -> None:
        """Remove the counts that the worker shared with others, if it has served."""
        if self._serves:
            self.metrics.leave()

    def samples(self) -> Iterator[Sample]:
        """Yield the samples of the process and of answered requests."""
        yield from self.process.samples()
        yield from self.traffic.samples()


def part_in(container: Any) -> MetricsPart:
    part: MetricsPart = container.parts["metrics"]
    return part
