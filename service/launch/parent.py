"""A worker's tie to the launcher: it must not outlive it."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_parent() -> None:
    """Have the kernel send this process SIGTERM when the launcher dies, however that happens.

    Called by a worker from its main thread, once. If the launcher is dead already, the worker ends now. Does
    nothing in a process that no launcher made.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent.pid:  # it died before the request was made
        os.kill(os.getpid(), signal.SIGTERM)
