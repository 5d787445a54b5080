"""The cleanup of files as a job."""

from service.features.files.orphan_cleanup import LONGEST, OrphanCleanup
from service.files.object_store import object_store
from service.jobs.runner import Job
from service.records.database.transactions import Database
from service.settings import Settings


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the jobs."""
    objects = object_store(settings.objstore, settings.server.data / "files")

    async def clean_up_orphans(database: Database) -> str:
        deleted = await OrphanCleanup(database, objects).once()
        return "another sweep is running" if deleted is None else f"{deleted} objects deleted"

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
