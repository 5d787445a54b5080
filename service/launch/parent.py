"""Ends a worker together with its launcher."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_parent() -> None:
    """Make the kernel send SIGTERM to this process when the launcher dies, however that happens.

    Called once, from the main thread. If the launcher is already dead, this process ends now. Does nothing in
    a process without a launcher.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent.pid:  # it died before the request
        os.kill(os.getpid(), signal.SIGTERM)
