"""Running services for the tests of sessions, each with settings of its own; never stop one of these."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.authn.keys import KIND_OF, key, private_pem, public_pem
from tests.sessions.site import PROXY, Site
from tests.support.databases import database, session_store
from tests.support.running import PATIENT, running
from tests.support.spare import SpareStores


def signing(folder: Path, algorithm: str) -> dict[str, str]:
    """Return the variables that have tokens signed by ``algorithm``, with keys that fit."""
    chosen = {"PORTCULLIS_AUTH__JWT_ALGORITHM": algorithm}
    if algorithm.startswith("HS"):
        return chosen | {"JWT_SECRET": secrets.token_urlsafe(64)}
    private, public = folder / "private.pem", folder / "public.pem"
    private.write_bytes(private_pem(key(KIND_OF[algorithm])))
    private.chmod(0o600)
    public.write_bytes(public_pem(key(KIND_OF[algorithm])))
    return chosen | {
        "PORTCULLIS_AUTH__JWT_PRIVATE_KEY": str(private),
        "PORTCULLIS_AUTH__JWT_PUBLIC_KEY": str(public),
    }


@contextmanager
def site_on(
    database_url: str, redis_url: str, folder: Path, algorithm: str, *options: str, **variables: str
) -> Iterator[Site]:
    """Run a service on a seeded database; ``variables`` are settings of the section ``auth``, or whole."""
    environ = {
        name if "__" in name else f"PORTCULLIS_AUTH__{name}": value for name, value in variables.items()
    } | {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "PORTCULLIS_SERVER__TRUSTED_PROXIES": f"{PROXY}/32",
        # All tests call from one address; what one account may is left as it is.
        "PORTCULLIS_THROTTLE__LOGIN_ADDRESS": "100000",
        "PORTCULLIS_THROTTLE__REFRESH_ADDRESS": "100000",
    }
    with (
        running(folder, *(options or ("--workers", "1")), **environ, **signing(folder, algorithm)) as service,
        psycopg.connect(database_url, autocommit=True) as database,
    ):
        yield Site(service, database, redis_url)


@pytest.fixture(scope="package")
def site(
    stores: EmbeddedStores, published_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Two workers with the settings as they are, but for more logins of one account at a time."""
    more = {**PATIENT, "PORTCULLIS_THROTTLE__LOGIN_ACCOUNT": "40"}
    with (
        database(stores, published_template, "sessions_site") as url,
        session_store(stores) as redis_url,
        site_on(
            url,
            redis_url,
            tmp_path_factory.mktemp("site"),
            "HS256",
            "--workers",
            "2",
            **more,
        ) as running_site,
    ):
        running_site.execute(
            "ALTER TABLE sys.user ALTER COLUMN id RESTART WITH 1000"
        )  # low ids are for tests to choose
        yield running_site


@pytest.fixture
def client(site: Site) -> Iterator[httpx.Client]:
    """A client of ``site``."""
    with site.client() as client:
        yield client


@pytest.fixture(scope="package")
def cookie_site(
    stores: EmbeddedStores, published_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """A service in cookie mode where a user is logged in on one device at a time."""
    mode = {**PATIENT, "IS_READ_COOKIE": "true", "CONCURRENT_LOGIN": "false"}
    with (
        database(stores, published_template, "sessions_cookie_site") as url,
        session_store(stores) as redis_url,
        site_on(url, redis_url, tmp_path_factory.mktemp("site"), "ES256", **mode) as running_site,
    ):
        yield running_site


@pytest.fixture(scope="package")
def unchecked_site(
    stores: EmbeddedStores, published_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """A service that does not ask the session store about each request."""
    mode = {**PATIENT, "PER_REQUEST_DENY_CHECK": "false"}
    with (
        database(stores, published_template, "sessions_unchecked_site") as url,
        session_store(stores) as redis_url,
        site_on(url, redis_url, tmp_path_factory.mktemp("site"), "EdDSA", **mode) as running_site,
    ):
        yield running_site


@dataclass(frozen=True)
class Mortal:
    """A service on stores of its own, to stop and to freeze; what was written survives that."""

    site: Site
    stores: EmbeddedStores


@pytest.fixture(scope="package")
def mortal(spare_stores: SpareStores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mortal]:
    """A service whose stores may be stopped and frozen, and are running again after each test."""
    with spare_stores.borrowed(seeded=True) as stores:
        folder = tmp_path_factory.mktemp("site")
        with site_on(stores.database_url, stores.redis_url, folder, "RS256") as site:
            yield Mortal(site, stores)
