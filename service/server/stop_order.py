"""How a service stops: the launcher decides, and its workers obey."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Final

from service.server.shared_numbers import SharedNumbers
from service.settings import Settings

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
        """Order what the signal ``number`` asks for: SIGTERM, SIGHUP, or SIGINT."""
        self._level[0] = _after(self._level[0], number)

    @property
    def is_given(self) -> bool:
        """True once the service stops."""
        return self._level[0] > _RUN

    @property
    def level(self) -> int:
        """How far the order goes: see ``Obedience``."""
        return self._level[0]


class Obedience:
    """What a worker does by the ``order`` of its launcher, and by the signals that it gets itself.

    A terminal sends SIGINT to both, so the two are not added: what goes further counts.
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
    """Return how long a worker may take to stop."""
    return (settings.server.stop_grace or 0.0) + DRAIN + STOP_MARGIN
