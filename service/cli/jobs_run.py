"""``portcullis jobs run JOB``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.administration.jobs import all_jobs, runner_of
from service.cli.lazy_commands import add_data
from service.cli.output import say
from service.jobs.runner import Busy, Ended, Job
from service.operator.database import with_database
from service.operator.errors import LaunchError
from service.operator.stores import reachable
from service.operator.who import log_to_errors, operator_name
from service.records import jobs
from service.records.database.transactions import Database
from service.settings import Settings, load


class RunError(LaunchError):
    """The job runs elsewhere, or its run has failed."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the job."""
    parser.add_argument("job", metavar="JOB", help="its name, as in 'portcullis jobs list'")
    add_data(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Run a job and print its outcome; raises RunError, UnknownJob, SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:
        log_to_errors(settings, settings.log.level)
        job = named(settings, options.job)
        try:
            ended = with_database(settings, lambda database: _run(settings, database, job))
        except Busy:
            raise RunError(f"the job {job.name} runs already, in another process") from None
    if ended is None:
        raise RunError(f"another process was quicker to run the job {job.name}: see 'portcullis jobs list'")
    if ended.failed:
        raise RunError(f"the job {job.name} has failed: {ended.detail}")
    say(f"{job.name}: {ended.detail}")


async def _run(settings: Settings, database: Database, job: Job) -> Ended | None:
    who = operator_name()
    async with database.transaction() as connection:
        await jobs.settle(connection, {job.name: job.interval})
        await jobs.request(connection, job.name, who)
    return await runner_of(settings, f"command of {who}").run(job)


class UnknownJob(LaunchError):  # noqa: N818 - an input
    """There is no job of that name."""


def named(settings: Settings, name: str) -> Job:
    """Return the job of that name; UnknownJob if there is none."""
    every = {job.name: job for job in all_jobs(settings)}
    if name not in every:
        raise UnknownJob(f"there is no job '{name}': the jobs are {', '.join(every)}")
    return every[name]
