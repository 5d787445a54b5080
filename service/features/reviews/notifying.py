"""Notices about reviews: to reviewers when one begins or ends soon, to its author too when it is closed."""

from datetime import datetime
from typing import Final

from service.administration.job_edits import job_edits
from service.authz.engine.policy import Policy
from service.features.reviews import store as reviews
from service.features.reviews.population import Reviewers
from service.features.reviews.schema import Review
from service.kernel.notify import Facts, Notices
from service.records.database.transactions import Connection, Database
from service.settings import Settings

AT_ONCE: Final = 20
"""Reviews whose reviewers one run of the job reminds."""


async def opened(
    connection: Connection, notices: Notices, review: Review, policy: Policy, at: datetime
) -> None:
    """Notify the reviewers of a new review."""
    reviewers = await _reviewers(connection, review, policy, at)
    await notices.notify_each(connection, reviewers, "review_opened", "administrator", _facts(review))


async def closed(
    connection: Connection, notices: Notices, review: Review, policy: Policy, at: datetime
) -> None:
    """Notify the author and the reviewers of a review that is closed."""
    notified = {review.author_id, *await _reviewers(connection, review, policy, at)}
    await notices.notify_each(connection, sorted(notified), "review_closed", "administrator", _facts(review))


async def remind(database: Database, settings: Settings, notices: Notices) -> int:
    """Notify the reviewers of reviews that end soon with undecided items, once each; return their number.

    Raises ``Unavailable``.
    """
    async with database.snapshot() as connection:
        if not await reviews.is_reminder_due(connection):
            return 0
    async with job_edits(database, settings) as edits:
        policy, at = edits.live.current, edits.clock.instant()
        async with database.transaction() as connection:
            due = await reviews.take_reminders(connection, AT_ONCE)
            for review in due:
                reviewers = await _reviewers(connection, review, policy, at)
                facts = _facts(review)
                await notices.notify_each(connection, reviewers, "review_due", "administrator", facts)
    return len(due)


async def _reviewers(connection: Connection, review: Review, policy: Policy, at: datetime) -> list[int]:
    return await Reviewers(review.reviewer_ids, review.reviewer_code).notified(connection, policy, at)


def _facts(review: Review) -> Facts:
    return {"review": str(review.id), "title": review.title, "until": review.deadline}
