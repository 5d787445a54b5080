"""The lease of a follower, by a clock that nobody can set; and the hub's time by the same clock."""

import time
from collections.abc import Callable
from typing import Final

from service.kernel.synchronized import SynchronizedClock

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
DEFAULT_BOUND: Final = 2.0
"""Seconds from the sending of a renewal until what it has answered counts no more."""


def since_boot() -> float:
    """Return the seconds since the machine was started; those asleep count where the system tells them."""
    return time.clock_gettime(_CLOCK)


class Lease:
    """Until when a follower may decide by what it has: ``bound`` seconds from the sending of a renewal."""

    __slots__ = ("_clock", "bound", "sent", "until")

    def __init__(self, bound: float = DEFAULT_BOUND, clock: Callable[[], float] = since_boot) -> None:
        self.bound = bound
        self._clock = clock
        self.sent = float("-inf")
        self.until = float("-inf")

    def renewed(self, sent: float) -> None:
        """Take the whole answer to a renewal that was sent at ``sent``; an older one changes nothing."""
        if sent > self.sent:
            self.sent, self.until = sent, sent + self.bound

    def holds(self) -> bool:
        """Whether it may decide now."""
        return self._clock() < self.until

    @property
    def age(self) -> float:
        """Seconds since the renewal on which all rests was sent; infinity before the first."""
        return self._clock() - self.sent

    def give_up(self) -> None:
        """End it: what is known has turned out to be wrong."""
        self.sent = self.until = float("-inf")


class HubTime(SynchronizedClock):
    """The hub's time; the wall clock of this machine has no part in it. 0 before the first answer."""

    def __init__(self, clock: Callable[[], float] = since_boot) -> None:
        super().__init__(wall=lambda: float("-inf"), steady=clock)
        self._clock = clock

    def now(self) -> float:
        """Return the hub's time in seconds since the epoch."""
        return 0.0 if self.since_boot is None else super().now()

    def when(self, instant: float) -> float:
        """Return at which time since boot the hub's time will be ``instant``; infinity stays."""
        return instant - (self.since_boot or 0.0)
