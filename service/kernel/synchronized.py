"""The session store's time, estimated by this machine between two questions to the store."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

from service.kernel.clock import from_seconds

MOST_BEHIND: Final = 60.0
"""Seconds that the store's clock may be behind this machine's before it is no longer trusted."""
MOST_AHEAD: Final = 300.0
"""The longest time in seconds that this clock stands still after the store's clock was set back."""

Clock = Callable[[], float]
"""Returns the current time in seconds."""


class SynchronizedClock:
    """The store's time, by which all nodes judge tokens: Cristian's algorithm over the clock since boot.

    It never runs backwards, so an expired token stays expired, unless its latest time is more than
    ``MOST_AHEAD`` ahead of both clocks: then the store's clock was wrong and has been corrected. It is never
    more than ``MOST_BEHIND`` behind this machine's clock, whatever the store says: tokens would live on.
    Before the store's first answer it is this machine's clock.
    """

    def __init__(self, *, wall: Clock | None = None, steady: Clock | None = None) -> None:
        """``wall`` is this machine's clock (``time.time``), ``steady`` one that can't be set.

        By default that is the time since boot, which runs on while the machine is suspended.
        """
        self._own_wall, self._own_steady = wall, steady
        self._offset: float | None = None  # the store's time less the steady clock's
        self._latest = 0.0

    def begin(self) -> float:
        """Return the time before a question is sent, for ``observe``."""
        return self._steady()

    def observe(self, answered: float, began: float) -> None:
        """Take the store's time ``answered``, in seconds, to a question sent at ``began``.

        The store read its clock between then and now. The first answer counts as read halfway; a later one
        moves the offset only as far as necessary to make it possible, so that a slow answer does not spoil
        the precision of a fast one.
        """
        least, most = answered - self._steady(), answered - began
        if self._offset is None:
            self._offset = (least + most) / 2
        else:
            self._offset = min(max(self._offset, least), most)
        self.now()

    def now(self) -> float:
        """Return the time by which tokens are judged, in seconds since the epoch."""
        # Read here, not by ``_wall`` and ``_steady``: each request asks for this.
        moment = time.time() if self._own_wall is None else self._own_wall()
        if self._offset is not None:
            steady = (
                time.clock_gettime(time.CLOCK_BOOTTIME) if self._own_steady is None else self._own_steady()
            )
            moment = max(steady + self._offset, moment - MOST_BEHIND)
        if not moment < self._latest <= moment + MOST_AHEAD:
            self._latest = moment
        return self._latest

    def instant(self) -> datetime:
        """Return ``now`` as an instant: that of which rights are read."""
        return from_seconds(self.now())

    @property
    def offset(self) -> float | None:
        """Seconds that the store's clock is ahead of this machine's; None before its first answer."""
        return None if self._offset is None else self._steady() + self._offset - self._wall()

    @property
    def since_boot(self) -> float | None:
        """The store's time minus the steady clock's, in seconds: it changes when the store's clock is set."""
        return self._offset

    @property
    def lead(self) -> float:
        """Seconds that the time by which tokens are judged is ahead of the store's; normally 0."""
        return 0.0 if self._offset is None else self.now() - self._steady() - self._offset

    def _wall(self) -> float:
        return time.time() if self._own_wall is None else self._own_wall()

    def _steady(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) if self._own_steady is None else self._own_steady()
