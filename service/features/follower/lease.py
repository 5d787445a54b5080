"""The lease of a follower, by a clock that cannot be set; and the hub's time by the same clock."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from service.kernel.synchronized import SynchronizedClock

T = TypeVar("T")

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
DEFAULT_BOUND: Final = 2.0
"""Seconds from the sending of a renewal until its answer expires."""


def since_boot() -> float:
    """Return the seconds since boot; suspended time counts if the system supports it."""
    return time.clock_gettime(_CLOCK)


class Lease:
    """Permission to decide by the followed data until ``bound`` seconds after the sending of a renewal."""

    __slots__ = ("_clock", "bound", "sent", "until")

    def __init__(self, bound: float = DEFAULT_BOUND, clock: Callable[[], float] = since_boot) -> None:
        self.bound = bound
        self._clock = clock
        self.sent = float("-inf")
        self.until = float("-inf")

    def renewed(self, sent: float) -> None:
        """Extend the lease by the complete answer to a renewal sent at ``sent``; ignore an older one."""
        if sent > self.sent:
            self.sent, self.until = sent, sent + self.bound

    def holds(self) -> bool:
        """Return true if the lease is valid."""
        return self._clock() < self.until

    def answered(self, answer: Callable[[], T]) -> T:
        """Return ``answer()``; call it again, without a lease, if the lease expired meanwhile."""
        held = self.holds()
        given = answer()
        return answer() if held and not self.holds() else given  # the process may have been stopped

    @property
    def age(self) -> float:
        """Return the seconds since the last answered renewal was sent; infinity before the first."""
        return self._clock() - self.sent

    def give_up(self) -> None:
        """End the lease, because the data is wrong."""
        self.sent = self.until = float("-inf")


class HubTime(SynchronizedClock):
    """The hub's time, independent of this machine's wall clock. 0 before the first answer."""

    def __init__(self, clock: Callable[[], float] = since_boot) -> None:
        super().__init__(wall=lambda: float("-inf"), steady=clock)
        self._clock = clock

    def now(self) -> float:
        """Return the hub's time in seconds since the epoch."""
        return 0.0 if self.since_boot is None else super().now()

    def when(self, instant: float) -> float:
        """Convert an instant of the hub's time to time since boot; infinity stays infinity."""
        return instant - (self.since_boot or 0.0)
