"""Messages between the launcher and its workers: heartbeats, readiness, failures, and the order to stop."""

import signal
import threading
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from time import monotonic, sleep
from typing import Final

from service.server.shares import SharedNumbers
from service.settings import Settings

BEAT: Final = 1.0
"""Seconds between two heartbeats of a worker."""
HANGS_AFTER: Final = 15.0
"""Seconds without a heartbeat after which a worker counts as hung and is killed."""

_LIVES = b"."
_SERVES = b"+"
_FAILS = b"!"
_LONGEST: Final = 1000  # bytes of a reason: a pipe takes it as a whole, also from two threads


class Signs:
    """The worker's end of the pipe. Messages to an ended launcher are lost, and this worker ends too."""

    def __init__(self, launcher: Connection) -> None:
        self._launcher = launcher

    def beat(self) -> None:
        """Send a heartbeat once a second, from a thread."""
        threading.Thread(target=self._beat, daemon=True).start()

    def serves(self) -> None:
        """Report that this worker accepts connections."""
        self._tell(_SERVES)

    def fails(self, reason: str) -> None:
        """Report the ``reason`` why this worker ends, for the operator."""
        self._tell(_FAILS + reason.encode(errors="replace")[:_LONGEST])

    def _tell(self, sign: bytes) -> None:
        with suppress(OSError):
            self._launcher.send_bytes(sign)

    def _beat(self) -> None:
        while True:
            self._tell(_LIVES)
            sleep(BEAT)


class Heard:
    """The launcher's end of the pipe, and the messages received so far.

    ``serves`` is True once the worker accepts connections; ``reason`` is the reported reason of its failure.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._last: float | None = None
        self.serves = False
        self.reason: str | None = None

    @property
    def hangs(self) -> bool:
        """True if the last sign of life is too old. The first sign has no deadline."""
        return self._last is not None and monotonic() - self._last > HANGS_AFTER

    def listen(self) -> None:
        """Read the received messages."""
        try:
            while self._pipe.poll():
                self._take(self._pipe.recv_bytes())
        except (EOFError, OSError):
            return  # it has ended; its process says so as well

    def close(self) -> None:
        self._pipe.close()

    def _take(self, sign: bytes) -> None:
        self._last = monotonic()
        if sign == _SERVES:
            self.serves = True
        elif sign.startswith(_FAILS):
            self.reason = sign.removeprefix(_FAILS).decode(errors="replace")


_RUN, _STOP, _SKIP_GRACE, _SKIP_DRAIN = range(4)

GRACE: Final = 5.0
"""For load balancers to notice, if `server.stop_grace` is not set."""
DRAIN: Final = 10
"""For requests in flight, after the listener is closed."""
STOP_MARGIN: Final = 10
"""For a worker to disconnect from its stores, after its grace and its drain."""


class StopOrder:
    """The order to stop, in memory that the launcher and its workers share; at first there is none.

    SIGINT skips the grace, and a second one the drain. An order is never taken back.
    """

    def __init__(self) -> None:
        self._level: Final = SharedNumbers(1, _RUN)

    def give(self, number: int) -> None:
        """Apply the signal ``number``: SIGTERM, SIGHUP, or SIGINT."""
        self._level[0] = _after(self._level[0], number)

    @property
    def is_given(self) -> bool:
        """True once the service stops."""
        return self._level[0] > _RUN

    @property
    def level(self) -> int:
        """The level of the order: see ``Obedience``."""
        return self._level[0]


class Obedience:
    """The stop level of a worker, by the ``order`` of its launcher and the worker's own signals.

    A terminal sends SIGINT to both, so the higher level counts, not the sum.
    """

    def __init__(self, order: StopOrder) -> None:
        self.order: Final = order
        self._own = _RUN

    def hear(self, number: int) -> None:
        """Note a signal that this worker got."""
        self._own = _after(self._own, number)

    @property
    def skips_grace(self) -> bool:
        """True if no further connections and requests are waited for."""
        return self._level >= _SKIP_GRACE

    @property
    def skips_drain(self) -> bool:
        """True if requests in flight are broken off."""
        return self._level >= _SKIP_DRAIN

    @property
    def _level(self) -> int:
        return max(self._own, self.order.level)


def _after(level: int, number: int) -> int:
    if number == signal.SIGINT:
        return min(max(level, _STOP) + 1, _SKIP_DRAIN)
    return max(level, _STOP)


def with_stop_grace(settings: Settings) -> Settings:
    """Return ``settings`` with `server.stop_grace` filled in; 0 with embedded stores."""
    if settings.server.stop_grace is not None:
        return settings
    grace = GRACE if settings.external else 0.0
    return replace(settings, server=replace(settings.server, stop_grace=grace))


def longest_stop(settings: Settings) -> float:
    """Return the maximum duration of a worker's stop, in seconds."""
    return (settings.server.stop_grace or 0.0) + DRAIN + STOP_MARGIN
