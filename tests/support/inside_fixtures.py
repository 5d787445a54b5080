"""A service in the test's own process, for the tests of endpoints."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from service.embedded import EmbeddedStores
from tests.support.databases import NewDatabase, database
from tests.support.inside import Inside, inside_published
from tests.support.store_numbers import session_store


@pytest.fixture
async def service(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> AsyncIterator[Inside]:
    """A service on a seeded database of the test's own; requests are the administrator's."""
    async with inside_published(new_database(published_template), redis_url) as running:
        yield running


@pytest.fixture(scope="module")
async def shared(stores: EmbeddedStores, published_template: str) -> AsyncIterator[Inside]:
    """One service for the tests of a module that change nothing."""
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        async with inside_published(url, redis_url) as running:
            yield running
