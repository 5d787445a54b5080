"""Sends the entries of the collector to the stream, every 50 ms and in order."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from service.audit.collector import Collector
from service.errors import Unavailable
from service.keyspace import LogStream

FLUSH_EVERY: Final = 0.05
"""Seconds that entries wait, to be sent together with others."""
RETRY_EVERY: Final = 0.25
"""Seconds between two attempts while the stream takes no entries."""

_log = structlog.get_logger(__name__)


class Sender:
    """Sends the bundles of ``collector`` under the name ``worker``.

    A bundle is sent until the stream confirms it; the stream stores it once. While the session store is
    unavailable or the stream is full, entries wait in the collector. ``sent`` is set whenever the stream has
    taken a bundle.
    """

    def __init__(self, collector: Collector, stream: LogStream, worker: str, most_bytes: int) -> None:
        self._collector = collector
        self._stream = stream
        self._worker = worker
        self._most_bytes = most_bytes
        self.sent = asyncio.Event()
        self._dropped_sent = 0
        self.held_up = False
        """True if entries wait because the last attempt failed."""

    async def run(self) -> None:
        """Send until cancelled; raises nothing else."""
        while True:
            await self._collector.filled.wait()
            await asyncio.sleep(FLUSH_EVERY)
            if not await self.send_all():
                await asyncio.sleep(RETRY_EVERY)

    async def send_all(self) -> bool:
        """Send all waiting entries; False if the stream did not take them."""
        try:
            while bundle := self._collector.bundle():
                dropped = self._collector.counts.dropped
                taken = await self._stream.add(
                    self._worker,
                    bundle.number,
                    bundle.content,
                    count=bundle.count,
                    dropped=dropped - self._dropped_sent,
                    most_bytes=self._most_bytes,
                )
                if not taken:
                    return self._say("the stream is full: the database does not keep up")
                self.sent.set()
                self._dropped_sent = dropped
                self._collector.handed_on()
        except Unavailable:
            return self._say("the session store is out of reach")
        except Exception:  # noqa: BLE001 - an unexpected error must not lose entries
            _log.exception("entries of the logs can't be sent")
            return False
        if self.held_up:
            _log.info("entries of the logs are sent again", **self._collector.tally())
        self.held_up = False
        return True

    def _say(self, reason: str) -> bool:
        if not self.held_up:
            _log.warning("entries of the logs wait in memory", reason=reason, **self._collector.tally())
        self.held_up = True
        return False
