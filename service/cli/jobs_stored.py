"""The jobs of an installation, for commands."""

from __future__ import annotations

from service.administration.jobs import jobs_of
from service.files.object_store import object_store
from service.jobs.job import Job
from service.operator.errors import LaunchError
from service.settings import Settings


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
