"""Room on the disks that this process writes to."""

import asyncio
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

from service.errors import Unavailable
from service.features.operations.sentences import sentence
from service.kernel.metrics import Health
from service.settings import Settings

MIB: Final = 1_048_576
_LOW: Final = 1024 * MIB
_FULL: Final = 64 * MIB

Room = Literal["enough", "low", "none"]


class Disk(NamedTuple):
    """The file system at one place; ``free`` and ``size`` in bytes, ``files`` is the share of free inodes."""

    free: int
    size: int
    files: float = 1.0
    read_only: bool = False

    @property
    def room(self) -> Room:
        """``low`` below 10 % and 1 GiB, or 1 % of the inodes; ``none`` below 1 % and 64 MiB."""
        if self.read_only or self.files <= 0 or self.free < min(self.size / 100, _FULL):
            return "none"
        return "low" if self.files < 1 / 100 or self.free < min(self.size / 10, _LOW) else "enough"


def places(settings: Settings) -> Mapping[str, Path]:
    """Return where this process writes: ``data``, ``decisions`` and ``log``, each only if it is on a disk."""
    paths = {}
    data = settings.server.data
    if not settings.objstore.bucket or (data / "owner").exists():  # files, or embedded stores
        paths["data"] = data
    if settings.policy.decision_log not in ("off", "stdout"):
        paths["decisions"] = Path(settings.policy.decision_log)
    with suppress(OSError, ValueError):  # a closed output
        if stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode):
            paths["log"] = Path(f"/proc/self/fd/{sys.stdout.fileno()}")
    return paths


def disk_at(path: Path) -> Disk:
    """Return the file system of ``path``, or of the nearest folder above it that exists; raises OSError."""
    while not path.exists() and path != path.parent:
        path = path.parent
    stats = os.statvfs(path)
    return Disk(
        free=stats.f_bavail * stats.f_frsize,
        size=stats.f_blocks * stats.f_frsize,
        files=stats.f_favail / stats.f_files if stats.f_files else 1.0,
        read_only=bool(stats.f_flag & os.ST_RDONLY),
    )


class DiskWatch:
    """Looks at the file systems of ``settings`` for one worker."""

    def __init__(self, settings: Settings) -> None:
        self._places = places(settings)
        self._looking: asyncio.Future[dict[str, Disk]] | None = None
        self.disks: Mapping[str, Disk] = {}
        """The file systems that the last look has found, by place."""

    async def health(self) -> Health:
        """Return ``degraded`` for little room, and ``read_only`` for none; raises OSError and Unavailable.

        The details are the free bytes of each place that has no room to spare.
        """
        if self._looking is not None and not self._looking.done():  # a file server that hangs
            raise Unavailable(sentence("file_system_silent"))
        self._looking = asyncio.get_running_loop().run_in_executor(None, self._look)
        self.disks = await asyncio.shield(self._looking)
        rooms = {disk.room for disk in self.disks.values()}
        short = {place: disk.free for place, disk in self.disks.items() if disk.room != "enough"}
        return Health("read_only" if "none" in rooms else "degraded" if "low" in rooms else "up", short)

    def free(self) -> Iterator[tuple[str, int]]:
        """Yield each place with its free bytes, of the last look."""
        for place, disk in self.disks.items():
            yield place, disk.free

    def _look(self) -> dict[str, Disk]:
        return {place: disk_at(path) for place, path in self._places.items()}
