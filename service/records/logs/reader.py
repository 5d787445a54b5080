"""Reading the logs beside all that cannot wait: few at a time, and each for a bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Unavailable
from service.records.database.transactions import Database
from service.records.logs.paging import Entry, Log, LogPage
from service.records.logs.positions import Position, position_of

BATCH: Final = 500
"""How many entries an export reads at once: what the event loop encodes in a few milliseconds."""

PAGE_WITHIN: Final = 10.0
"""Seconds that a page may take, and the wait for it: filters that fit many entries each and few together."""
BATCH_WITHIN: Final = 30.0
"""Seconds that a batch of an export may take, which can have to pass many entries that do not fit."""

E = TypeVar("E", bound=Entry)
F = TypeVar("F")


class LogReader:
    """Lets at most ``at_once`` readers of one worker use a connection, so that others keep the rest."""

    def __init__(self, database: Database, *, at_once: int = 2) -> None:
        self._database = database
        self._turns = asyncio.Semaphore(at_once)

    async def page(
        self,
        log: Log[E, F],
        wanted: F,
        *,
        page: int = 1,
        cursor: str | None = None,
        size: int = 20,
        newest_first: bool = True,
    ) -> LogPage[E]:
        """Return the page after ``cursor``, or without one page ``page`` with the number of entries.

        ValidationFailed for a cursor of elsewhere, and for a page that only a cursor reaches; Unavailable.
        """
        position = None if cursor is None else position_of(cursor, newest_first=newest_first)
        async with self._connection(PAGE_WITHIN) as connection:
            if position is None:
                return await log.page(connection, wanted, page=page, size=size, newest_first=newest_first)
            return await log.after(connection, wanted, position, size=size, newest_first=newest_first)

    async def everything(
        self, log: Log[E, F], wanted: F, *, limit: int, newest_first: bool = True
    ) -> AsyncGenerator[tuple[E, ...], None]:
        """Yield all that fits, at most ``limit`` entries, batch by batch; at least one batch, maybe empty.

        Each batch is a transaction of its own: whoever takes the entries slowly holds neither a connection
        nor a snapshot. What is written meanwhile is among the entries if its place is still to come.
        Unavailable.
        """
        position: Position | None = None
        while True:
            size = min(BATCH, limit)
            async with self._connection(BATCH_WITHIN) as connection:
                found = await log.after(connection, wanted, position, size=size, newest_first=newest_first)
            yield found.items
            limit -= len(found.items)
            position = found.following
            if position is None or not limit:
                return

    @asynccontextmanager
    async def _connection(self, within: float) -> AsyncIterator[AsyncConnection]:
        try:
            async with asyncio.timeout(PAGE_WITHIN):
                await self._turns.acquire()
        except TimeoutError:
            raise Unavailable("Too many are reading the logs") from None
        try:
            async with self._database.snapshot(within=within) as connection:
                yield connection
        finally:
            self._turns.release()
