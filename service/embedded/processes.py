"""The processes at work in a directory, found in /proc.

A server's working directory is its data directory, so this finds the server and all its children,
also those whose parent was killed, without trusting a pid file whose number may have been reused.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

_PATIENCE = 5.0  # seconds between asking and killing


def at_work_in(directory: Path, program: str) -> list[int]:
    """Return the ids of the processes of ``program`` whose working directory is ``directory``."""
    target = directory.resolve()
    entries = (entry for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return sorted(int(entry.name) for entry in entries if _is_at_work(entry, target, program))


def send(pids: list[int], signal_number: int) -> None:
    """Send a signal to each process that still exists."""
    for pid in pids:
        try:
            os.kill(pid, signal_number)
        except ProcessLookupError:
            continue


def end_all(directory: Path, program: str) -> None:
    """End what an earlier owner of ``directory`` left: ask with SIGQUIT, kill after some seconds."""
    deadline = time.monotonic() + _PATIENCE
    asked: set[int] = set()
    while pids := at_work_in(directory, program):
        late = time.monotonic() > deadline
        send(
            pids if late else [pid for pid in pids if pid not in asked],
            signal.SIGKILL if late else signal.SIGQUIT,
        )
        asked.update(pids)
        time.sleep(0.02)


def _is_at_work(entry: Path, target: Path, program: str) -> bool:
    try:
        name = (entry / "comm").read_text().strip()
        return name == program and (entry / "cwd").readlink() == target
    except OSError:
        return False  # it has ended, or it is another user's
