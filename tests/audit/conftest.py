"""Journals on real stores, and what came of their entries."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Row, Table, delete, select

from service.audit.journal import WITHIN, Journal
from service.features.embedded.stores import EmbeddedStores
from service.keyspace import SessionStore
from service.records.database.transactions import Database
from service.records.logs.events import OperationEvent
from service.records.schema.logs import log_chain, log_set_aside, login_log, operation_log
from service.settings import Auth, Oplog, Redis
from tests.support.databases import database


def operation(number: int = 0, **fields: Any) -> OperationEvent:
    """Return an event that is told from others by its ``action``."""
    plain: dict[str, Any] = {
        "module": "user",
        "action": f"action {number}",
        "kind": "update",
        "method": "PUT",
        "url": "/api/user/7/status",
        "status": 200,
        "elapsed_ms": 1.25,
        "client_ip": "192.0.2.7",
        "params": {"status": "disabled"},
    }
    return OperationEvent(**plain | fields)


@dataclass
class Place:
    """Stores that journals share, and what is in the database."""

    database_url: str
    redis_url: str
    database: Database
    store: SessionStore

    @asynccontextmanager
    async def journal(
        self, worker: str = "", *, claim_after: float = 1.0, **settings: Any
    ) -> AsyncIterator[Journal]:
        """Make a journal of a worker; it is not started, and finished at the end unless it was."""
        made = Journal(
            Oplog(**settings),
            Database(self.database_url, pool_size=2, timeout=WITHIN),
            self.store.log,
            f"{worker}:{secrets.token_hex(6)}",
            claim_after=claim_after,
        )
        try:
            yield made
        finally:
            if not made.finished:
                await made.finish()

    async def rows(self, table: Table = operation_log) -> list[Row[*tuple[Any, ...]]]:
        """Return the rows of a log in the order in which they were written."""
        async with self.database.transaction(within=30) as connection:
            return list(await connection.execute(select(table).order_by(table.c.id)))

    async def actions(self) -> list[str]:
        """Return the actions of the operations in the order in which they were written."""
        return [row.action for row in await self.rows()]

    async def logins(self) -> list[Row[*tuple[Any, ...]]]:
        """Return the rows of the login log."""
        return await self.rows(login_log)


async def until(holds: Callable[[], bool | Awaitable[bool]], patience: float = 60.0) -> None:
    """Return when ``holds`` is true; TimeoutError when ``patience`` (seconds) is over."""
    async with asyncio.timeout(patience):
        while True:
            answer = holds()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(0.01)


@asynccontextmanager
async def place_at(database_url: str, redis_url: str) -> AsyncIterator[Place]:
    """Open both stores."""
    async with AsyncExitStack() as stack:
        database = Database(database_url, timeout=WITHIN)
        stack.push_async_callback(database.close)
        store = SessionStore(Redis(url=redis_url), Auth())
        stack.push_async_callback(store.close)
        yield Place(database_url, redis_url, database, store)


@pytest.fixture(scope="module")
def _url(stores: EmbeddedStores, seeded_template: str) -> Iterator[str]:
    with database(stores, seeded_template) as url:
        yield url


@pytest.fixture
async def place(_url: str, redis_url: str) -> AsyncIterator[Place]:
    """The database of the module with empty logs, and an empty session store."""
    async with place_at(_url, redis_url) as opened:
        async with opened.database.transaction() as connection:
            for table in (operation_log, login_log, log_chain, log_set_aside):
                await connection.execute(delete(table))
        yield opened
