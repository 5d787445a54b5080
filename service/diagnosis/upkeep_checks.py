"""Checks of what an operator sees to: backups, verified logs, a token for the metrics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from service.diagnosis.findings import Finding, fault, ok, warning
from service.diagnosis.installation import Installation
from service.diagnosis.settings_checks import is_local
from service.records import backups
from service.records.logs import chain
from service.records.user_overview import oldest_user

NEW: Final = timedelta(days=7)
"""How long an installation is new: nobody has to act on what it still lacks."""
_VERIFIED: Final = timedelta(days=3)


async def backup(installation: Installation) -> Finding:
    """Without a backup, what is lost is lost."""
    days = installation.settings.database.backup_days
    if not days:
        return ok("not looked at: database.backup_days is 0")
    async with installation.records() as connection:
        last = await backups.latest(connection)
        overdue = (await backups.standing(connection, days)).overdue
    if last is not None:
        message = f"the last one is of {last.snapshot_time:%Y-%m-%d %H:%M} UTC, by {last.user_name}"
        if overdue:
            return warning(f"{message}: older than {days} days", "see why portcullis backup does not run")
        return ok(message)
    if not overdue:
        return ok("none yet; the installation is new")
    return warning(
        "portcullis backup was never run",
        "run it regularly (docs/guides/backup.md), or set database.backup_days to 0 if others make backups",
    )


async def log_verification(installation: Installation) -> Finding:
    """Entries that were changed or removed are noticed by verification only."""
    now = datetime.now(UTC)
    async with installation.records() as connection:
        verified = await chain.latest_verifications(connection)
        since = await oldest_user(connection)
    if any(verification.faulty_count for verification in verified):
        days = ", ".join(
            f"{verification.log}: {verification.faulty_count} days"
            for verification in verified
            if verification.faulty_count
        )
        return fault(f"days that are not as they were written: {days}", "portcullis audit verify names them")
    if not verified:
        if since is None or now - since < _VERIFIED:
            return ok("none yet; the first one follows within a day of the start")
        return warning("the logs were never verified", "portcullis jobs run log-verification")
    oldest = min(verification.verify_time for verification in verified)
    message = f"last at {oldest:%Y-%m-%d %H:%M} UTC, no fault"
    if now - oldest > _VERIFIED:
        return warning(message, "portcullis jobs list says why log-verification does not run")
    return ok(message)


def metrics(installation: Installation) -> Finding:
    """Without metrics nobody is woken by an alert."""
    server = installation.settings.server
    if server.metrics_token:
        return ok("server.metrics_token is set")
    if is_local(server.host) and not server.trusted_proxies and not server.public_url:
        return ok("server.metrics_token is not set; only this machine reaches the service")
    return warning(
        "server.metrics_token is not set: there are no metrics, and readiness tells no details",
        'set it to the output of: python3 -c "import secrets; print(secrets.token_urlsafe(32))"',
    )
