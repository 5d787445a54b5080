"""The jobs of an installation, for commands."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from service.administration.jobs import jobs_of
from service.files.object_store import object_store
from service.jobs.job import Job
from service.operator.database import with_database
from service.operator.errors import LaunchError
from service.operator.stores import reachable
from service.records import jobs
from service.records.database.transactions import Database
from service.settings import Settings, load


class UnknownJob(LaunchError):  # noqa: N818 - an input
    """There is no job of that name."""


def all_jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the jobs of the installation."""
    return jobs_of(settings, object_store(settings.objstore, settings.server.data / "files"))


def named(settings: Settings, name: str) -> Job:
    """Return the job of that name; UnknownJob if there is none."""
    every = {job.name: job for job in all_jobs(settings)}
    if name not in every:
        raise UnknownJob(f"there is no job '{name}': the jobs are {', '.join(every)}")
    return every[name]


def set_paused(options: Namespace, environ: Mapping[str, str], *, paused: bool) -> None:
    """Pause or resume the job that ``options`` name."""
    with reachable(load(environ)) as settings:
        job = named(settings, options.job)

        async def change(database: Database) -> None:
            async with database.transaction() as connection:
                await jobs.settle(connection, {job.name: job.interval})
                await jobs.pause(connection, job.name, paused=paused)

        with_database(settings, change)
