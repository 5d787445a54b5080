"""One running service for all tests that leave it running, and those who call it."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.service.callers import PASSWORD, log_in
from tests.support.databases import database, session_store
from tests.support.running import PATIENT, Running, portcullis, running


@dataclass(frozen=True)
class External:
    """A service on stores that others run."""

    folder: Path
    variables: dict[str, str]
    running: Running


def variables_for(database_url: str, redis_url: str) -> dict[str, str]:
    """Return what an operator sets to use external stores; logins are not counted."""
    return {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "JWT_SECRET": secrets.token_urlsafe(48),
        # All tests call from one address, and more often than anybody may.
        "PORTCULLIS_THROTTLE__ENABLED": "false",
    }


@pytest.fixture(scope="package")
def external(
    stores: EmbeddedStores, published_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[External]:
    """A service of two workers; never stop it."""
    folder = tmp_path_factory.mktemp("service")
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        variables = variables_for(url, redis_url) | PATIENT
        with running(folder, "--workers", "2", **variables) as service:
            yield External(folder, variables, service)


@pytest.fixture(scope="package")
def service(external: External) -> Running:
    """The processes of that service."""
    return external.running


@pytest.fixture
def client(service: Running) -> Iterator[httpx.Client]:
    """A client of that service."""
    with service.client() as client:
        yield client


@pytest.fixture(scope="package")
def newcomer(external: External) -> str:
    """The name of a user without any right, made by the operator; the password is ``PASSWORD``."""
    arguments = ("admin", "create", "newcomer")
    done = portcullis(external.folder, *arguments, given=f"{PASSWORD}\n", **external.variables)
    assert done.status == 0, done.errors
    return "newcomer"


@pytest.fixture
def administrator(client: httpx.Client) -> dict[str, str]:
    """The header with which the administrator, just logged in, sends requests."""
    return log_in(client)
