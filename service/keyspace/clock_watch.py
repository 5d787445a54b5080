"""Asks the session store for its time every two seconds, and logs when clocks differ."""

import asyncio
from contextlib import suppress
from time import monotonic
from typing import Final

import structlog

from service.errors import Unavailable
from service.kernel.metrics import Health
from service.keyspace.store import SessionStore

EVERY: Final = 2.0
"""Seconds between two questions."""
WARN_EVERY: Final = 300.0
"""Seconds between two warnings for the same cause."""

_log = structlog.get_logger(__name__)


class ClockWatch:
    """Keeps the synchronized clock of ``store`` close to the store's."""

    def __init__(self, store: SessionStore, *, leeway: float, access_timeout: float) -> None:
        """``leeway``: seconds by which clocks may differ; ``access_timeout``: seconds that tokens live."""
        self._store = store
        self._clock = store.synchronized
        self._leeway = leeway
        self._access_timeout = access_timeout
        self._since_boot: float | None = None
        self._warn_again = 0.0
        self._apart = False
        self._was_ahead = False

    async def run(self) -> None:
        """Ask every ``EVERY`` seconds until cancelled; while the store is away, the last offset stays."""
        while True:
            await self.look()
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Ask once, and warn if clocks differ or the store's has been set; raises nothing."""
        with suppress(Unavailable):
            await self._store.clock()
            self._log_step()
            self._log_offset()
            self._log_ahead()

    @property
    def ahead(self) -> float:
        """Seconds from now to the latest instant that the store's clock has written while it was ahead.

        0 if none was found in the last hour.
        """
        seconds = self._store.found_ahead
        return 0.0 if seconds is None else max(0.0, seconds - self._clock.now())

    def health(self) -> Health:
        """Return whether the clocks agree.

        ``degraded`` if this machine's clock, or the time by which tokens are judged, differs from the store's
        by more than the leeway. The same if the store has instants from the future, or has not answered yet.
        ``down`` if a token would be expired at the moment when it is issued.
        """
        offset = self._clock.offset
        lead = self._clock.lead
        ahead = self.ahead
        if offset is None:
            return Health("degraded")
        details = {"offset": round(offset, 6), "lead": round(lead, 6), "ahead": round(ahead, 3)}
        if lead >= self._access_timeout:
            return Health("down", details)
        agree = max(abs(offset), lead) <= self._leeway and not ahead
        return Health("up" if agree else "degraded", details)

    def _log_step(self) -> None:
        before, self._since_boot = self._since_boot, self._clock.since_boot
        if before is None or self._since_boot is None:
            return
        step = self._since_boot - before
        if abs(step) > self._leeway:
            _log.warning("the session store's clock was set", event_type="security", step=round(step, 3))

    def _log_ahead(self) -> None:
        ahead = self.ahead
        if ahead and not self._was_ahead:
            _log.warning(
                "the session store's clock was ahead, and instants that it wrote then are set to now",
                event_type="security",
                ahead=round(ahead, 3),
            )
        self._was_ahead = ahead > 0

    def _log_offset(self) -> None:
        offset = self._clock.offset or 0.0
        apart = abs(offset) > self._leeway
        if apart and monotonic() >= self._warn_again:
            self._warn_again = monotonic() + WARN_EVERY
            _log.warning(
                "this machine's clock differs from the session store's",
                offset=round(offset, 3),
                leeway=self._leeway,
            )
        elif self._apart and not apart:
            _log.info("this machine's clock agrees with the session store's again", offset=round(offset, 3))
        self._apart = apart
