"""Where the decision log goes: a file that several processes append to, or standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import structlog

_MODE: Final = 0o600


class Output(Protocol):
    """Takes whole lines, each with its line feed."""

    def write(self, lines: Sequence[bytes]) -> int:
        """Write ``lines``; return how many are there as a whole. Raises OSError if none was written."""

    def close(self) -> None:
        """Release what is open."""


class StandardOutput:
    """Standard output, between the lines of the log."""

    def __init__(self) -> None:
        # The same lock as the log: lines of both never mix.
        self._logger = structlog.BytesLogger(sys.stdout.buffer)

    def write(self, lines: Sequence[bytes]) -> int:
        """Write each line by itself: a pipe takes 4 KiB as a whole, also from several processes."""
        for line in lines:
            self._logger.msg(line.removesuffix(b"\n"))
        return len(lines)

    def close(self) -> None:
        """Leave it open."""


class AppendedFile:
    """A file of mode 0600, created if missing. Opened again after somebody has moved or removed it.

    Several processes may append to it: the kernel puts each piece at the end as a whole.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._torn = False

    def write(self, lines: Sequence[bytes]) -> int:
        """Write ``lines`` in one piece. A full disk may cut it off: then a line is there in part."""
        file = self._current()
        start = b"\n" if self._torn else b""  # a line that was cut off must not spoil the next one
        text = start + b"".join(lines)
        written = text[: os.write(file, text)]
        if written:
            self._torn = not written.endswith(b"\n")
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
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _MODE)
        return self._file

    def _is_in_place(self, file: int) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(file))


def output_named(output: str | Path) -> Output:
    """Return the output of the setting ``policy.decision_log``, which is not ``off``."""
    return AppendedFile(output) if isinstance(output, Path) else StandardOutput()
