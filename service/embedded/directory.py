"""The data directory: a lock for one owner at a time, and a directory for sockets with short paths."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from service.embedded.ownership import require_own
from service.embedded.privilege import EmbeddedError

_LONGEST_SOCKET_PATH = 107  # bytes; sun_path of unix(7), less its closing NUL
_LONGEST_SOCKET_NAME = 20  # bytes, "/.s.PGSQL.5432.lock"


class DataDirectory:
    """A directory that this process owns until ``release``.

    The lock is the kernel's, so it ends with the process, however that ends. Raises EmbeddedError if
    another process owns the directory, if it can't be written, and if another user could replace what is in
    it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        require_own(self.path)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self.path / "owner", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise EmbeddedError(f"The data directory {self.path} can't be used: {error.strerror}") from error
        self._take()

    def release(self) -> None:
        """Let others own the directory."""
        self._forget_short_sockets()
        os.close(self._lock)

    def subdirectory(self, name: str) -> Path:
        """Return a subdirectory of mode 0700; creates it if necessary."""
        folder = self.path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def sockets(self) -> Path:
        """Return a directory of mode 0700 for unix sockets.

        It is the subdirectory ``sockets``. If that path is too long for a socket, ``sockets`` is a symbolic
        link to a short temporary directory; the one of a killed owner is removed.
        """
        self._forget_short_sockets()
        place = self.path / "sockets"
        if len(os.fsencode(place)) + _LONGEST_SOCKET_NAME <= _LONGEST_SOCKET_PATH:
            return self.subdirectory("sockets")
        short = Path(tempfile.mkdtemp(prefix="portcullis-", dir="/tmp"))  # $TMPDIR may be long too
        place.symlink_to(short)
        return short

    def _forget_short_sockets(self) -> None:
        place = self.path / "sockets"
        if place.is_symlink():
            shutil.rmtree(place.readlink(), ignore_errors=True)
            place.unlink()

    def _take(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._lock, 20, 0).decode(errors="replace").strip()
            os.close(self._lock)
            raise EmbeddedError(
                f"The data directory {self.path} is in use by process {owner}: "
                "stop it, or choose another directory with --data"
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)


def is_owned(path: Path) -> bool:
    """True if a process owns the data directory ``path``; changes nothing."""
    try:
        lock = os.open(path / "owner", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
