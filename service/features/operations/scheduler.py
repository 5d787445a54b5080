"""Runs jobs when they are due: in each worker, so that any one of them is enough."""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import structlog

from service.errors import Unavailable
from service.features.operations import store_jobs as jobs
from service.features.operations.job_runner import Busy, JobRunner, runner_of
from service.features.operations.store_jobs import StoredJob
from service.jobs.job import Job
from service.kernel.metrics import Health
from service.records.database.transactions import Connection, Database
from service.settings import Settings

LOOK_EVERY: Final = 600.0
"""Maximum seconds between two checks: other processes may have changed the schedule."""
BUSY_FOR: Final = 60.0
"""Seconds after which a job that another worker runs is tried again: that worker may be gone."""
SPREAD: Final = 5.0
"""Seconds over which the workers spread their looks, so that the first one runs the job for all."""
_LEAST: Final = 0.05  # seconds from one look to the next

_log = structlog.get_logger()


class Scheduler:
    """Sleeps until the next job is due, and runs it unless another worker has.

    ``busy_for`` and ``spread`` replace ``BUSY_FOR`` and ``SPREAD``.
    """

    def __init__(
        self,
        all_jobs: Sequence[Job],
        database: Database,
        runner: JobRunner,
        *,
        busy_for: float = BUSY_FOR,
        spread: float = SPREAD,
    ) -> None:
        self.jobs: Final = tuple(all_jobs)
        self._database = database
        self.runner: Final = runner
        self._busy_for = busy_for
        self._spread = spread
        self._woken = asyncio.Event()
        self.stored: Sequence[StoredJob] = ()
        """The jobs of the last check."""
        self.counts: Final = dict.fromkeys(
            ((job.name, outcome) for job in all_jobs for outcome in ("done", "failed")), 0
        )
        """The runs of this worker since its start, by job and outcome."""

    async def run(self) -> None:
        """Check and run due jobs until cancelled; raises nothing else."""
        while True:
            self._woken.clear()
            try:
                wait = await self.look()
            except Unavailable:
                wait = self._busy_for
            except Exception:  # noqa: BLE001 - no error may end the scheduler of a worker
                _log.exception("the scheduler failed")
                wait = self._busy_for
            with suppress(TimeoutError):
                async with asyncio.timeout(wait + self._random()):
                    await self._woken.wait()

    def wake(self) -> None:
        """Have this worker check at once: a job was requested, or may run again."""
        self._woken.set()

    async def look(self) -> float:
        """Run the due jobs; return the seconds until the next job is due, few if one fell due meanwhile.

        Raises Unavailable.
        """
        wait = LOOK_EVERY
        by_name = {job.name: job for job in self.jobs}
        async with self._database.transaction() as connection:
            stored_jobs = await jobs.settle(connection, {job.name: job.interval for job in self.jobs})
            if idle := await self._idle(connection, stored_jobs):
                await jobs.leave_out(connection, idle)
                stored_jobs = await jobs.settle(connection, {job.name: job.interval for job in self.jobs})
        self.stored = stored_jobs
        for stored_job in stored_jobs:
            if stored_job.is_due and not await self._run(by_name[stored_job.job_name]):
                wait = min(wait, self._busy_for)
        looked_at = {stored_job.job_name for stored_job in stored_jobs if stored_job.is_due}
        if looked_at:
            async with self._database.transaction() as connection:
                self.stored = await jobs.settle(connection, {job.name: job.interval for job in self.jobs})
            if any(stored.is_due and stored.job_name not in looked_at for stored in self.stored):
                return _LEAST
        soonest = (
            stored_job.due_in
            for stored_job in self.stored
            if stored_job.due_in is not None and not stored_job.paused
        )
        return min([wait, *(max(due, _LEAST) for due in soonest if due > 0)])

    async def _idle(self, connection: Connection, stored_jobs: Sequence[StoredJob]) -> dict[str, float]:
        """Return the intervals of the jobs that are due by schedule, and have nothing to do."""
        return {
            job.name: job.interval
            for job, stored in zip(self.jobs, stored_jobs, strict=True)
            if stored.is_due and stored.requested_by is None and job.interval is not None
            if job.pending is not None and not await job.pending(connection)
        }

    async def health(self) -> Health:
        """Return ``degraded`` while the last run of a job has failed; raises Unavailable."""
        async with self._database.transaction() as connection:
            failing = await jobs.failing(connection, [job.name for job in self.jobs])
        return Health("degraded" if failing else "up", {"failing": failing})

    async def _run(self, job: Job) -> bool:
        """Run ``job`` if it is still due; False if another worker runs it."""
        try:
            ended = await self.runner.run(job)
        except Busy:
            return False
        if ended is not None:
            self.counts[job.name, "failed" if ended.failed else "done"] += 1
        return True

    def _random(self) -> float:
        return self._spread * secrets.randbelow(1000) / 1000


def scheduler_of(all_jobs: Sequence[Job], database: Database, settings: Settings, worker: str) -> Scheduler:
    """Return the scheduler of ``worker``, whose runs have connections of their own."""
    return Scheduler(all_jobs, database, runner_of(settings, worker))
