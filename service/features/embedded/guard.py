"""A script that executes another program, which then ends together with its parent.

The supervising thread runs it as ``guard.py SIGNAL PARENT PROGRAM …``. The kernel clears the parent-death
signal when credentials change. The script therefore sets it after ``unshare`` or ``setpriv`` and before the
server. It survives ``exec``.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Request ``SIGNAL`` for the death of ``PARENT``, then exec ``PROGRAM``; exit if it is already dead."""
    death_signal, parent, *command = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() == int(parent):  # else it died before the request
        os.execv(command[0], command)  # noqa: S606 - this script is replaced by the server


if __name__ == "__main__":
    main()
