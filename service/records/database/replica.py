"""Snapshots of a read replica that are as new as the primary's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final, Protocol

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Unavailable
from service.records.database.transactions import Database

# The position of inserts: a commit may be answered before it is written (synchronous_commit = off).
_WRITTEN: Final = b"SELECT pg_current_wal_insert_lsn()::text"
# NULL on a server that is no standby (PostgreSQL manual §9.28.4).
_REPLAYED: Final = b"SELECT pg_last_wal_replay_lsn() >= %(position)s::pg_lsn"
_PATIENCE: Final = 0.5
"""Seconds that a replica has to catch up."""
_PAUSE: Final = 0.05

_log = structlog.get_logger(__name__)


class Snapshots(Protocol):
    """A provider of snapshots: the database, or a replica of it."""

    def snapshot(self, *, within: float | None = None) -> AbstractAsyncContextManager[AsyncConnection]:
        """Read a snapshot, for at most ``within`` seconds."""


class FreshSnapshots:
    """Reads all commits made before the call, from ``replica`` if possible, else from ``primary``.

    The primary reports its position in the write-ahead log, and the replica is used once it has replayed that
    position. So a reader never misses a write that was answered earlier.
    """

    def __init__(self, primary: Database, replica: Database | None) -> None:
        self._primary = primary
        self._replica = replica
        self._behind = False

    @asynccontextmanager
    async def snapshot(self, *, within: float | None = None) -> AsyncIterator[AsyncConnection]:
        """Read a snapshot as ``Database.snapshot`` does. Raises Unavailable if the primary does."""
        async with AsyncExitStack() as stack:
            yield await self._opened(stack, within)

    async def close(self) -> None:
        if self._replica is not None:
            await self._replica.close()

    async def _opened(self, stack: AsyncExitStack, within: float | None) -> AsyncConnection:
        if self._replica is not None:
            ((position,),) = await self._primary.read(_WRITTEN, {})
            try:
                caught_up = await self._has_replayed(self._replica, position)
                self._tell(behind=not caught_up)
                if caught_up:
                    return await stack.enter_async_context(self._replica.snapshot(within=within))
            except Unavailable:
                self._tell(behind=True)
        return await stack.enter_async_context(self._primary.snapshot(within=within))

    async def _has_replayed(self, replica: Database, position: str) -> bool:
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        while True:
            # A statement of its own: a snapshot that is taken after it is at least as new.
            ((replayed,),) = await replica.read(_REPLAYED, {"position": position})
            if replayed or asyncio.get_running_loop().time() > deadline:
                return bool(replayed)
            await asyncio.sleep(_PAUSE)

    def _tell(self, *, behind: bool) -> None:
        if behind and not self._behind:
            _log.warning("the read replica is behind or out of reach: the primary is read")
        self._behind = behind
