"""Checks of operator tasks: jobs, complete and verified logs, backups."""

from datetime import UTC, datetime, timedelta
from typing import Final

from service.administration.jobs import all_jobs
from service.errors import Unavailable
from service.features.audit_proof import store_months as months
from service.features.operations import store as backups
from service.features.operations import store_jobs as jobs
from service.features.operations.scheduler import LOOK_EVERY
from service.features.operations.sentences import sentence
from service.features.operations.store_jobs import StoredJob
from service.jobs.job import Job
from service.keyspace import LogCounts, SessionStore
from service.operator.findings import (
    Finding,
    Installation,
    Unanswered,
    fault,
    ok,
    warning,
)
from service.records.logs.inserts import Log

NEW: Final = timedelta(days=7)
"""The age below which an installation is new, so that missing parts are no warning."""


async def backup(installation: Installation) -> Finding:
    """Without a backup, lost data can't be restored."""
    days = installation.settings.database.backup_days
    if not days:
        return ok(sentence("backups_unchecked"))
    async with installation.records() as connection:
        last = await backups.latest(connection)
        overdue = (await backups.standing(connection, days)).overdue
    if last is not None:
        made = {"time": f"{last.snapshot_time:%Y-%m-%d %H:%M} UTC", "name": last.user_name}
        if overdue:
            return warning(sentence("backup_overdue", **made, days=days), sentence("find_backup"))
        return ok(sentence("backup_made", **made))
    if not overdue:
        return ok(sentence("no_backup_yet"))
    return warning(
        sentence("never_backed_up"),
        sentence("run_backups"),
    )


async def jobs_in_time(installation: Installation) -> Finding:
    """A failing job leaves data undeleted, unverified or unreported."""
    settings = installation.settings
    known = all_jobs(settings)
    async with installation.records() as connection:
        stored = await jobs.stored(connection, [job.name for job in known])
    if not stored:
        return ok(sentence("no_jobs_yet"))
    failing = [
        stored_job.job_name for stored_job in stored.values() if stored_job.failing and not stored_job.paused
    ]
    overdue = [job.name for job in known if job.name in stored and _is_overdue(job, stored[job.name])]
    paused = [stored_job.job_name for stored_job in stored.values() if stored_job.paused]
    if failing:
        return fault(sentence("jobs_fail", jobs=sorted(failing)), sentence("list_jobs"))
    if overdue:
        return warning(sentence("jobs_overdue", jobs=overdue), sentence("check_service"))
    if paused:
        return ok(sentence("jobs_fine_some_paused", count=len(stored), jobs=sorted(paused)))
    return ok(sentence("jobs_fine", count=len(stored)))


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
        raise Unanswered(sentence("session_store_slow")) from None
    return _judged(log_counts)


def _judged(counts: LogCounts) -> Finding:
    counted = {"accepted": counts.accepted, "written": counts.written, "pending": counts.under_way}
    if counts.dropped:
        return warning(
            sentence("entries_dropped", **counted, dropped=counts.dropped),
            sentence("keep_entries"),
        )
    if counts.set_aside:
        return warning(
            sentence("entries_set_aside", **counted, aside=counts.set_aside),
            sentence("see_set_aside"),
        )
    return ok(sentence("entries_counted", **counted))


async def log_months_ahead(installation: Installation) -> Finding:
    """Entries of a month without a partition go into the default one, until a worker moves them."""
    today = datetime.now(UTC).date().replace(day=1)
    needed = {today, (today + _MONTH).replace(day=1)}
    async with installation.records() as connection:
        missing = [
            sentence("partition_of_month", log=log, month=f"{month:%Y-%m}")
            for log in _LOGS
            for month in sorted(needed - set(await months.present(connection, log)))
        ]
    if missing:
        return warning(sentence("partitions_missing", partitions=missing), sentence("make_partitions"))
    return ok(sentence("partitions_made", month=f"{today:%Y-%m}"))
