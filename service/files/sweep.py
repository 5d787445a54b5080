"""The sweep: deletes what uploads and deletions have left behind, in one worker at a time."""

from __future__ import annotations

import asyncio
import secrets
from datetime import timedelta
from typing import Final

import structlog

from service.files.object_store import ObjectStore
from service.records.database.transactions import Database
from service.records.files.orphans import Orphans, begin_sweep

_AT_ONCE: Final = 200
_LONGEST: Final = 600.0
"""Seconds that one sweep may take; the next one continues."""

_log = structlog.get_logger()


class Sweep:
    """Deletes discarded files, abandoned uploads, and objects without a file.

    An upload creates its row before its object, and renews it, so a running upload loses neither. Objects are
    listed before their rows are read, so that an object created in between is not deleted.
    """

    def __init__(self, database: Database, objects: ObjectStore, every: int) -> None:
        """``every`` is the interval in seconds; 0 turns the sweep off."""
        self._database = database
        self._objects = objects
        self._every = timedelta(seconds=every)

    async def run(self) -> None:
        """Sweep at intervals until cancelled."""
        if not self._every:
            return
        seconds = self._every.total_seconds()
        while True:
            # At a random time, so that workers and nodes don't ask all at once.
            await asyncio.sleep(seconds * (0.1 + 0.2 * secrets.randbelow(1000) / 1000))
            try:
                await self.once()
            except Exception as error:  # noqa: BLE001 - no error may stop the next sweep
                _log.warning("files not swept", reason=type(error).__name__)

    async def once(self) -> int | None:
        """Sweep if due and not running elsewhere; return the number of deleted objects, None if not swept.

        Raises Unavailable. Objects deleted by then stay deleted; the next sweep finds their rows discarded or
        with an expired lease.
        """
        # One transaction on one connection: it holds the lock, and the pool may have no second one.
        async with self._database.transaction(within=_LONGEST) as connection:
            leftovers = await begin_sweep(connection, self._every)
            if leftovers is None:
                return None
            count = await self._clear_discarded(leftovers)
            count += await self._clear_orphans(leftovers)
            count += await self._clear_unfinished(leftovers)
            await leftovers.finish()
        if count:
            _log.info("files swept", objects=count)
        return count

    async def _clear_discarded(self, leftovers: Orphans) -> int:
        count = 0
        while found := await leftovers.discarded(_AT_ONCE):
            for one in found:
                if leftovers.owns(one.key):
                    await self._objects.delete(one.key)
                await leftovers.forget(one.file_id)
            count += len(found)
        return count

    async def _clear_orphans(self, leftovers: Orphans) -> int:
        count = 0
        async for keys in self._objects.keys(leftovers.prefix):
            orphans = await leftovers.without_file(keys)
            for key in orphans:
                await self._objects.delete(key)
            count += len(orphans)
        return count

    async def _clear_unfinished(self, leftovers: Orphans) -> int:
        unfinished = await self._objects.unfinished(leftovers.prefix)
        given_up = await leftovers.without_file({one.key for one in unfinished})
        found = [one for one in unfinished if one.key in given_up]
        for one in found:
            one.remove()
        return len(found)
