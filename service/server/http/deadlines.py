"""Time limits of a connection in each phase.

Connections have no timers: the worker checks all of them once a second. A deadline is up to a second late,
and a request only costs storing its phase.
"""

from enum import Enum
from typing import NamedTuple


class Limits(NamedTuple):
    """Times in seconds; ``rate`` is the lowest rate of a body or a blocked answer, in bytes per second."""

    head: float
    body: float
    write: float
    keep_alive: float
    rate: int


class Phase(Enum):
    """The phase of a connection: the event that it waits for."""

    HEAD = 1  # the rest of a head, or a first byte
    BODY = 2
    BUSY = 3  # the application
    IDLE = 4  # another request


class Overdue(Enum):
    """A time limit that was exceeded."""

    REQUEST = 1
    IDLE = 2
    READER = 3


class Deadlines:
    """The times of one connection, in seconds of the loop's clock. ``taken`` counts the received bytes.

    Any phase but that of a body may also be entered by setting ``phase``, and ``since`` to the time.
    """

    __slots__ = (
        "_blocked",
        "_blocked_bytes",
        "_limits",
        "_seen",
        "_window",
        "_window_bytes",
        "phase",
        "since",
        "taken",
    )

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self.taken = 0
        self._blocked: float | None = None
        self._blocked_bytes = 0
        self.begin(Phase.HEAD, now)

    def begin(self, phase: Phase, now: float) -> None:
        """Enter ``phase`` at the time ``now``."""
        self.phase = phase
        self.since = now
        if phase is Phase.BODY:
            self._seen = self.taken
            self._open_window(now)

    def overdue(self, now: float, *, paused: bool, unsent: int) -> Overdue | None:
        """Return the exceeded time limit, or None. Call it about once a second.

        ``paused``: the service itself has stopped reading, so the client is not late. ``unsent`` is the
        number of bytes that wait for the client.
        """
        if self._is_blocked(now, unsent):
            return Overdue.READER
        if self.phase is Phase.BUSY:
            return None
        if self.phase is Phase.BODY:
            return Overdue.REQUEST if self._is_body_late(now, paused) else None
        if self.phase is Phase.IDLE:
            return Overdue.IDLE if now - self.since > self._limits.keep_alive else None
        if now - self.since <= self._limits.head:
            return None
        return Overdue.REQUEST if self.taken else Overdue.IDLE

    def _is_body_late(self, now: float, paused: bool) -> bool:
        if paused or self.taken != self._seen:
            self.since = now
            self._seen = self.taken
        if paused:
            self._open_window(now)
            return False
        if now - self.since > self._limits.body:
            return True
        if (length := now - self._window) < self._limits.body:
            return False
        slow = self.taken - self._window_bytes < self._limits.rate * length
        self._open_window(now)
        return slow

    def _open_window(self, now: float) -> None:
        """Restart the measurement of the rate."""
        self._window = now
        self._window_bytes = self.taken

    def _is_blocked(self, now: float, unsent: int) -> bool:
        """True if the client takes its answer too slowly.

        More unsent bytes than before mean that some were taken: the application waits while much is unsent.
        """
        if not unsent:
            self._blocked = None
            return False
        if self._blocked is None or unsent > self._blocked_bytes:
            self._blocked, self._blocked_bytes = now, unsent
            return False
        if (length := now - self._blocked) <= self._limits.write:
            return False
        slow = self._blocked_bytes - unsent < self._limits.rate * length
        self._blocked, self._blocked_bytes = now, unsent
        return slow
