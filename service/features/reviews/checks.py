"""Doctor checks of reviews and unused rights."""

from datetime import UTC, datetime, timedelta
from typing import Final

from service.administration.people import People
from service.authz.publishing.publisher import derived_policy
from service.features.permission_use import store as permission_uses
from service.features.reviews import store
from service.features.reviews.population import Reviewers
from service.features.reviews.store_unused import idle_assignments, unused_keys
from service.features.reviews.unused import DAYS, first_day
from service.kernel.clock import rfc3339
from service.kernel.text import counted
from service.operator.findings import Check, Finding, Installation, few, ok, warning

_CLOSES_WITHIN: Final = timedelta(minutes=10)


async def reviews(installation: Installation) -> Finding:
    """Undecidable items stay as they are, and a review that is over but not closed applies nothing."""
    now = datetime.now(UTC)
    stuck: list[str] = []
    late: list[str] = []
    async with installation.records() as connection:
        under_way = await store.under_way(connection)
        policy = None
        for review in under_way:
            name = f"{review.title} (review {review.id})"
            if (review.close_time or review.deadline) < now - _CLOSES_WITHIN:
                late.append(name)
            elif review.state == "open":
                policy = policy or await derived_policy(
                    connection, installation.policy, installation.in_force
                )
                asked = Reviewers(review.reviewer_ids, review.reviewer_code)
                users = await store.unsettled_users(connection, review.id)
                people = People(installation.policy.takeover_days)
                ids = (await asked.undecidable(connection, policy, people, now, users)).ids
                if count := await store.count_undecidable(connection, review.id, ids):
                    stuck.append(f"{name}: {counted(count, 'item')}")
    if not stuck and not late:
        return ok(f"{counted(len(under_way), 'review')} under way, and each item has an eligible reviewer")
    faults = [f"over, but not closed: {few(late)}"] if late else []
    faults += [f"no eligible reviewer: {few(stuck)}"] if stuck else []
    return warning(
        "; ".join(faults),
        "check the job review-ends; grant other people the codes of the review, or edit the roles by hand",
    )


async def unused_rights(installation: Installation) -> Finding:
    """An unused right serves only an attacker."""
    since = first_day(DAYS)
    async with installation.records() as connection:
        recorded = await permission_uses.recorded_since(connection)
        assignments = await idle_assignments(connection, since)
        keys = (await unused_keys(connection, since, page=1, size=1)).total
    if recorded is None or recorded.date() >= since:
        known = "" if recorded is None else f" since {rfc3339(recorded)}"
        return ok(f"not known yet: uses are recorded{known}, and this check covers {DAYS} days")
    if not (assignments or keys):
        return ok(f"all users with a role and all API keys were active within {DAYS} days")
    return warning(
        f"{counted(assignments, 'assignment')} of users who have used nothing for {DAYS} days, and "
        f"{counted(keys, 'API key')} unused for as long",
        "portcullis policy unused lists them; revoke them",
    )


CHECKS: Final = (
    Check("reviews", reviews, after="emergencies"),
    Check("unused-rights", unused_rights, after="dormant-accounts"),
)
"""The checks of reviews."""
