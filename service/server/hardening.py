"""Requests of a process to the system: memory allocation, protection, and an end with its launcher."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

_PR_SET_THP_DISABLE: Final = 41  # linux/prctl.h

# A password hash needs 19 MiB for some milliseconds. By default each thread keeps that memory in an arena of
# its own. Mapped anew for each hash it is returned at once, but the kernel clears 4,865 pages each time, half
# the time of the hash itself. So the memory stays in one arena of the process, in huge pages. It is returned
# after some seconds without a hash (``authn.passwords``).
MALLOC: Final[Mapping[str, str]] = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(32 * 1024 * 1024),  # bytes; glibc has this limit
    "MALLOC_TRIM_THRESHOLD_": str(128 * 1024 * 1024),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # since glibc 2.35: madvise(2) for transparent huge pages
}
"""Variables in the environment of a worker, unless the operator has set them (mallopt(3), glibc §39.2)."""


def use_huge_pages(*, enabled: bool) -> None:
    """Enable or disable huge pages for this process and its later forks (prctl(2)).

    Has an effect on Linux only.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_THP_DISABLE, int(not enabled), 0, 0, 0)


_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_parent() -> None:
    """Send SIGTERM to this process when the launcher or its parent template dies.

    The kernel reports both, after any kind of death. Call it once, from the main thread. If the launcher is
    already dead, this process ends now. Does nothing in a process without a launcher.
    """
    launcher = multiprocessing.parent_process()
    if launcher is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # The kernel's signal is about the template, which lives as long as its children do.
    threading.Thread(target=_end_after, args=(launcher,), daemon=True).start()


def _end_after(launcher: BaseProcess) -> None:
    launcher.join()
    os.kill(os.getpid(), signal.SIGTERM)


OWNER_ONLY = 0o077
"""The umask of the launcher, workers and embedded stores: directories 0700, files 0600."""


def forget_variable(name: str) -> None:
    """Remove a variable from the environment of this process and of its future children.

    Its original value, which ``/proc/PID/environ`` shows, is overwritten. Copies in the shell or container
    runtime that set it remain.
    """
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    address = libc.getenv(os.fsencode(name))
    if address:
        ctypes.memset(address, 0, len(ctypes.string_at(address)))
    os.environ.pop(name, None)


def close_to_others(directory: Path) -> None:
    """Set ``directory`` and all directories in it to mode 0700 and their files to 0600, if it exists.

    For files that earlier versions wrote. Links are not followed; files of other users are left unchanged.
    """
    if not directory.is_dir() or directory.is_symlink():
        return
    _close(directory, 0o700)
    for folder, below, names in os.walk(directory):
        for name in below:
            _close(Path(folder, name), 0o700)
        for name in names:
            _close(Path(folder, name), 0o600)


def _close(path: Path, mode: int) -> None:
    try:
        if not path.is_symlink() and path.stat().st_mode & OWNER_ONLY:
            path.chmod(mode)
    except (FileNotFoundError, PermissionError):  # removed meanwhile, or another user's: doctor reports it
        return
