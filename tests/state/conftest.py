"""A seeded database with its policy published, and units of work on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from service.administration.delegation import Delegation
from service.administration.unit_of_work import UnitsOfWork
from service.authn.revocations import Revocations
from service.authz.publishing.announced import leave_to_workers
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.publisher import publish_if_changed
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.keyspace import SessionStore
from service.records.database.transactions import Connection, Database
from service.records.roles import rights
from service.settings import Auth, Redis
from tests.support.seeded import create_user
from tests.support.shipped import SHIPPED


@dataclass
class Ground:
    """What units of work stand on."""

    database: Database
    live: LivePolicy
    units: UnitsOfWork

    async def user(self, name: str, *role_codes: str) -> Caller:
        """Create a user in roles, and return the caller with the rights of that user."""
        async with self.database.transaction() as connection:
            return await _caller(connection, await create_user(connection, name, "-", *role_codes), name)

    async def administrator(self) -> Caller:
        async with self.database.transaction() as connection:
            return await _caller(connection, 1, "admin")


async def _caller(connection: Connection, user_id: int, name: str) -> Caller:
    found = await rights.of(connection, user_id)
    return Caller(user_id, str(user_id), name, name, "", found.roles, HeldCodes(found.permissions), 0.0)


@pytest.fixture
async def ground(seeded_database_url: str, redis_url: str) -> AsyncIterator[Ground]:
    database, store = Database(seeded_database_url), SessionStore(Redis(url=redis_url), Auth())
    async with database.transaction(within=30) as connection:
        await publish_if_changed(connection, SHIPPED, "start")
    live = LivePolicy(SHIPPED)
    await live.load(database)
    changes = PolicyChanges(database, live, SHIPPED, lambda: SHIPPED, leave_to_workers)
    yield Ground(
        database, live, UnitsOfWork(database, changes, Delegation(live), Revocations(database, store))
    )
    await store.close()
    await database.close()
