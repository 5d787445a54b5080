"""Freezing processes, and waiting until each of their threads has stopped."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.support.waiting import eventually


def freeze(pids: list[int]) -> None:
    """Stop processes with SIGSTOP, and return when all their threads stand still."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    assert eventually(lambda: all(_stands_still(pid) for pid in pids))


def thaw(pids: list[int]) -> None:
    """Let processes go on."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            continue  # it was killed while it stood still


def _stands_still(pid: int) -> bool:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        states = [(thread / "stat").read_text().rpartition(") ")[2][:1] for thread in threads]
    except OSError:
        return True  # it has ended
    return all(state in "TZ" for state in states)
