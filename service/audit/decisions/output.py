"""Where the decision log goes: a file that several processes append to, or standard output."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import structlog

from service.audit.export.appended_file import AppendedFile


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


def output_named(output: str | Path) -> Output:
    """Return the output of the setting ``policy.decision_log``, which is not ``off``."""
    return AppendedFile(output) if isinstance(output, Path) else StandardOutput()
