"""The operation log, for commands that change something."""

from __future__ import annotations

import secrets

from service.audit.journal import Journal
from service.keyspace import SessionStore
from service.records.database.transactions import Database
from service.records.logs.operation_events import OperationEvent
from service.settings import Settings


async def enter(settings: Settings, event: OperationEvent) -> None:
    """Write ``event`` to the operation log: through the session store, else directly."""
    database = Database(settings.database.url, pool_size=1, timeout=settings.database.timeout)
    store = SessionStore(settings.redis, settings.auth)
    journal = Journal(settings.oplog, database, store.log, f"command:{secrets.token_hex(8)}")
    journal.collector.operation(event)
    try:
        await journal.finish()
    finally:
        await store.close()
        await database.close()
