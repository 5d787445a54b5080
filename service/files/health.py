"""Readiness check of files: can they be read and written?"""

from __future__ import annotations

import asyncio
import errno
import tempfile
from pathlib import Path
from typing import Final

from service.errors import Unavailable
from service.files.object_store import ObjectStore
from service.kernel.metrics import Health, State

_TRIED: Final = 65_536  # bytes
_REFUSED: Final = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


class FilesCheck:
    """Checks ``objects``; in a local ``directory`` by writing an unnamed temporary file."""

    def __init__(self, objects: ObjectStore, directory: Path | None) -> None:
        self._objects = objects
        self._directory = directory
        self._writing: asyncio.Future[State] | None = None

    async def health(self) -> Health:
        """Return the state of the store; raises Unavailable.

        ``read_only``: the local directory is full or not writable. ``degraded``: the store answers, but the
        last write of an object failed less than a minute ago; a test write would cost money in S3.
        """
        await self._objects.ping()
        state: State = "up" if self._directory is None else await self._try_writing(self._directory)
        if state == "up" and self._objects.refused_lately:
            state = "degraded"
        return Health(state, {"store": self._objects.description})

    async def _try_writing(self, directory: Path) -> State:
        """Write in a thread; never start a second one while the first one hangs."""
        if self._writing is not None and not self._writing.done():
            raise Unavailable("The directory of files does not answer")
        self._writing = asyncio.get_running_loop().run_in_executor(None, _write, directory)
        return await asyncio.shield(self._writing)


def _write(directory: Path) -> State:
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            if file.write(bytes(_TRIED)) < _TRIED:
                return "read_only"  # the disk is nearly full
    except OSError as error:
        if error.errno in _REFUSED:
            return "read_only"
        raise
    return "up"
