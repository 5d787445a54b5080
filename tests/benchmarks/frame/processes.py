"""Runs a process with all that it starts, and leaves none of them behind."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_GRACE = 20.0
"""Seconds that a process has to end what it started, after SIGTERM."""
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    """Send this process SIGTERM when its parent dies, however that dies."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


@contextmanager
def nothing_left() -> Iterator[None]:
    """Adopt what the children of this process leave behind, and kill it at the end.

    SIGTERM and SIGHUP end the block as Ctrl-C does.
    """
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = {which: signal.signal(which, _interrupt) for which in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        _kill_descendants()
        for which, handler in before.items():
            signal.signal(which, handler)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def ended_within(seconds: float, words: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """Run a program; return its status, or None if it had to be ended after ``seconds``.

    Whatever ends the wait, the program and its descendants have ended when this returns.
    """
    process = subprocess.Popen(words, env=dict(environ), start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            process.kill()
            process.wait()
        _kill_descendants()


def _kill_descendants() -> None:
    """Kill the children of this process until there are none; those of a killed one become its children."""
    while pids := children():
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def children(of: int | None = None) -> list[int]:
    """Return the processes whose parent is ``of``, or this one; also those that have ended unreaped."""
    parent_pid = os.getpid() if of is None else of
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                _state, parent, *_ = (entry / "stat").read_text().rpartition(") ")[2].split()
                if int(parent) == parent_pid:
                    pids.append(int(entry.name))
    return pids
