"""Protects a running service from other users: no password in its environment, no readable files."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

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
