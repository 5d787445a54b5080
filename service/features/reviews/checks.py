"""Doctor checks of reviews and unused rights."""

from datetime import UTC, datetime, timedelta
from typing import Final

from service.administration.people import People
from service.features.permission_use import store as permission_uses
from service.features.reviews import store
from service.features.reviews.population import Reviewers
from service.features.reviews.sentences import sentence
from service.features.reviews.store_unused import idle_assignments, unused_keys
from service.features.reviews.unused import DAYS, first_day
from service.kernel.clock import rfc3339
from service.kernel.coded_sentences import Sentence
from service.operator.findings import Check, Finding, Installation, few_of, ok, warning

_CLOSES_WITHIN: Final = timedelta(minutes=10)


async def reviews(installation: Installation) -> Finding:
    """Undecidable items stay as they are, and a review that is over but not closed applies nothing."""
    now = datetime.now(UTC)
    stuck: list[Sentence] = []
    late: list[Sentence] = []
    async with installation.records() as connection:
        under_way = await store.under_way(connection)
        for review in under_way:
            name = sentence("review_named", title=review.title, review=review.id)
            if (review.close_time or review.deadline) < now - _CLOSES_WITHIN:
                late.append(name)
            elif review.state == "open":
                policy = await installation.derived(connection)
                asked = Reviewers(review.reviewer_ids, review.reviewer_code)
                users = await store.unsettled_users(connection, review.id)
                people = People(installation.policy.takeover_days)
                ids = (await asked.undecidable(connection, policy, people, now, users)).ids
                if count := await store.count_undecidable(connection, review.id, ids):
                    stuck.append(sentence("items_of_review", review=name, count=count))
    if not stuck and not late:
        return ok(sentence("reviews_under_way", count=len(under_way)))
    faults = [sentence("reviews_not_closed", reviews=few_of(late))] if late else []
    faults += [sentence("reviews_without_reviewer", reviews=few_of(stuck))] if stuck else []
    message = faults[0] if len(faults) == 1 else sentence("both_findings", first=faults[0], second=faults[1])
    return warning(message, sentence("unblock_reviews"))


async def unused_rights(installation: Installation) -> Finding:
    """An unused right serves only an attacker."""
    since = first_day(DAYS)
    async with installation.records() as connection:
        recorded = await permission_uses.recorded_since(connection)
        assignments = await idle_assignments(connection, since)
        keys = (await unused_keys(connection, since, page=1, size=1)).total
    if recorded is None or recorded.date() >= since:
        if recorded is None:
            return ok(sentence("uses_unknown", days=DAYS))
        return ok(sentence("uses_unknown_before", since=rfc3339(recorded), days=DAYS))
    if not (assignments or keys):
        return ok(sentence("no_unused_right", days=DAYS))
    return warning(
        sentence("unused_rights", assignments=assignments, days=DAYS, keys=keys),
        sentence("revoke_unused"),
    )


CHECKS: Final = (
    Check("reviews", reviews, after="emergencies"),
    Check("unused-rights", unused_rights, after="dormant-accounts"),
)
"""The checks of reviews."""
