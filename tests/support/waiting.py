"""Waiting for what happens elsewhere, and servers that are really away for a while."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from service.features.embedded.program import has_stopped
from service.features.embedded.server import Server


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


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    """Stop a server, and start it again at the end."""
    server.stop()
    try:
        yield
    finally:
        server.start()


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    """Keep a server from answering, while it holds its connections."""
    server.pause()
    try:
        yield
    finally:
        server.resume()
