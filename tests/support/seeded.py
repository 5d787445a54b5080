"""A database as the first start leaves it: migrated and seeded. Made once, then copied for each test."""

import asyncio
import os
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from argon2 import PasswordHasher

from service.audit.key_chain import Chain
from service.features.audit_proof.maintenance import Upkeep
from service.features.embedded.stores import EmbeddedStores
from service.kernel.identity import NewAccount
from service.records import accounts, user_list
from service.records.database.transactions import Connection, Database
from service.records.installation.migrate import prepare
from tests.support.databases import NewDatabase, database
from tests.support.unstarted import COVERED

ADMINISTRATOR = "admin"
ADMINISTRATOR_PASSWORD = "gate, chain and winch"


@cache
def administrator_hash() -> str:
    """Return the hash that seeded databases have of ``ADMINISTRATOR_PASSWORD``."""
    return PasswordHasher(memory_cost=19 * 1024, time_cost=2, parallelism=1).hash(ADMINISTRATOR_PASSWORD)


def seed_database(url: str) -> None:
    """Migrate and seed the database at ``url``; its administrator has ``ADMINISTRATOR_PASSWORD``."""
    prepare(url, administrator_hash, COVERED, ())


async def make_months(url: str) -> None:
    """Make the months of the logs, as the first worker does: no copy has to."""
    async with Database(url) as database:
        await Upkeep(database, Chain(), {"operation_log": 0, "login_log": 0}).months(datetime.now(UTC).date())


@pytest.fixture(scope="session")
def seeded_template(stores: EmbeddedStores) -> Iterator[str]:
    """The name of a seeded database to copy from; nobody may connect to it."""
    name = f"seeded_{os.getpid()}"
    with database(stores, name=name) as url:
        seed_database(url)
        _run(make_months(url))
        yield name


@pytest.fixture(scope="session")
def published_template(stores: EmbeddedStores, seeded_template: str) -> Iterator[str]:
    """The name of a seeded database with its first policy, to copy from; nobody may connect to it."""
    from tests.support.inside import publish  # noqa: PLC0415 - it imports all of the service

    name = f"published_{os.getpid()}"
    with database(stores, seeded_template, name) as url:
        _run(publish(url))
        yield name


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run ``work`` in a thread: the first to ask for a template may be a fixture in an event loop."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(asyncio.run, work).result()


@pytest.fixture
def seeded_database_url(new_database: NewDatabase, seeded_template: str) -> str:
    """The URL of a fresh, migrated and seeded database."""
    return new_database(seeded_template)


@pytest.fixture
def published_database_url(new_database: NewDatabase, published_template: str) -> str:
    """The same with its first policy, and a cheap hash for its administrator."""
    return new_database(published_template)


async def create_user(connection: Connection, name: str, password_hash: str, *role_codes: str) -> int:
    """Write an enabled user in the roles of ``role_codes``, and return the id."""
    roles = await user_list.role_ids(connection, role_codes)
    assert set(roles) == set(role_codes)
    values = {"user_name": name, "nick_name": name}
    return await accounts.create(connection, password_hash, NewAccount(values), list(roles.values()))
