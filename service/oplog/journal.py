"""The way of entries from the collector into the database, in the background of one worker."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import structlog

from service.errors import Unavailable
from service.oplog.collector import Collector, Event
from service.records import login_logs, operation_logs
from service.records.database import Database
from service.records.operation_logs import OperationEvent

FLUSH_EVERY: Final = 0.05  # seconds
PATIENCE: Final = 5.0  # seconds that the last entries get at the end

_log = structlog.get_logger(__name__)


class Journal:
    """Writes what ``collector`` takes, from ``start`` to ``finish``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._task: asyncio.Task[None] | None = None
        self._batch: list[Event] = []
        self.collector = Collector()

    async def start(self) -> None:
        """Begin to write in the background."""
        self._task = asyncio.create_task(self._run())

    async def finish(self) -> None:
        """Write what is left, and end; say how many entries there were."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._flush_all()
        counts = self.collector.counts
        _log.info("the logs are closed", accepted=counts.accepted, written=counts.written)

    async def _flush_all(self) -> None:
        while not await self._flush():  # noqa: ASYNC110 - no event tells that the database is back
            await asyncio.sleep(FLUSH_EVERY)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_EVERY)
            try:
                await self._flush()
            except Exception:  # noqa: BLE001 - whatever it was, the next entries must not be lost with it
                _log.exception("entries can't be written")
                await asyncio.sleep(1)

    async def _flush(self) -> bool:
        """Write what waits; False when the database is out of reach, and the batch is to be tried again."""
        self._batch = self._batch or self.collector.fetch()
        if not self._batch:
            return True
        operations = [event for event in self._batch if isinstance(event, OperationEvent)]
        logins = [event for event in self._batch if not isinstance(event, OperationEvent)]
        try:
            async with self._database.transaction() as connection:
                await operation_logs.add(connection, *operations)
                await login_logs.add(connection, *logins)
        except Unavailable:
            return False
        self.collector.counts.written += len(self._batch)
        self._batch = []
        return True
