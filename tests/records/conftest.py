"""The database as the tests of this folder use it."""

from collections.abc import AsyncIterator, Iterator

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from service.features.embedded.stores import EmbeddedStores
from service.records.database.transactions import Database
from tests.support.databases import database as new_database
from tests.support.spare import SpareStores


@pytest.fixture
async def database(seeded_database_url: str) -> AsyncIterator[Database]:
    """A seeded database of the test's own."""
    async with Database(seeded_database_url, timeout=60.0) as opened:  # however busy the machine is
        yield opened


@pytest.fixture(scope="package")
def shared_url(stores: EmbeddedStores, seeded_template: str) -> Iterator[str]:
    """The URL of one seeded database for all tests that commit nothing."""
    with new_database(stores, seeded_template) as url:
        yield url


@pytest.fixture
async def connection(shared_url: str) -> AsyncIterator[AsyncConnection]:
    """A transaction in a seeded database, rolled back after the test."""
    async with Database(shared_url) as opened, opened.transaction(within=60) as begun:
        yield begun
        await begun.rollback()


@pytest.fixture(scope="package")
def _fragile(spare_stores: SpareStores) -> Iterator[EmbeddedStores]:
    with spare_stores.borrowed() as stores:
        yield stores


@pytest.fixture
def fragile(_fragile: EmbeddedStores) -> Iterator[EmbeddedStores]:
    """A PostgreSQL to stop, freeze and kill; it runs again when the test has ended."""
    yield _fragile
    _fragile.postgres.resume()
    _fragile.postgres.start()
