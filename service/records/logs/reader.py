"""Reads the logs without holding up other requests: few readers at a time, each with a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Unavailable
from service.records.database.replica import Snapshots
from service.records.logs.paging import Entry, Log, LogPage
from service.records.logs.positions import Position, position_of, written_of

BATCH: Final = 500
"""Entries per batch of an export: the event loop encodes them in a few milliseconds."""

PAGE_WITHIN: Final = 10.0
"""Seconds that a page may take, and the wait for a reader: a combination of filters can be slow."""
BATCH_WITHIN: Final = 30.0
"""Seconds that a batch of an export may take: it may have to skip many entries that do not match."""

E = TypeVar("E", bound=Entry)
F = TypeVar("F")


class LogReader:
    """Lets at most ``at_once`` log readers of one worker use a connection; the rest is for other requests."""

    def __init__(self, snapshots: Snapshots, *, at_once: int = 2) -> None:
        self._snapshots = snapshots
        self._slots = asyncio.Semaphore(at_once)

    async def page(
        self,
        log: Log[E, F],
        criteria: F,
        *,
        page: int = 1,
        cursor: str | None = None,
        after: str | None = None,
        size: int = 20,
        newest_first: bool = True,
    ) -> LogPage[E]:
        """Return the page after ``cursor``, or without a cursor page ``page`` with the number of entries.

        With ``after``, a cursor to follow the log, what was written since, in the order of writing.
        ValidationFailed for an invalid cursor and for a page that needs a cursor. Raises Unavailable.
        """
        position = None if cursor is None else position_of(cursor, newest_first=newest_first)
        written = None if after is None else written_of(after)
        async with self._connection(PAGE_WITHIN) as connection:
            if written is not None:
                return await log.written_after(connection, criteria, written, size=size)
            if position is None:
                return await log.page(connection, criteria, page=page, size=size, newest_first=newest_first)
            return await log.after(connection, criteria, position, size=size, newest_first=newest_first)

    async def everything(
        self, log: Log[E, F], criteria: F, *, limit: int, newest_first: bool = True
    ) -> AsyncGenerator[tuple[E, ...], None]:
        """Yield all matching entries, at most ``limit``, in batches; at least one batch, possibly empty.

        Each batch has its own transaction: a client that reads slowly holds neither a connection nor a
        snapshot. Entries written meanwhile are included if their place is still to come. Raises Unavailable.
        """
        position: Position | None = None
        while True:
            size = min(BATCH, limit)
            async with self._connection(BATCH_WITHIN) as connection:
                batch = await log.after(connection, criteria, position, size=size, newest_first=newest_first)
            yield batch.items
            limit -= len(batch.items)
            position = batch.following
            if position is None or not limit:
                return

    @asynccontextmanager
    async def _connection(self, within: float) -> AsyncIterator[AsyncConnection]:
        try:
            async with asyncio.timeout(PAGE_WITHIN):
                await self._slots.acquire()
        except TimeoutError:
            raise Unavailable("Too many are reading the logs") from None
        try:
            async with self._snapshots.snapshot(within=within) as connection:
                yield connection
        finally:
            self._slots.release()
