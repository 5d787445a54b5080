"""Checks of ``doctor``: verification of logs, and of past rights against their seals."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from service.errors import Unavailable
from service.features.audit_proof.history import audit_history
from service.features.audit_proof.history_seals import anchor_name, chains_of
from service.keyspace import SessionStore
from service.operator.findings import (
    WITHIN,
    Check,
    Finding,
    Installation,
    Unanswered,
    fault,
    few,
    ok,
    warning,
)
from service.records.installation import restore_epochs
from service.records.logs import chain
from service.records.user_overview import oldest_user

_VERIFIED: Final = timedelta(days=3)


async def log_verification(installation: Installation) -> Finding:
    """Report the result of log verification, which alone detects changed or removed entries."""
    now = datetime.now(UTC)
    async with installation.records() as connection:
        verified = await chain.latest_verifications(connection)
        since = await oldest_user(connection)
    if any(verification.faulty_count for verification in verified):
        days = ", ".join(
            f"{verification.log}: {verification.faulty_count}"
            for verification in verified
            if verification.faulty_count
        )
        return fault(
            f"days or restores were changed after they were written: {days}",
            "portcullis audit verify lists them",
        )
    if not verified:
        if since is None or now - since < _VERIFIED:
            return ok("none yet; the first run follows within a day of the start")
        return warning("the logs were never verified", "portcullis jobs run log-verification")
    oldest = min(verification.verify_time for verification in verified)
    message = f"last at {oldest:%Y-%m-%d %H:%M} UTC, no fault"
    if now - oldest > _VERIFIED:
        return warning(message, "portcullis jobs list shows why log-verification does not run")
    return ok(message)


async def history(installation: Installation) -> Finding:
    """Verify past rights against their seals: anyone who can write to the database can change them."""
    settings = installation.settings
    if installation.database is None:
        raise Unanswered("the database does not answer")
    async with installation.records() as connection:
        names = [restore_epoch.name for restore_epoch in await restore_epochs.every(connection)]
    anchored: dict[int, str] = {}
    with suppress(Unavailable):  # reported by the check of the session store
        async with SessionStore(settings.redis, settings.auth) as store:
            anchored = await store.revision_key.checkpoints(map(anchor_name, names[-1:]))
    try:
        audit = await audit_history(installation.database, chains_of(settings.oplog), anchored, within=WITHIN)
    except Unavailable:
        raise Unanswered("the database does not answer in time") from None
    if audit.faults:
        return fault(
            f"differs from the seal: {few(audit.faults)}",
            "portcullis audit verify lists all faults; find out who changes the database",
        )
    if not audit.count:
        return ok("not sealed yet: the job history-seals runs every five minutes")
    if audit.notes:
        return ok(
            f"matches the seal, up to {audit.until}; but anyone with database access can seal it again, "
            "because oplog.chain_key is not set"
        )
    return ok(f"matches the seal, up to {audit.until}")


CHECKS: Final = (
    Check("log-verification", log_verification, after="log-months"),
    Check("history", history, after="log-verification"),
)
"""Checks of the audit proof."""
