"""The job that notifies owners of keys that expire soon."""

from functools import partial

from service.features.personal_keys import store
from service.features.personal_keys.sentences import sentence
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.kernel.notify import Facts, Notices, notices_of
from service.records.database.transactions import Database
from service.settings import Settings

_HOUR = 3600.0
_AT_ONCE = 500


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the job."""
    return (
        Job(
            "personal-key-notices",
            "Notify owners of personal keys that expire within 7 days",
            partial(remind, notices=notices_of(settings)),
            _HOUR,
            after="key-reminders",
        ),
    )


async def remind(database: Database, notices: Notices) -> Sentence:
    """Notify the owners of keys that expire soon, once for each key. Raises Unavailable."""
    notified = 0
    while True:
        async with database.transaction() as connection:
            ending = await store.to_remind(connection, _AT_ONCE)
            for key in ending:
                facts: Facts = {"name": key.key_name, "until": key.expire_time}
                await notices.notify(connection, key.user_id, "key_expires", "self", facts)
        notified += len(ending)
        if len(ending) < _AT_ONCE:
            return sentence("owners_notified", count=notified)
