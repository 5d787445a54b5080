"""Finds the event of a denial in a file of the decision log."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from service.audit.decision_event import Event, event_in

MOST: Final = 256 * 2**20
"""The last bytes of a file that are searched: half a million events, a second on a slow disk."""
_BLOCK: Final = 4 * 2**20


def denial_in(path: Path, decision_id: str) -> Event | None:
    """Return the latest denial with that id in the file ``path``; None if there is none, or no such file.

    Lines that are no events are passed over. What is no regular file, such as a pipe, is not read.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            return latest_denial(file, decision_id) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def latest_denial(file: IO[bytes], decision_id: str) -> Event | None:
    """Return the same of an open file that can be sought in; raises OSError."""
    for line in _lines_with(file, f'"decision":"{decision_id}"'.encode()):
        event = event_in(line)
        if event is not None and event.outcome == "deny" and event.decision == decision_id:
            return event
    return None


def _lines_with(file: IO[bytes], text: bytes) -> Iterator[bytes]:
    """Yield the lines that contain ``text``, the last one first; a file may grow meanwhile."""
    position = file.seek(0, 2)
    end = max(0, position - MOST)
    rest = b""  # the end of a line that begins in the block before
    while position > end:
        size = min(_BLOCK, position - end)
        position -= size
        file.seek(position)
        block = file.read(size) + rest
        # The first line is whole at the beginning of the file alone.
        begin = 0 if position == 0 else block.find(b"\n") + 1
        rest = block[:begin] or block
        if begin or position == 0:
            yield from _within(block, begin, text)


def _within(block: bytes, begin: int, text: bytes) -> Iterator[bytes]:
    stop = len(block)
    while (position := block.rfind(text, begin, stop)) >= 0:
        start = max(block.rfind(b"\n", begin, position) + 1, begin)
        end = block.find(b"\n", position)
        yield block[start : None if end < 0 else end]
        stop = start
