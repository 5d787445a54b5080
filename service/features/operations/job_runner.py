"""One run of a job: claimed, bounded, and recorded with its outcome."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Final, TypeAlias

import structlog

from service.errors import Refusal, Unavailable
from service.features.operations import store_jobs as jobs
from service.features.operations.store_jobs import JobRun
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.operator_error import OperatorError
from service.records.database.transactions import Database
from service.settings import Settings

OpenDatabase: TypeAlias = Callable[[], Database]
"""Opens a database of its own for a run, with room for three connections."""

_MARGIN: Final = 30.0  # seconds for the records of a run, beside the bound of its work
_LONGEST_DETAIL: Final = 500  # characters

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of a run, with its ``detail`` in words; ``seconds`` is its duration."""

    run: JobRun
    failed: bool
    detail: Sentence
    seconds: float


class Busy(Exception):  # noqa: N818 - nothing is wrong
    """Another runner has the job."""


@dataclass(slots=True, eq=False, repr=False)
class JobRunner:
    """Runs jobs in this process, each with connections that are closed when it ends.

    A job is locked for its run by the transaction of an own connection. PostgreSQL frees the lock when that
    ends, however the process does.
    """

    open_database: OpenDatabase
    worker: str

    async def run(self, job: Job) -> Ended | None:
        """Run ``job`` if it is due; None if it is not. Raises Busy if it runs elsewhere, and Unavailable."""
        async with (
            self.open_database() as database,
            database.transaction(within=job.within + _MARGIN) as holding,
        ):
            if not await jobs.try_lock(holding, job.name):
                raise Busy
            async with database.transaction() as connection:
                run = await jobs.claim(connection, job.name, self.worker)
            return None if run is None else await self._run(database, job, run)

    async def _run(self, database: Database, job: Job, run: JobRun) -> Ended:
        begun = monotonic()
        try:
            failed, detail = await _outcome(database, job)
        except asyncio.CancelledError:
            with suppress(Unavailable):
                async with database.transaction() as connection:
                    await jobs.stop(connection, run)
            raise
        ended = Ended(run, failed, _bounded(detail), monotonic() - begun)
        async with database.transaction() as connection:
            in_time = await jobs.finish(
                connection, run, failed=failed, detail=ended.detail, again_in=job.again_in(failed=failed)
            )
        level = "error" if failed else "info"
        fields = {
            "job": job.name,
            "run": run.id,
            "detail": str(ended.detail),
            "seconds": round(ended.seconds, 3),
        }
        getattr(_log, level)("a job has failed" if failed else "a job is done", **fields)
        if not in_time:
            _log.warning("a run has lost its lock, and another one took its place", job=job.name, run=run.id)
        return ended


def runner_of(settings: Settings, worker: str) -> JobRunner:
    """Return the runner of jobs in this process; ``worker`` is the name of the process."""

    def opened() -> Database:
        url = settings.database.direct_url or settings.database.url  # a job may hold a connection for long
        return Database(url, pool_size=3, timeout=settings.database.timeout)

    return JobRunner(opened, worker)


def _bounded(detail: Sentence) -> Sentence:
    """Return ``detail``; a long one is cut, and loses its code, whose parameters are as long."""
    return detail if len(detail) <= _LONGEST_DETAIL else Sentence(detail[:_LONGEST_DETAIL])


async def _outcome(database: Database, job: Job) -> tuple[bool, Sentence]:
    """Do the work of ``job``; return whether it failed, and the result or the reason in words."""
    bound = asyncio.timeout(job.within)
    try:
        async with bound:
            return False, Sentence.of(await job.work(database))
    except OperatorError as error:
        return True, Sentence.of(error.args[0])
    except Refusal as refusal:
        return True, refusal.stated()
    except TimeoutError as error:
        if bound.expired():
            return True, sentence("run_too_long", seconds=f"{job.within:g}")
        return True, Sentence(repr(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, the run has ended and is recorded
        # Its message may hold a secret, such as a URL with a password; the log has the traceback.
        _log.exception("the work of a job has failed", job=job.name)
        return True, sentence("run_error", error=type(error).__name__)
