"""The parts of login on real stores."""

import pytest

from service.administration.delegation import Delegation
from service.audit.seals import RevisionSeals
from service.authz.publishing.live import LivePolicy
from tests.authn.conftest import Container, auth, own_database, parts, permission_map, shared_database_url
from tests.support.unstarted import SHIPPED

__all__ = ["auth", "own_database", "parts", "permission_map", "shared_database_url"]


@pytest.fixture
async def delegation(parts: Container) -> Delegation:
    """The delegation check by the policy that the test's database has."""
    live = LivePolicy(SHIPPED, RevisionSeals())
    await live.load(parts.database)
    return Delegation(live)
