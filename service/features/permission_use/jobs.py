"""The job that deletes old uses."""

from typing import Final

from service.features.permission_use import store
from service.features.permission_use.sentences import sentence
from service.jobs.housekeeping import forget_in_portions
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Database
from service.settings import Settings

_DAY: Final = 86_400.0


def jobs(_settings: Settings) -> tuple[Job, ...]:
    """Return the job."""
    help_text = "Delete recorded use of permissions after 25 months"
    return (Job("old-uses", help_text, forget_uses, _DAY, after="log-maintenance"),)


async def forget_uses(database: Database) -> Sentence:
    """Delete the recorded uses of months that are no longer kept. Raises Unavailable."""
    return sentence("uses_deleted", count=await forget_in_portions(database, store.forget_old))
