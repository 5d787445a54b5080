"""The job of dormant accounts."""

from typing import Final

from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.kernel.notify import notices_of
from service.records.database.transactions import Database
from service.settings import Settings

_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the job, which never runs if ``auth.dormant_days`` is 0."""

    async def settle_dormant(database: Database) -> Sentence:
        from service.features.dormant_accounts.settling import settle  # noqa: PLC0415 - it imports Casbin

        return await settle(database, settings, notices_of(settings))

    return (
        Job(
            "dormant-accounts",
            "Notify and then disable accounts unused for `auth.dormant_days`",
            settle_dormant,
            _DAY if settings.auth.dormant_days else None,
            retry=_HOUR,
            after="expired-links",
        ),
    )
