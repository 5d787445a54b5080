"""Ends a child process together with its launcher."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
from multiprocessing.process import BaseProcess

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_parent() -> None:
    """Send SIGTERM to this process when the launcher dies, or the template that it was forked from.

    However they die: the kernel tells of both. Called once, from the main thread. If the launcher is already
    dead, this process ends now. Does nothing in a process without a launcher.
    """
    launcher = multiprocessing.parent_process()
    if launcher is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # The kernel's signal is about the template, which lives as long as its children do.
    threading.Thread(target=_end_after, args=(launcher,), daemon=True).start()


def _end_after(launcher: BaseProcess) -> None:
    launcher.join()
    os.kill(os.getpid(), signal.SIGTERM)
