"""Finds the processes that work in a directory, in /proc.

A server's working directory is its data directory, so this finds the server and all its children, even if
their parent was killed. It needs no pid file, whose number may have been reused.
"""

import os
import signal
import time
from pathlib import Path

_PATIENCE = 5.0  # seconds between the first signal and SIGKILL
_STILL = "TZX"  # stopped, or ended


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


def freeze_all(directory: Path, program: str) -> None:
    """Stop what is at work in ``directory`` (SIGSTOP); return once all of it has stopped.

    A child that a process makes before it stops is found by the next look. TimeoutError after 5 s.
    """
    deadline = time.monotonic() + _PATIENCE
    while running := [pid for pid in at_work_in(directory, program) if not has_stopped(pid)]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{program} in {directory} does not stop: {running}")
        send(running, signal.SIGSTOP)
        time.sleep(0.001)


def has_stopped(pid: int) -> bool:
    """Return True when every thread of a process is stopped by a signal, or the process has ended.

    ``kill`` returns before that, and a thread that has not stopped yet may still answer: proc_pid_stat(5).
    """
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return all(_state(thread) in _STILL for thread in threads)
    except FileNotFoundError:
        return not Path(f"/proc/{pid}").exists()


def end_all(directory: Path, program: str) -> None:
    """End the processes of an earlier owner of ``directory``: SIGQUIT first, SIGKILL after 5 seconds."""
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


def _state(entry: Path) -> str:
    # The name before the state is in parentheses and may hold any character.
    return (entry / "stat").read_text().rpartition(") ")[2][:1]


def _is_at_work(entry: Path, target: Path, program: str) -> bool:
    try:
        name = (entry / "comm").read_text().strip()
        return name == program and (entry / "cwd").readlink() == target
    except OSError:
        return False  # it has ended, or belongs to another user
