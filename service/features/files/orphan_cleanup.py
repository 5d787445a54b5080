"""The cleanup: deletes what uploads and deletions have left behind, one at a time."""

from dataclasses import dataclass
from typing import Final

from service.features.files.store import Orphans, begin_cleanup, end_leases, forget
from service.files.object_store import ObjectStore
from service.records.database.transactions import Database

_AT_ONCE: Final = 200
LONGEST: Final = 600.0
"""Seconds that one cleanup may take; the next one continues."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OrphanCleanup:
    """Deletes discarded files, abandoned uploads, and objects without a file.

    An upload creates its row before its object, and renews it, so a running upload loses neither. Objects are
    listed before their rows are read, so that an object created in between is not deleted.
    """

    database: Database
    objects: ObjectStore

    async def once(self) -> int | None:
        """Sweep if no other sweep is running; return the number of deleted objects, None if not swept.

        Raises Unavailable. Deletions until then remain; the next sweep continues with the rest. Takes two
        connections.
        """
        # This transaction holds the lock and reads. Other transactions write, each a batch: an interrupted
        # sweep keeps its completed batches, and row locks are short.
        async with self.database.transaction(within=LONGEST) as connection:
            leftovers = await begin_cleanup(connection)
            if leftovers is None:
                return None
            async with self.database.transaction() as writing:
                await end_leases(writing)
            count = await self._clear_discarded(leftovers)
            count += await self._clear_orphans(leftovers)
            count += await self._clear_unfinished(leftovers)
            await leftovers.finish()
        return count

    async def _clear_discarded(self, leftovers: Orphans) -> int:
        count = 0
        while files := await leftovers.discarded(_AT_ONCE):
            for file in files:
                if leftovers.owns(file.key):
                    await self.objects.delete(file.key)
            async with self.database.transaction() as writing:
                await forget(writing, *[file.file_id for file in files])
            count += len(files)
        return count

    async def _clear_orphans(self, leftovers: Orphans) -> int:
        count = 0
        async for keys in self.objects.keys(leftovers.prefix):
            orphans = await leftovers.without_file(keys)
            for key in orphans:
                await self.objects.delete(key)
            count += len(orphans)
        return count

    async def _clear_unfinished(self, leftovers: Orphans) -> int:
        unfinished = await self.objects.unfinished(leftovers.prefix)
        given_up = await leftovers.without_file({upload.key for upload in unfinished})
        abandoned = [upload for upload in unfinished if upload.key in given_up]
        for upload in abandoned:
            upload.remove()
        return len(abandoned)
