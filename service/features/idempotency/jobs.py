"""The job that deletes expired answers."""

from typing import Final

from service.features.idempotency import store
from service.features.idempotency.sentences import sentence
from service.jobs.housekeeping import forget_in_portions
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Database
from service.settings import Settings

_HOUR: Final = 3600.0


async def forget_answers(database: Database) -> Sentence:
    """Delete expired answers to requests with an idempotency key. Raises Unavailable."""
    return sentence("answers_deleted", count=await forget_in_portions(database, store.forget_expired))


def jobs(_settings: Settings) -> tuple[Job, ...]:
    title = "Delete stored responses of requests with an idempotency key"
    return (Job("expired-answers", title, forget_answers, _HOUR, after="file-sweep"),)
