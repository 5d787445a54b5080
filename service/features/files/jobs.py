"""The cleanup of files as a job."""

from service.features.files.orphan_cleanup import LONGEST, OrphanCleanup
from service.features.files.sentences import sentence
from service.files.object_store import object_store
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Database
from service.settings import Settings


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the jobs."""
    objects = object_store(settings.objstore, settings.server.data / "files")

    async def clean_up_orphans(database: Database) -> Sentence:
        deleted = await OrphanCleanup(database, objects).once()
        return sentence("sweep_elsewhere") if deleted is None else sentence("objects_deleted", count=deleted)

    return (
        Job(
            "file-sweep",
            "Delete discarded files, abandoned uploads and objects without a file",
            clean_up_orphans,
            settings.upload.sweep_interval or None,
            within=LONGEST,
            after="log-maintenance",
        ),
    )
