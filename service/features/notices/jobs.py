"""Jobs of notices and mails: delete old data, and send waiting mails."""

from typing import Final

from service.features.notices import store_notices as notices
from service.features.notices.sending import Sending
from service.features.notices.sentences import sentence
from service.features.second_factors.sealing import FactorKeys
from service.jobs.housekeeping import forget_in_portions
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Database
from service.settings import Settings

_DAY: Final = 86_400.0


async def forget_notices(database: Database) -> Sentence:
    """Delete old notices, and devices last seen long ago. Raises ``Unavailable``."""
    count = await forget_in_portions(database, notices.forget_old)
    return sentence(
        "notices_deleted", notices=count, devices=await forget_in_portions(database, notices.forget_devices)
    )


def jobs(settings: Settings) -> tuple[Job, ...]:
    sending = Sending(settings, FactorKeys.of(settings.auth))
    return (
        Job(
            "old-notices",
            "Delete notices after 180 days, and devices that were not used for a year",
            forget_notices,
            _DAY,
            after="expired-links",
        ),
        Job(
            "mail",
            "Send queued mails, and delete finished mails after 7 days",
            sending.run,
            sending.interval,
            within=sending.within,
            pending=sending.pending,
            after="factor-keys",
            samples=sending.samples,
        ),
    )
