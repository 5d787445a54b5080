"""Connections for single statements, each a transaction of its own: psycopg in autocommit, prepared."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import psycopg

from service.records.database.connection import PoolState, PromptConnection, has_ended

# A prepared statement that no longer fits the tables, or that a pooler has lost; another connection has none.
_OUTDATED: Final = (psycopg.errors.FeatureNotSupported, psycopg.errors.InvalidSqlStatementName)


class SingleReads:
    """Runs statements that only read, over at most ``size`` connections, opened as needed.

    ``connect`` opens one in autocommit. A connection whose statement failed, or whose caller was cancelled,
    is closed. Raises what psycopg and ``connect`` raise; the caller bounds the time.
    """

    def __init__(self, connect: Callable[[], Awaitable[PromptConnection]], size: int) -> None:
        self._connect = connect
        self._idle: list[PromptConnection] = []
        self._forgotten = 0
        self._closed = False
        self._size = size
        self._in_use = 0
        self._waiting = 0
        self._turns = asyncio.Semaphore(size)

    @property
    def state(self) -> PoolState:
        """How its connections are used now."""
        return PoolState(self._in_use, len(self._idle), self._size, self._waiting)

    async def rows(self, statement: bytes, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
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
            await self._idle.pop().close()

    async def close(self) -> None:
        """Keep no connection from now on: close the idle ones now, and each other one after its statement."""
        self._closed = True
        await self.forget()

    async def _rows(self, statement: bytes, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        forgotten = self._forgotten
        try:
            connection = await self._connection()
            rows = await self._run(connection, statement, parameters)
        except _OUTDATED:
            connection = await self._connect()
            rows = await self._run(connection, statement, parameters)
        if forgotten == self._forgotten and not self._closed:
            self._idle.append(connection)
        else:
            await connection.close()
        return rows

    async def _connection(self) -> PromptConnection:
        while self._idle:
            connection = self._idle.pop()
            if not has_ended(connection):
                return connection
            await connection.close()
        return await self._connect()

    async def _run(
        self, connection: PromptConnection, statement: bytes, parameters: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        try:
            cursor = await connection.execute(statement, parameters, prepare=True)
            rows: list[tuple[Any, ...]] = await cursor.fetchall()
        except BaseException:
            await connection.close()
            raise
        return rows
