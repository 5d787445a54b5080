"""A database with entries, and deliveries that read it."""

import base64
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from service.audit.entries import encode
from service.audit.key_chain import Chain
from service.features.audit_proof.writer import Writing
from service.features.embedded.stores import EmbeddedStores
from service.features.export import store_destinations
from service.features.export.delivery import Delivery
from service.features.export.store_destinations import StoredDestination
from service.records.database.transactions import Database
from service.records.logs.events import LoginEvent
from service.settings import Destination
from tests.audit.conftest import operation
from tests.support.databases import database

SECRET = "whsec_" + base64.b64encode(b"a key of thirty-two random bytes").decode()


class Place:
    """A database, its writers and its deliveries; each test has destinations of its own."""

    def __init__(self, url: str, database: Database) -> None:
        self.url = url
        self.database = database
        self._writing = Writing(database, Chain())
        self.stack = AsyncExitStack()

    async def write(self, *actions: str, **fields: Any) -> list[str]:
        """Write operations with these actions; return the ids of their events."""
        events = [operation(action=action, **fields) for action in actions]
        await self._writing.write("operation_log", [encode(event) for event in events])
        return [str(event.event_id) for event in events]

    async def write_login(self, **fields: Any) -> str:
        """Write an event of a session; return its id."""
        event = LoginEvent(**{"event": "login", "outcome": "success", "user_name": "ann"} | fields)
        await self._writing.write("login_log", [encode(event)])
        return str(event.event_id)

    def destination(self, url: str, **members: Any) -> Destination:
        """Return a new destination."""
        usual = Destination(name=f"d-{secrets.token_hex(4)}", url=url, timeout=5.0)
        if usual.transport in ("http", "https"):
            usual = replace(usual, secret=SECRET)
        return replace(usual, **members)

    async def delivery(self, to: Destination, worker: str = "w1") -> Delivery:
        """Return a delivery that has looked once: what is written from now on is sent."""
        made = Delivery(to, self.database, worker)
        self.stack.push_async_callback(made.close)
        await made.step()
        return made

    async def state(self, of: Delivery | Destination) -> StoredDestination:
        """Return what is stored of a destination."""
        name = of.name if isinstance(of, Destination) else of.destination.name
        async with self.database.transaction() as connection:
            stored_destination = await store_destinations.stored(connection, name)
        assert stored_destination is not None
        return stored_destination

    async def execute(self, statement: str, **values: Any) -> None:
        """Run a statement."""
        async with self.database.transaction() as connection:
            await connection.execute(text(statement), values)

    async def due(self, of: Delivery, seconds: int = 0) -> None:
        """Let the waiting time of a destination end in ``seconds``."""
        await self.execute(
            "UPDATE sys.export_destination SET retry_time = now() + make_interval(secs => :seconds)"
            " WHERE name = :name",
            name=of.destination.name,
            seconds=seconds,
        )


@pytest.fixture(scope="module")
def export_url(stores: EmbeddedStores, seeded_template: str) -> Iterator[str]:
    """The URL of one database for all tests of a file."""
    with database(stores, seeded_template) as url:
        yield url


@pytest.fixture(scope="module")
async def _database(export_url: str) -> AsyncIterator[Database]:
    async with Database(export_url, timeout=10.0) as opened:
        yield opened


@pytest.fixture
async def place(export_url: str, _database: Database) -> AsyncIterator[Place]:
    """The place of a test."""
    made = Place(export_url, _database)
    async with made.stack:
        yield made
