"""The job that verifies again and again."""

from functools import partial
from typing import Final

from service.audit.chain.checkpoints import stored_checkpoints
from service.audit.chain.history import anchor_name
from service.features.audit_proof.verification import verify_again
from service.jobs.runner import Job
from service.keyspace import SessionStore
from service.records.database.transactions import Database
from service.records.installation import restore_epochs
from service.settings import Settings

_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the job."""
    return (
        Job(
            "log-verification",
            "Verify policy revisions, the last days of the logs, and one older day",
            partial(_verify_logs, settings=settings),
            _DAY,
            within=_HOUR,
            retry=_DAY,
            after="log-maintenance",
        ),
    )


async def _verify_logs(database: Database, settings: Settings) -> str:
    """Verify the logs, also against what the session store keeps; raises as ``verify_again``."""
    store = SessionStore(settings.redis, settings.auth)
    try:
        async with database.snapshot() as connection:
            names = [restore_epoch.name for restore_epoch in await restore_epochs.every(connection)]
        reported = stored_checkpoints(await store.log.heads())
        revisions = await store.revision_key.checkpoints(names)
        history = await store.revision_key.checkpoints(map(anchor_name, names[-1:]))
    finally:
        await store.close()
    return await verify_again(
        database,
        settings.oplog,
        reported=reported,
        anchored_revisions=revisions,
        anchored_history=history,
    )
