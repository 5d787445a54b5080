"""A running service for clients that were generated from its document."""

import secrets
from collections.abc import Iterator

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.support.databases import database, session_store
from tests.support.running import Running, running


def variables(database_url: str, redis_url: str) -> dict[str, str]:
    """Return the settings of a service on these stores, at which logins are not counted."""
    return {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "JWT_SECRET": secrets.token_urlsafe(48),
        "PORTCULLIS_THROTTLE__ENABLED": "false",
    }


@pytest.fixture(scope="module")
def service(
    stores: EmbeddedStores,
    seeded_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    """One worker on a seeded database."""
    folder = tmp_path_factory.mktemp("service")
    with (
        database(stores, seeded_template) as url,
        session_store(stores) as redis_url,
        running(folder, "--workers", "1", **variables(url, redis_url)) as started,
    ):
        yield started
