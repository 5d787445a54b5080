"""Jobs and their runs: ``/api/jobs``."""

from typing import Annotated

from msgspec import Meta

from service.errors import NotFound
from service.features.operations import store_jobs as jobs
from service.features.operations.scheduler import Scheduler
from service.jobs.job import Job
from service.records.database.transactions import Connection, Database
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, needs, writes
from service.web.messages.record_schemas import Shown, shows
from service.web.messages.schema import Schema, SentenceParams

RUNS_SHOWN = 10
"""Number of the newest runs shown for each job."""


JobName = Annotated[str, Meta(examples=["file-sweep"])]


@shows(jobs.JobRun, leave_out=("job_name",))
class JobRun(Shown):
    """A run of a job; `userName` requested it, null for a scheduled run.

    Clients translate `detail` by `detailCode` and `detailParams`: null without a result, and for runs of
    older versions.
    """

    detail_params: Annotated[SentenceParams, Meta(examples=[{"count": 12}])] | None


@shows(jobs.StoredJob, leave_out=("job_name", "due_in"), before="runs")
class JobState(Shown):
    """A job with its due time and its last runs, the newest first.

    `interval` is in seconds, null for a job that only runs on request. A run is stopped after `within`
    seconds. `requestedBy` is the user who requested the due run. `failing` is true if the last finished run
    failed.
    """

    name: JobName
    title: str
    interval: float | None
    within: float
    runs: list[JobRun]


class JobStates(Schema):
    """All jobs."""

    items: list[JobState]


async def states(connection: Connection, of: tuple[Job, ...]) -> list[JobState]:
    """Return the states of these jobs, in their order."""
    stored = await jobs.settle(connection, {job.name: job.interval for job in of})
    runs = await jobs.runs(connection, [job.name for job in of], RUNS_SHOWN)
    return [
        JobState.of(
            stored_job,
            name=job.name,
            title=job.title,
            interval=job.interval,
            within=job.within,
            runs=runs[job.name],
        )
        for job, stored_job in zip(of, stored, strict=True)
    ]


class JobEndpoint(Responders):
    """The base of the endpoints of jobs."""

    def __init__(self, database: Database, scheduler: Scheduler) -> None:
        self._database = database
        self._scheduler = scheduler

    def _named(self, name: str) -> Job:
        matches = [job for job in self._scheduler.jobs if job.name == name]
        if not matches:
            raise NotFound
        return matches[0]


class Jobs(JobEndpoint, at="/api/jobs"):
    @needs("system:job:list", name="listJobs")
    async def on_get(self, context: RequestContext) -> JobStates:
        """List the jobs of the service, with their last runs."""
        async with self._database.transaction() as connection:
            return JobStates(items=await states(connection, self._scheduler.jobs))


class RunOfJob(JobEndpoint, at="/api/jobs/{name}/run"):
    @needs("system:job:run", name="runJob", refuses=[NotFound])
    @writes("run", "UPDATE", module="job")
    async def on_post(self, context: RequestContext, name: JobName) -> JobState:
        """Run a job now, also a paused one.

        The answer does not wait for the run: read the list for its outcome. While a run is under way, another
        one follows it.
        """
        job = self._named(name)
        async with self._database.transaction() as connection:
            await jobs.settle(connection, {job.name: job.interval})
            await jobs.request(connection, job.name, context.user.user_name)
            (state,) = await states(connection, (job,))
        self._scheduler.wake()
        return state


class Pause(Schema):
    """The new state of a job."""

    paused: bool


class PausedJob(JobEndpoint, at="/api/jobs/{name}/paused"):
    @needs("system:job:update", name="pauseJob", refuses=[NotFound])
    @writes("pause or resume", "UPDATE", module="job", example={"paused": True})
    async def on_put(self, context: RequestContext, name: JobName, body: Pause) -> JobState:
        """Pause a job, or let it run by its schedule again.

        A current run continues. Requested runs of a paused job still take place.
        """
        job = self._named(name)
        async with self._database.transaction() as connection:
            await jobs.settle(connection, {job.name: job.interval})
            await jobs.pause(connection, job.name, paused=body.paused)
            (state,) = await states(connection, (job,))
        self._scheduler.wake()
        return state
