"""Services in the test's own process, and the parts of login on real stores."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from service.administration.delegation import Delegation
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import read_shipped
from service.embedded import EmbeddedStores
from tests.authn.conftest import Container, auth, own_database, parts, permission_map, shared_database_url
from tests.support.databases import database
from tests.support.inside import Inside, inside
from tests.support.inside_fixtures import service, shared
from tests.support.store_numbers import session_store
from tests.users.people import execute

__all__ = [
    "auth",
    "own_database",
    "parts",
    "permission_map",
    "service",
    "shared",
    "shared_database_url",
]


@pytest.fixture
async def delegation(parts: Container) -> Delegation:
    """The delegation check by the policy of the test's database, which is published for it."""
    shipped = read_shipped()
    live = LivePolicy(shipped)
    async with parts.database.transaction() as connection:
        live.offer(await publish_if_changed(connection, shipped, "for a test"))
    return Delegation(live)


CLEAN = """
DELETE FROM sys.file;
DELETE FROM sys."user" WHERE id > 1;
DELETE FROM sys.role WHERE id > (SELECT max(id) FROM sys.role WHERE role_code IN ('super', 'user'));
"""


@pytest.fixture(scope="module")
async def _house(stores: EmbeddedStores, seeded_template: str) -> AsyncIterator[Inside]:
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        async with inside(url, redis_url, PORTCULLIS_THROTTLE__ENABLED="false") as running:
            yield running


@pytest.fixture
def house(_house: Inside) -> Iterator[Inside]:
    """A service for tests that leave the administrator, the menus and the first roles as they are."""
    yield _house
    execute(_house, CLEAN)
