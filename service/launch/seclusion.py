"""What keeps a running service to itself: no password in its environment, no file that others may read."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

OWNER_ONLY = 0o077
"""The umask of the launcher, and so of workers and embedded stores: directories 0700, files 0600."""


def forget_variable(name: str) -> None:
    """Take a variable out of the environment of this process, and of those that it starts from now on.

    Its value is overwritten where it was at the start, which is what ``/proc/PID/environ`` shows. Out of
    reach are copies of others: the shell or container runtime that has set it.
    """
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    address = libc.getenv(os.fsencode(name))
    if address:
        ctypes.memset(address, 0, len(ctypes.string_at(address)))
    os.environ.pop(name, None)


def close_to_others(directory: Path) -> None:
    """Make ``directory`` and all directories in it 0700 and their files 0600, if it exists.

    For what earlier versions wrote. Links are not followed; what is not ours to change stays as it is.
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
    except (FileNotFoundError, PermissionError):  # removed meanwhile, or of another user: doctor tells
        return
