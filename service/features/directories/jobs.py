"""The job that assigns roles again after a mapping has changed."""

from service.features.directories import store
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.kernel.notify import notices_of
from service.records.database.transactions import Database
from service.settings import Settings


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the jobs of directories."""

    async def update_member_roles(database: Database) -> Sentence:
        from service.features.directories import members  # noqa: PLC0415 - it imports Casbin

        return await members.update_member_roles(database, settings, notices_of(settings))

    return (
        Job(
            "directory-members",
            "Update the roles of directory members after a change of the mapping",
            update_member_roles,
            5.0,
            retry=60.0,
            pending=store.some_wait,
            after="dormant-accounts",
        ),
    )
