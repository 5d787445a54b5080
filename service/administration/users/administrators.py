"""Keeps at least one administrator: an enabled user who may do everything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.errors import Conflict
from service.records.database.transactions import Connection
from service.records.roles import rights


@asynccontextmanager
async def keeping_an_administrator(connection: Connection) -> AsyncIterator[None]:
    """Let the block change rights; raises Conflict, which rolls back, if no administrator remains.

    An administrator is an enabled user who holds ``*``. The lock of ``rights`` is held until the transaction
    ends, so that of two changes that together would leave none, the second one is refused.
    """
    await rights.lock(connection)
    before = await rights.has_administrator(connection)
    yield
    if before and not await rights.has_administrator(connection):
        raise Conflict("This would leave no enabled user who may do everything", rule="last_administrator")
