"""The environment of the tests: temporary files in memory, no settings of the developer's installation."""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import MutableMapping
from contextlib import suppress
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Final

from service import settings
from service.kernel.cache_sizes import VARIABLE as TEST_CACHES
from service.settings.loading import OUTSIDE_THE_TABLE

_MEMORY: Final = Path("/dev/shm")
_PREFIX: Final = "pct-"  # short: the paths of sockets have 107 bytes at most
_NEEDED: Final = 8 * 1024**3
"""Bytes: several times what a run of all tests takes."""


def keep_in_memory(environ: MutableMapping[str, str]) -> None:
    """Let temporary files go to memory, if there is enough and ``environ`` does not name another place.

    The processes that this one starts use the same folder. It is removed when this process ends; that of a
    process that was killed is removed by the next one.
    """
    if "TMPDIR" in environ or not _is_roomy():
        return
    for left in _MEMORY.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            lock = _locked(left)
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)
    new = Path(tempfile.mkdtemp(dir=_MEMORY))
    new.chmod(0o1777)  # tests also run as other users
    _locked(new)  # until this process ends
    # Now it has the lock, others may find it.
    folder = new.rename(_MEMORY / f"{_PREFIX}{new.name.removeprefix('tmp')}")
    # After the folders that multiprocessing makes; a fork of this process removes nothing.
    Finalize(None, shutil.rmtree, (folder, True), exitpriority=-1_000)
    environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None


def _locked(folder: Path) -> int:
    """Return a descriptor that holds the lock of ``folder``; OSError if it is not ours, or another has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _is_roomy() -> bool:
    """True if the directory in memory, the machine and the container each have enough left."""
    try:
        room = os.statvfs(_MEMORY)
        (available,) = re.findall(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    except (OSError, ValueError):
        return False
    left = [room.f_bavail * room.f_frsize, int(available) * 1024]
    with suppress(OSError, ValueError):  # no container, or one without a limit
        group = Path("/sys/fs/cgroup")
        left.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    return os.access(_MEMORY, os.W_OK | os.X_OK) and min(left) >= _NEEDED


def forget_settings(environ: MutableMapping[str, str]) -> None:
    """Remove the variables of all settings, and those by which libpq completes a URL of the database."""
    known = OUTSIDE_THE_TABLE.union(*(row.variables for row in settings.table())) - {TEST_CACHES}
    for name in [name for name in environ if name in known or name.startswith("PG")]:
        del environ[name]
