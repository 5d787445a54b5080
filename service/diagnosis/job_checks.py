"""Checks of the jobs that come back, and of the API keys that one of them reminds of."""

from __future__ import annotations

from typing import Final

from service.administration.jobs import all_jobs
from service.diagnosis.findings import Finding, fault, ok, warning
from service.diagnosis.installation import Installation
from service.jobs.housekeeping import REMIND
from service.jobs.job import Job
from service.jobs.scheduler import LOOK_EVERY
from service.kernel.clock import rfc3339
from service.kernel.text import counted, printable
from service.records import api_keys, jobs
from service.records.jobs import StoredJob

_NAMED: Final = 3  # of many, in one line


async def jobs_in_time(installation: Installation) -> Finding:
    """What a job would have deleted, verified or reported is left as it is."""
    settings = installation.settings
    known = all_jobs(settings)
    async with installation.records() as connection:
        stored = await jobs.stored(connection, [job.name for job in known])
    if not stored:
        return ok("none yet: the first service that runs here adds them")
    failing = [
        stored_job.job_name for stored_job in stored.values() if stored_job.failing and not stored_job.paused
    ]
    overdue = [job.name for job in known if job.name in stored and _is_overdue(job, stored[job.name])]
    paused = [stored_job.job_name for stored_job in stored.values() if stored_job.paused]
    if failing:
        message = f"the last run has failed of {', '.join(sorted(failing))}"
        return fault(message, "portcullis jobs list says why")
    if overdue:
        return warning(
            f"nobody has run {', '.join(overdue)} when due", "see whether the service runs, and in its log"
        )
    suffix = f"; paused: {', '.join(sorted(paused))}" if paused else ""
    return ok(f"{counted(len(stored), 'job')}, none failing or overdue{suffix}")


def _is_overdue(job: Job, stored: StoredJob) -> bool:
    """Tell whether a job is due for longer than a worker takes to notice and another run takes."""
    return stored.is_due and stored.due_in is not None and -stored.due_in > LOOK_EVERY + job.within


async def expiring_keys(installation: Installation) -> Finding:
    """Programs whose key has expired are refused."""
    async with installation.records() as connection:
        keys = await api_keys.expiring(connection, REMIND)
    if not keys:
        return ok(f"none expires within {REMIND.days} days")
    named = [
        f"{printable(key.key_name)} of {printable(key.user_name)} ({rfc3339(key.expire_time)})"
        for key in keys[:_NAMED]
    ]
    more = ", …" if len(keys) > _NAMED else ""
    verb = "expires" if len(keys) == 1 else "expire"
    return warning(
        f"{counted(len(keys), 'key')} {verb} within {REMIND.days} days: {', '.join(named)}{more}",
        "make new keys for these accounts, and give them to their programs",
        users=dict.fromkeys((key.user_id, key.user_name) for key in keys[:_NAMED]),
    )
