"""The job of requests: it starts approved requests and expires the others."""

from typing import Final

from service.features.access_requests import store
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.kernel.notify import notices_of
from service.records.database.transactions import Database
from service.settings import Settings

_OFTEN: Final = 5.0  # seconds


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the job of requests."""

    async def settle(database: Database) -> Sentence:
        from service.features.access_requests.expiry import settle_requests  # noqa: PLC0415 - imports Casbin

        return await settle_requests(database, settings, notices_of(settings))

    return (
        Job(
            "access-requests",
            "Assign approved roles at their start, expire unapproved requests, and notify authors",
            settle,
            _OFTEN,
            retry=60.0,
            pending=store.is_due,
            after="role-ends",
        ),
    )
