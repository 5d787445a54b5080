"""Waiting for what happens elsewhere."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable

from service.embedded.processes import has_stopped


def eventually(holds: Callable[[], bool], *, patience: float = 20.0) -> bool:
    """Ask again and again until ``holds`` is true; False when ``patience`` (seconds) is over."""
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


async def eventually_here(holds: Callable[[], bool], *, patience: float = 20.0) -> bool:
    """Do the same for what happens in the event loop of the test itself."""
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


def freeze(pid: int) -> None:
    """Stop a process (SIGSTOP); return once all its threads have stopped: ``kill`` returns before that."""
    os.kill(pid, signal.SIGSTOP)
    assert eventually(lambda: has_stopped(pid)), f"process {pid} does not stop"
