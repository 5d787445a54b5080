"""The job that publishes the policy without public access that has ended."""

from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.records import openings
from service.records.database.transactions import Database
from service.settings import Settings


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the job."""

    async def close_ended_openings(database: Database) -> Sentence:
        from service.features.services.ended_openings import close_ended  # noqa: PLC0415 - it imports Casbin

        return await close_ended(database, settings)

    return (
        Job(
            "ended-openings",
            "Publish the policy without public access that has ended",
            close_ended_openings,
            30.0,
            retry=60.0,
            pending=openings.some_ended,
            after="factor-keys",
        ),
    )
