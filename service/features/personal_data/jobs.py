"""The job that repeats erasures until nothing is found."""

from functools import partial

from service.features.personal_data import store_persons
from service.features.personal_data.erasures import Passes
from service.features.personal_data.sentences import sentence
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.keyspace import SessionStore
from service.records.database.transactions import Database
from service.settings import Settings

_RETRY = 60.0


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the job."""
    return (
        Job(
            "personal-data-erasures",
            "Repeat erasures of personal data until nothing is found",
            partial(go_on, settings=settings),
            30.0,
            retry=_RETRY,
            pending=store_persons.is_any_running,
        ),
    )


async def go_on(database: Database, settings: Settings) -> Sentence:
    """Run one pass of each erasure that has not ended. Raises Unavailable."""
    async with database.snapshot() as connection:
        user_ids = await store_persons.running(connection)
    changed = 0
    async with SessionStore(settings.redis, settings.auth) as store:
        passes = Passes.of(settings, database, store)
        for user_id in user_ids:
            changed += await passes.run(user_id) or 0
    return sentence("erasures_passed", erasures=len(user_ids), rows=changed)
