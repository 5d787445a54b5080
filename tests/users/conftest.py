"""Services in the test's own process, and the parts of login on real stores."""

from __future__ import annotations

import pytest

from service.administration.delegation import Delegation
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import read_shipped
from tests.authn.conftest import Container, auth, own_database, parts, permission_map, shared_database_url
from tests.support.inside_fixtures import house, seeded_rows, service, shared

__all__ = [
    "auth",
    "house",
    "own_database",
    "parts",
    "permission_map",
    "seeded_rows",
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
