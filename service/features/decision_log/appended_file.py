"""A file to which several processes append whole lines."""

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_MODE: Final = 0o600


class AppendedFile:
    """A file of mode 0600, created if missing, and reopened after it was moved or removed.

    Several processes can append to it: the kernel appends each write as a whole. A ``durable`` file must be
    regular, and is synced to disk.
    """

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self._path = path
        self._durable = durable
        self._file: int | None = None
        self._torn = False

    def write(self, lines: Sequence[bytes]) -> int:
        """Write ``lines``, each with its line feed, in one piece; return the number of complete lines.

        A full disk can truncate a line. Raises OSError if nothing was written.
        """
        file = self._current()
        start = b"\n" if self._torn else b""  # a truncated line must not spoil the next one
        text = start + b"".join(lines)
        written = text[: os.write(file, text)]
        if written:
            self._torn = not written.endswith(b"\n")
        if self._durable:
            os.fsync(file)
        return written.removeprefix(start).count(b"\n")

    def close(self) -> None:
        """Close the file; the next ``write`` opens it again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._torn = False

    def _current(self) -> int:
        if self._file is not None and not self._is_in_place(self._file):
            self.close()
        if self._file is None:
            mode = os.O_RDWR if self._durable else os.O_WRONLY
            self._file = os.open(self._path, mode | os.O_APPEND | os.O_CREAT, _MODE)
            if self._durable and not stat.S_ISREG(os.fstat(self._file).st_mode):
                self.close()  # writes to a pipe block, and delivery to its reader is unknown
                raise OSError(errno.EINVAL, "it is no regular file")
            self._torn = self._ends_torn(self._file)
        return self._file

    def _is_in_place(self, file: int) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(file))

    def _ends_torn(self, file: int) -> bool:
        """Return true if a killed process left an incomplete line at the end."""
        if not self._durable:
            return False
        size = os.fstat(file).st_size
        return size > 0 and os.pread(file, 1, size - 1) != b"\n"
