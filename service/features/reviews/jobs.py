"""The job that closes reviews that are over, and reminds reviewers of others."""

from service.features.reviews import store
from service.features.reviews.sentences import sentence
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.kernel.notify import notices_of
from service.records.database.transactions import Database
from service.settings import Settings


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the job of reviews."""

    async def close_reviews(database: Database) -> Sentence:
        from service.features.reviews.closing import close_due  # noqa: PLC0415 - it imports Casbin
        from service.features.reviews.notifying import remind  # noqa: PLC0415 - it imports Casbin

        notices = notices_of(settings)
        reminded = await remind(database, settings, notices)
        closed = await close_due(database, settings, notices)
        return sentence("reviews_settled", closed=closed, reminded=reminded)

    return (
        Job(
            "review-ends",
            "Close reviews of roles whose deadline has passed, apply what was decided, and remind reviewers",
            close_reviews,
            30.0,
            retry=60.0,
            pending=store.is_due,
            after="access-requests",
        ),
    )
