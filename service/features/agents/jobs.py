"""The job that deletes expired delegations."""

from typing import Final

from service.features.agents import store_delegations
from service.features.agents.sentences import sentence
from service.jobs.housekeeping import forget_in_portions
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Database
from service.settings import Settings

_EVERY: Final = 30.0


def jobs(_settings: Settings) -> tuple[Job, ...]:
    """Return the job."""
    return (
        Job(
            "expired-delegations",
            "Delete expired delegations to agents",
            forget_delegations,
            _EVERY,
            after="expired-keys",
        ),
    )


async def forget_delegations(database: Database) -> Sentence:
    """Delete expired delegations, with their approvals. Raises Unavailable."""
    return sentence(
        "delegations_deleted", count=await forget_in_portions(database, store_delegations.forget_expired)
    )
