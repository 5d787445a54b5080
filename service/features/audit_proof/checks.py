"""Checks of ``doctor``: verification of logs, and of past rights against their seals."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from service.errors import Unavailable
from service.features.audit_proof import store_chain as chain
from service.features.audit_proof.history import audit_history
from service.features.audit_proof.history_seals import anchor_name, chains_of
from service.features.audit_proof.sentences import sentence
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
            sentence("logs_changed", days=days), sentence("lists_them", command="portcullis audit verify")
        )
    if not verified:
        if since is None or now - since < _VERIFIED:
            return ok(sentence("logs_unverified_yet"))
        return warning(
            sentence("logs_never_verified"),
            sentence("run_command", command="portcullis jobs run log-verification"),
        )
    oldest = min(verification.verify_time for verification in verified)
    message = sentence("logs_verified", time=f"{oldest:%Y-%m-%d %H:%M} UTC")
    if now - oldest > _VERIFIED:
        return warning(message, sentence("job_does_not_run", job="log-verification"))
    return ok(message)


async def history(installation: Installation) -> Finding:
    """Verify past rights against their seals: anyone who can write to the database can change them."""
    settings = installation.settings
    if installation.database is None:
        raise Unanswered(sentence("database_silent"))
    async with installation.records() as connection:
        names = [restore_epoch.name for restore_epoch in await restore_epochs.every(connection)]
    anchored: dict[int, str] = {}
    with suppress(Unavailable):  # reported by the check of the session store
        async with SessionStore(settings.redis, settings.auth) as store:
            anchored = await store.revision_key.checkpoints(map(anchor_name, names[-1:]))
    try:
        audit = await audit_history(installation.database, chains_of(settings.oplog), anchored, within=WITHIN)
    except Unavailable:
        raise Unanswered(sentence("database_slow")) from None
    if audit.faults:
        return fault(
            sentence("history_differs", faults=few(audit.faults)),
            sentence("find_history_faults"),
        )
    if not audit.count:
        return ok(sentence("history_unsealed"))
    if audit.notes:
        return ok(sentence("history_matches_open_seal", until=audit.until))
    return ok(sentence("history_matches", until=audit.until))


CHECKS: Final = (
    Check("log-verification", log_verification, after="log-months"),
    Check("history", history, after="log-verification", slow=True),
)
"""Checks of the audit proof."""
