"""Single statements outside transactions: prepared reads, and whether a silent server still answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import psycopg

from service.records.database.connection import PoolState, PromptConnection, has_ended
from service.records.database.prepared import PreparedStatements, Rows

# A prepared statement that no longer fits the tables, or that a pooler has lost; another connection has none.
_OUTDATED: Final = (psycopg.errors.FeatureNotSupported, psycopg.errors.InvalidSqlStatementName)


class SingleReads:
    """Runs statements that only read, over at most ``size`` connections, opened as needed.

    ``connect`` opens one in autocommit. A connection whose statement failed, or whose caller was cancelled,
    is closed. Raises the errors of psycopg and ``connect``; the caller bounds the time.
    """

    def __init__(self, connect: Callable[[], Awaitable[PromptConnection]], size: int) -> None:
        self._connect = connect
        self._idle: list[PreparedStatements] = []
        self._forgotten = 0
        self._closed = False
        self._size = size
        self._in_use = 0
        self._waiting = 0
        self._turns = asyncio.Semaphore(size)

    @property
    def state(self) -> PoolState:
        """Return the current use of its connections."""
        return PoolState(self._in_use, len(self._idle), self._size, self._waiting)

    async def rows(self, statement: bytes, parameters: Mapping[str, Any]) -> Rows:
        """Return the rows of ``statement``, which must be a constant: each is prepared once a connection."""
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        self._in_use += 1
        try:
            return await self._rows(statement, parameters)
        finally:
            self._in_use -= 1
            self._turns.release()

    async def forget(self) -> None:
        """Use no connection again: close those that are idle now, and the others after their statement."""
        self._forgotten += 1
        while self._idle:
            await self._idle.pop().connection.close()

    async def close(self) -> None:
        """Keep no connection from now on: close the idle ones now, and each other one after its statement."""
        self._closed = True
        await self.forget()

    async def _rows(self, statement: bytes, parameters: Mapping[str, Any]) -> Rows:
        forgotten = self._forgotten
        try:
            prepared = await self._prepared()
            rows = await _run(prepared, statement, parameters)
        except _OUTDATED:
            prepared = PreparedStatements(await self._connect())
            rows = await _run(prepared, statement, parameters)
        if forgotten == self._forgotten and not self._closed:
            self._idle.append(prepared)
        else:
            await prepared.connection.close()
        return rows

    async def _prepared(self) -> PreparedStatements:
        while self._idle:
            prepared = self._idle.pop()
            if not has_ended(prepared.connection):
                return prepared
            await prepared.connection.close()
        return PreparedStatements(await self._connect())


async def _run(prepared: PreparedStatements, statement: bytes, parameters: Mapping[str, Any]) -> Rows:
    try:
        return await prepared.rows(statement, parameters)
    except BaseException:
        await prepared.connection.close()
        raise


_STALLED: Final = 0.1
"""Seconds by which the event loop may be late: a poll during a longer delay is inconclusive."""


class Pulse:
    """Polls the server on a connection of its own, while long transactions are under way.

    A transaction with a limit of ten seconds cannot distinguish a slow statement from a frozen server by
    itself. All transactions of a process share the polls.
    """

    def __init__(self, connect: Callable[[], Awaitable[PromptConnection]], within: float) -> None:
        """``connect`` opens a connection in autocommit; ``within`` are seconds until silence is noticed."""
        self._connect = connect
        self._half = within / 2
        self._watching: set[asyncio.Timeout] = set()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watching(self, deadline: asyncio.Timeout) -> AsyncIterator[None]:
        """Let ``deadline`` expire at once when the server falls silent while the block runs."""
        self._watching.add(deadline)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            self._watching.discard(deadline)

    async def finish(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        """Poll until no transaction watches; a pause and an answer take ``within`` seconds at most."""
        connection: PromptConnection | None = None
        loop = asyncio.get_running_loop()
        try:
            while True:
                due = loop.time() + self._half
                await asyncio.sleep(self._half)
                if not self._watching:
                    return
                asked, begun = set(self._watching), loop.time()
                try:
                    async with asyncio.timeout(self._half):
                        if connection is None or has_ended(connection):
                            connection = await self._connect()
                        await connection.execute("SELECT 1")
                except Exception:  # noqa: BLE001 - whatever keeps the server from answering
                    await _closed(connection)
                    connection = None
                    # A process that did not run itself has not heard an answer that may be there.
                    if begun - due < _STALLED and loop.time() - begun < self._half + _STALLED:
                        for deadline in asked & self._watching:
                            deadline.reschedule(loop.time())
        finally:
            await _closed(connection)


async def _closed(connection: PromptConnection | None) -> None:
    if connection is not None:
        with suppress(Exception):
            await connection.close()
