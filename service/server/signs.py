"""What a worker tells its launcher: that it lives, that it serves, and why it fails."""

from __future__ import annotations

import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic, sleep
from typing import Final

BEAT: Final = 1.0
"""Seconds between two heartbeats of a worker."""
HANGS_AFTER: Final = 15.0
"""Seconds without a heartbeat after which a worker counts as hung and is killed."""

_LIVES = b"."
_SERVES = b"+"
_FAILS = b"!"
_LONGEST: Final = 1000  # bytes of a reason: a pipe takes it as a whole, also from two threads


class Signs:
    """The worker's end of the pipe. A launcher that has ended is told nothing, and this worker ends too."""

    def __init__(self, launcher: Connection) -> None:
        self._launcher = launcher

    def beat(self) -> None:
        """Tell once a second that the process lives, from a thread."""
        threading.Thread(target=self._beat, daemon=True).start()

    def serves(self) -> None:
        """Tell that it accepts connections from now on."""
        self._tell(_SERVES)

    def fails(self, reason: str) -> None:
        """Tell why it ends; ``reason`` is shown to the operator."""
        self._tell(_FAILS + reason.encode(errors="replace")[:_LONGEST])

    def _tell(self, sign: bytes) -> None:
        with suppress(OSError):
            self._launcher.send_bytes(sign)

    def _beat(self) -> None:
        while True:
            self._tell(_LIVES)
            sleep(BEAT)


class Heard:
    """The launcher's end of the pipe, and what was heard so far.

    ``serves`` is True once the worker has accepted connections, ``reason`` why it fails, if it has told that.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._last: float | None = None
        self.serves = False
        self.reason: str | None = None

    @property
    def hangs(self) -> bool:
        """True if no sign came for too long. A worker may take any time until its first one."""
        return self._last is not None and monotonic() - self._last > HANGS_AFTER

    def listen(self) -> None:
        """Read what has arrived."""
        try:
            while self._pipe.poll():
                self._take(self._pipe.recv_bytes())
        except (EOFError, OSError):
            return  # it has ended; its process says so as well

    def close(self) -> None:
        """Close the pipe."""
        self._pipe.close()

    def _take(self, sign: bytes) -> None:
        self._last = monotonic()
        if sign == _SERVES:
            self.serves = True
        elif sign.startswith(_FAILS):
            self.reason = sign.removeprefix(_FAILS).decode(errors="replace")
