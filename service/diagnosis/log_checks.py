"""Checks that the logs of operations and logins are complete, and have partitions for new entries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from service.diagnosis.findings import Finding, ok, warning
from service.diagnosis.installation import Installation, Unanswered
from service.errors import Unavailable
from service.keyspace import LogCounts, SessionStore
from service.records.logs import months
from service.records.logs.inserts import Log

_LOGS: Final[tuple[Log, ...]] = ("operation_log", "login_log")
_MONTH: Final = timedelta(days=31)


async def log_entries(installation: Installation) -> Finding:
    """Entries that were dropped or set aside are missing in the logs."""
    _ = installation.sessions
    store = SessionStore(installation.settings.redis, installation.settings.auth)
    try:
        log_counts = await store.log.counts()
    except Unavailable:
        raise Unanswered("the session store does not answer in time") from None
    finally:
        await store.close()
    return _judged(log_counts)


def _judged(counts: LogCounts) -> Finding:
    summary = f"{counts.accepted} accepted, {counts.written} written, {counts.under_way} under way"
    if counts.dropped:
        return warning(
            f"{summary}, {counts.dropped} dropped",
            "raise oplog.memory_limit and oplog.stream_limit, or see why the stores did not take them",
        )
    if counts.set_aside:
        return warning(
            f"{summary}, {counts.set_aside} set aside, which the database has refused",
            "read them and the reasons in sys.log_set_aside",
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
            f"there is no partition of {', '.join(missing)}", "start the service, which makes them every hour"
        )
    return ok(f"partitions for {today:%Y-%m} and the month after")
