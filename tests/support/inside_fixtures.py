"""A service in the test's own process, for the tests of endpoints."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from service.embedded import EmbeddedStores
from tests.support.databases import NewDatabase, database
from tests.support.inside import Inside, inside_published


@pytest.fixture
async def service(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> AsyncIterator[Inside]:
    """A service on a seeded database of the test's own; requests are the administrator's."""
    async with inside_published(new_database(published_template), redis_url) as running:
        yield running


@pytest.fixture(scope="module")
async def _shared(
    stores: EmbeddedStores, published_template: str, emptied_redis_url: str
) -> AsyncIterator[Inside]:
    with database(stores, published_template) as url:
        async with inside_published(url, emptied_redis_url) as running:
            yield running


@pytest.fixture
async def shared(_shared: Inside) -> Inside:
    """One service for the tests of a module that change nothing."""
    if (await _shared.ask("GET", "/api/user/info")).status == 401:  # other tests empty the session store
        _shared.token = await _shared.log_in()
    return _shared
