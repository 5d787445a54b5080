"""Whether files can be read and written: for the readiness check."""

from __future__ import annotations

import asyncio
import errno
import tempfile
from pathlib import Path
from typing import Final

from service.errors import Unavailable
from service.files.object_store import ObjectStore
from service.kernel.health import Health, State

_TRIED: Final = 65_536  # bytes
_REFUSED: Final = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


class FilesCheck:
    """Looks at ``objects``; in a local ``directory`` it writes a file without a name."""

    def __init__(self, objects: ObjectStore, directory: Path | None) -> None:
        self._objects = objects
        self._directory = directory
        self._writing: asyncio.Future[State] | None = None

    async def health(self) -> Health:
        """Return how the store fares; raises Unavailable.

        ``read_only``: the local directory is full or may not be written. ``degraded``: the store answers,
        and the last object that was put failed less than a minute ago. Trying a write costs money in S3.
        """
        await self._objects.ping()
        state: State = "up" if self._directory is None else await self._try_writing(self._directory)
        if state == "up" and self._objects.refused_lately:
            state = "degraded"
        return Health(state, {"store": self._objects.description})

    async def _try_writing(self, directory: Path) -> State:
        """Write in a thread; as long as one hangs no second one is started."""
        if self._writing is not None and not self._writing.done():
            raise Unavailable("The directory of files does not answer")
        self._writing = asyncio.get_running_loop().run_in_executor(None, _write, directory)
        return await asyncio.shield(self._writing)


def _write(directory: Path) -> State:
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            if file.write(bytes(_TRIED)) < _TRIED:
                return "read_only"  # the disk has room for a part of it only
    except OSError as error:
        if error.errno in _REFUSED:
            return "read_only"
        raise
    return "up"
