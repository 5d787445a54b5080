"""The stores that hold files, and services that use them."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.support.databases import database
from tests.support.inside import Inside, inside_published
from tests.support.inside_fixtures import inside_own
from tests.support.s3 import S3Server, s3_server


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """One S3 server for all tests; never stop or freeze it."""
    with s3_server() as server:
        yield server


@pytest.fixture
def own_s3() -> Iterator[S3Server]:
    """An S3 server of the test's own, to stop or freeze."""
    with s3_server() as server:
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where ``shared`` keeps its files."""
    return tmp_path_factory.mktemp("data") / "files"


@pytest.fixture(scope="module")
async def shared(stores: EmbeddedStores, published_template: str, folder: Path) -> AsyncIterator[Inside]:
    """One service with a local directory for the tests of a module that don't mind the files of others."""
    async with inside_own(stores, published_template, PORTCULLIS_SERVER__DATA=str(folder.parent)) as running:
        yield running


@pytest.fixture(scope="module")
def _url(stores: EmbeddedStores, published_template: str) -> Iterator[str]:
    with database(stores, published_template) as url:
        yield url


@pytest.fixture
def fresh_url(_url: str) -> str:
    """The URL of a seeded database without files, cleared of what the test before has left in it."""
    with psycopg.connect(_url) as connection:
        connection.execute("DELETE FROM sys.file")
        connection.execute("DELETE FROM sys.\"user\" WHERE user_name <> 'admin'")
        connection.execute("UPDATE sys.object_space SET swept_time = NULL")
        connection.execute("ALTER TABLE sys.file DROP CONSTRAINT IF EXISTS broken")
    return _url


@pytest.fixture
async def service(fresh_url: str, redis_url: str, tmp_path: Path) -> AsyncIterator[Inside]:
    """A service that keeps files in a directory of the test's own."""
    data = {"PORTCULLIS_SERVER__DATA": str(tmp_path)}
    async with inside_published(fresh_url, redis_url, **data) as running:
        yield running


@pytest.fixture(scope="module")
def either_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where ``either`` keeps its files when it has a local directory."""
    return tmp_path_factory.mktemp("data") / "files"


@pytest.fixture(scope="module", params=["local", "s3"])
async def _either(
    request: pytest.FixtureRequest,
    stores: EmbeddedStores,
    published_template: str,
    s3: S3Server,
    either_folder: Path,
) -> AsyncIterator[Inside]:
    data = {"PORTCULLIS_SERVER__DATA": str(either_folder.parent)}
    variables = s3.variables() if request.param == "s3" else data
    async with inside_own(stores, published_template, **variables) as running:
        yield running


@pytest.fixture
def either(_either: Inside, either_folder: Path) -> Inside:
    """A service of the module without files, once with a local directory and once with an S3 server."""
    _either.beside().execute("DELETE FROM sys.file")
    for path in either_folder.glob("*/*"):
        path.unlink()
    return _either
