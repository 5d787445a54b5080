"""A seeded database with its policy published, and units of work on it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import pytest

from service.administration.delegation import Delegation
from service.administration.unit_of_work import UnitsOfWork
from service.audit.seals import RevisionSeals
from service.authn.revocations import Revocations
from service.authz.engine.concurrency import ConcurrencyLimit
from service.authz.publishing.announced import leave_to_workers
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.features.explain.dry_runs import DryRuns
from service.features.policy_history import stored_state
from service.features.policy_history.state import State
from service.features.policy_history.state_applying import Applied, StateChanges
from service.features.policy_history.state_planning import Plan, plan
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.write import Write
from service.keyspace import SessionStore
from service.records import role_rights
from service.records.database.transactions import Connection, Database
from service.settings import Auth, Redis
from tests.support.databases import NewDatabase
from tests.support.seeded import create_user
from tests.support.unstarted import SHIPPED


@dataclass
class Ground:
    """What units of work stand on."""

    database: Database
    live: LivePolicy
    units: UnitsOfWork
    dry_runs: DryRuns
    store: SessionStore

    async def state(self) -> State:
        """Return the state that is stored."""
        async with self.database.snapshot() as connection:
            return (await stored_state.read(connection)).state

    async def plan(self, state: State, *, prune: bool = False) -> Plan:
        """Return what applying ``state`` would do."""
        return await plan(self.database, SHIPPED, state, prune=prune)

    async def apply(self, caller: Caller, state: State, *, prune: bool = False) -> Applied:
        """Apply ``state`` under the rights of ``caller``."""
        return await self.write(Write(caller), state, prune=prune)

    async def write(self, write: Write, expected: State, *, prune: bool = False) -> Applied:
        """Apply ``expected`` as ``write`` says."""
        return await StateChanges(self.units).apply(write, expected, prune=prune, cause="test")

    async def is_marked(self, caller: Caller) -> bool:
        """Whether the tokens of the caller must be refreshed."""
        return (await self.store.check(caller.login_id, "")).marker is not None

    async def user(self, name: str, *role_codes: str) -> Caller:
        """Create a user in roles, and return the caller with the rights of that user."""
        async with self.database.transaction() as connection:
            return await _caller(connection, await create_user(connection, name, "-", *role_codes), name)

    async def administrator(self) -> Caller:
        async with self.database.transaction() as connection:
            return await _caller(connection, 1, "admin")


NewGround = Callable[[], AbstractAsyncContextManager[Ground]]


async def _caller(connection: Connection, user_id: int, name: str) -> Caller:
    result = await role_rights.of(connection, user_id)
    return Caller(user_id, str(user_id), name, name, "", result.roles, HeldCodes(result.permissions), 0.0)


@asynccontextmanager
async def _ground(url: str, redis_url: str) -> AsyncIterator[Ground]:
    database, store = Database(url), SessionStore(Redis(url=redis_url), Auth())
    live = LivePolicy(SHIPPED, RevisionSeals())
    await live.load(database)
    changes = PolicyChanges(database, live, SHIPPED, lambda: SHIPPED, leave_to_workers)
    units = UnitsOfWork(database, changes, Delegation(live), Revocations(database, store))
    try:
        yield Ground(database, live, units, DryRuns(database, live, store, ConcurrencyLimit()), store)
    finally:
        await store.close()
        await database.close()


@pytest.fixture
async def ground(new_ground: NewGround) -> AsyncIterator[Ground]:
    async with new_ground() as made:
        yield made


@pytest.fixture
def new_ground(new_database: NewDatabase, published_template: str, redis_url: str) -> NewGround:
    """Make another installation."""
    return lambda: _ground(new_database(published_template), redis_url)
