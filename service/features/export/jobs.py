"""The job of the export: it deletes old refused entries."""

from datetime import timedelta
from functools import partial
from typing import Final

from service.features.export import store_entries
from service.features.export.sentences import sentence
from service.jobs.housekeeping import forget_in_portions
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Connection, Database
from service.settings import Settings

_DAY: Final = 86_400.0


async def forget_dead_letters(database: Database, days: int) -> Sentence:
    """Delete dead letters older than ``days``, and decisions that no destination waits for.

    Raises Unavailable.
    """

    async def forget(connection: Connection, most: int) -> int:
        return await store_entries.forget_dead_letters(connection, timedelta(days=days), most)

    async with database.transaction() as connection:
        await store_entries.forget_sent_decisions(connection)
    return sentence("dead_letters_deleted", count=await forget_in_portions(database, forget))


def jobs(settings: Settings) -> tuple[Job, ...]:
    return (
        Job(
            "expired-dead-letters",
            "Delete dead letters of the export after `export.dead_letter_days`",
            partial(forget_dead_letters, days=settings.export.dead_letter_days),
            _DAY,
        ),
    )
