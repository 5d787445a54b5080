"""Checks of operator tasks: jobs, complete and verified logs, backups."""

from datetime import UTC, datetime, timedelta
from typing import Final

from service.administration.jobs import all_jobs
from service.errors import Unavailable
from service.features.operations import store as backups
from service.jobs.runner import Job
from service.jobs.scheduler import LOOK_EVERY
from service.kernel.text import counted
from service.keyspace import LogCounts, SessionStore
from service.operator.findings import (
    Finding,
    Installation,
    Unanswered,
    fault,
    ok,
    warning,
)
from service.records import jobs
from service.records.jobs import StoredJob
from service.records.logs import months
from service.records.logs.inserts import Log

NEW: Final = timedelta(days=7)
"""The age below which an installation is new, so that missing parts are no warning."""


async def backup(installation: Installation) -> Finding:
    """Without a backup, lost data can't be restored."""
    days = installation.settings.database.backup_days
    if not days:
        return ok("not checked: database.backup_days is 0")
    async with installation.records() as connection:
        last = await backups.latest(connection)
        overdue = (await backups.standing(connection, days)).overdue
    if last is not None:
        message = f"the last backup was made at {last.snapshot_time:%Y-%m-%d %H:%M} UTC by {last.user_name}"
        if overdue:
            return warning(
                f"{message}: older than {days} days", "find out why portcullis backup does not run"
            )
        return ok(message)
    if not overdue:
        return ok("none yet; the installation is new")
    return warning(
        "portcullis backup has never been run",
        "run it regularly (docs/guides/backup.md), or set database.backup_days to 0 if another tool "
        "makes backups",
    )


async def jobs_in_time(installation: Installation) -> Finding:
    """A failing job leaves data undeleted, unverified or unreported."""
    settings = installation.settings
    known = all_jobs(settings)
    async with installation.records() as connection:
        stored = await jobs.stored(connection, [job.name for job in known])
    if not stored:
        return ok("none yet: the first start of the service adds them")
    failing = [
        stored_job.job_name for stored_job in stored.values() if stored_job.failing and not stored_job.paused
    ]
    overdue = [job.name for job in known if job.name in stored and _is_overdue(job, stored[job.name])]
    paused = [stored_job.job_name for stored_job in stored.values() if stored_job.paused]
    if failing:
        message = f"the last run failed: {', '.join(sorted(failing))}"
        return fault(message, "portcullis jobs list shows the reasons")
    if overdue:
        return warning(f"overdue: {', '.join(overdue)}", "check that the service runs, and check its log")
    suffix = f"; paused: {', '.join(sorted(paused))}" if paused else ""
    return ok(f"{counted(len(stored), 'job')}, none failing or overdue{suffix}")


def _is_overdue(job: Job, stored: StoredJob) -> bool:
    """Return whether a job is overdue by more than a worker's polling interval and one run."""
    return stored.is_due and stored.due_in is not None and -stored.due_in > LOOK_EVERY + job.within


_LOGS: Final[tuple[Log, ...]] = ("operation_log", "login_log")
_MONTH: Final = timedelta(days=31)


async def log_entries(installation: Installation) -> Finding:
    """Entries that were dropped or set aside are missing in the logs."""
    _ = installation.sessions
    settings = installation.settings
    try:
        async with SessionStore(settings.redis, settings.auth) as store:
            log_counts = await store.log.counts()
    except Unavailable:
        raise Unanswered("the session store does not answer in time") from None
    return _judged(log_counts)


def _judged(counts: LogCounts) -> Finding:
    summary = f"{counts.accepted} accepted, {counts.written} written, {counts.under_way} in progress"
    if counts.dropped:
        return warning(
            f"{summary}, {counts.dropped} dropped",
            "increase oplog.memory_limit and oplog.stream_limit, or find out why the stores did not "
            "accept them",
        )
    if counts.set_aside:
        return warning(
            f"{summary}, {counts.set_aside} set aside because the database rejected them",
            "see the entries and reasons in sys.log_set_aside",
        )
    return ok(summary)


async def log_months_ahead(installation: Installation) -> Finding:
    """Entries of a month without a partition go into the default one, until a worker moves them."""
    today = datetime.now(UTC).date().replace(day=1)
    needed = {today, (today + _MONTH).replace(day=1)}
    async with installation.records() as connection:
        missing = [
            f"{log} for {month:%Y-%m}"
            for log in _LOGS
            for month in sorted(needed - set(await months.present(connection, log)))
        ]
    if missing:
        return warning(
            f"missing partitions of {', '.join(missing)}", "start the service, which creates them every hour"
        )
    return ok(f"partitions for {today:%Y-%m} and the next month")
