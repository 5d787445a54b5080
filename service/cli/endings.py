"""Ends of commands that are interrupted, or whose reader has gone."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, TextIO

from service.kernel.text import printable

INTERRUPTED: Final = 128 + signal.SIGINT
UNREAD: Final = 128 + signal.SIGPIPE
"""The exit statuses that shells use for these signals."""

_ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Have SIGTERM and SIGHUP interrupt the block as SIGINT does, so that it cleans up.

    Then the signal ends the process, as it would have at once. Ignored signals stay ignored (nohup(1)).
    """
    caught: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):  # asyncio's cancels the task that runs
            handler(signal.SIGINT, frame)
        else:  # a shell ignores it for what runs in the background
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        if caught:
            signal.raise_signal(caught[0])


@contextmanager
def flushed() -> Iterator[None]:
    """Flush the output of the block at its end: a fault of standard output is a fault of the command.

    Raises OSError. Unwritable output is discarded; otherwise the interpreter would report it at its exit.
    """
    try:
        yield
    finally:
        faults = [fault for stream in (sys.stderr, sys.stdout) if (fault := _flushed(stream)) is not None]
        if faults:
            raise faults[-1]


def _flushed(stream: TextIO | None) -> OSError | None:
    """Flush the stream; on an error return it, and discard the remaining output."""
    if stream is None:  # closed by the parent process
        return None
    try:
        stream.flush()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        return error
    return None


def in_words(error: OSError) -> str:
    """Return the system's message about a file, or about the standard output."""
    reason = error.strerror or str(error)
    return f"{printable(os.fsdecode(error.filename))}: {reason}" if error.filename else reason
