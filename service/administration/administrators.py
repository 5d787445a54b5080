"""Keeps at least one administrator: an enabled user who may do everything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.errors import Conflict
from service.records import role_rights
from service.records.database.transactions import Connection


@asynccontextmanager
async def keeping_an_administrator(connection: Connection) -> AsyncIterator[None]:
    """Let the block change rights; raises Conflict, which rolls back, if no administrator remains.

    An administrator is an enabled user who holds ``*``. ``role_rights.lock`` is held until the transaction
    ends, so that of two changes that together would leave none, the second one is refused.
    """
    await role_rights.lock(connection)
    before = await role_rights.has_administrator(connection)
    yield
    if before and not await role_rights.has_administrator(connection):
        raise Conflict("This would leave no enabled user who may do everything", rule="last_administrator")
