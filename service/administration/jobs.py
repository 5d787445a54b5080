"""The jobs of the service: what comes back, how often, and what each may take.

Commands read the list too, so it does not import the application.
"""

from collections.abc import Iterable
from typing import Final

from service.audit.writing import upkeep_of
from service.jobs.housekeeping import forget_bans
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.feature import insert_after, on_by, provided, sole
from service.records.database.transactions import Database
from service.settings import Settings

_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR


def all_jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the jobs of the installation; the order is that of lists."""

    async def maintain_logs(database: Database) -> Sentence:
        upkeep = upkeep_of(database, settings.oplog, settings.export.hold_days)
        done = await upkeep.today()
        await upkeep.report_heads()
        if not done:
            return sentence("log_partitions_elsewhere")
        return sentence("log_partitions_current")

    async def reseal_all(database: Database) -> Sentence:
        keys = sole("factor-keys").of(settings.auth)
        done = [await reseal(database, keys) for reseal in provided("sealed-secrets").values()]
        links = [await seal(database, keys) for seal in provided("seal-links-anew").values()]
        return sentence("secrets_sealed", parts=[*done, sentence("mail_links_sealed", count=sum(links))])

    trunk = (
        Job(
            "log-maintenance",
            "Create and drop monthly partitions of the logs, and report their heads",
            maintain_logs,
            _HOUR,
        ),
        Job("expired-bans", "Delete expired bans", forget_bans, _DAY),
        Job(
            "factor-keys",
            "Re-encrypt secrets of second factors and links in mails after a rotation of `auth.factor_key`",
            reseal_all,
            _HOUR,
        ),
    )
    return _with_features(trunk, settings)


def _with_features(trunk: Iterable[Job], settings: Settings) -> tuple[Job, ...]:
    """Return the jobs of the trunk and of features, in the order of lists."""
    listed = [*trunk]
    for feature in on_by(settings.features.off):
        for job in feature.part(feature.jobs)(settings) if feature.jobs else ():
            insert_after(listed, job, job.after)
    return tuple(listed)
