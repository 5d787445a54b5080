"""The jobs that seal the past, and verify logs and revisions regularly."""

from functools import partial
from typing import Final

from service.features.audit_proof.history_seals import anchor_name, chains_of, seal_history
from service.features.audit_proof.sentences import sentence
from service.features.audit_proof.verification import anchors_of, verify_again
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.keyspace import SessionStore
from service.records.database.transactions import Database
from service.records.installation import restore_epochs
from service.settings import Settings

_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR


def jobs(settings: Settings) -> tuple[Job, ...]:
    return (
        Job(
            "history-seals",
            "Seal past assignments, past permissions of roles, use of permissions, and ended policy rows",
            partial(_seal_history, settings=settings),
            300.0,
            after="log-maintenance",
        ),
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


async def _seal_history(database: Database, settings: Settings) -> Sentence:
    """Seal past facts, and record the newest seal in the session store; raises as ``seal_history``."""
    async with database.snapshot() as connection:
        restore_epoch = await restore_epochs.current(connection)
    name = anchor_name(restore_epoch or "")
    async with SessionStore(settings.redis, settings.auth) as store:
        anchored = await store.revision_key.checkpoints([name])
        newest = await seal_history(database, chains_of(settings.oplog), anchored)
        if newest is None:
            return sentence("sealing_skipped")
        await store.revision_key.anchor(name, newest)
    return sentence("newest_seal", seal=newest.revision)


async def _verify_logs(database: Database, settings: Settings) -> Sentence:
    """Verify the logs, also against the session store; raises as ``verify_again``."""
    async with database.snapshot() as connection:
        names = [restore_epoch.name for restore_epoch in await restore_epochs.every(connection)]
    return await verify_again(database, settings.oplog, anchors=await anchors_of(settings, names))
