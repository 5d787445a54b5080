"""Services for the tests of backup and restore."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.running import Ended, portcullis

SECRET = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"
CHAIN_KEY = "Wm3-Rt8yUi0_PaSd5FgHj7KlZx2CvBn6Mq9WeRtYuIo"


@dataclass
class Place:
    """An installation: the service that runs on it, and what its commands are given."""

    service: Inside
    folder: Path
    variables: dict[str, str]

    async def command(self, *arguments: str, given: str = "", **variables: str) -> Ended:
        """Run a command of the operator beside the service."""
        given_to = self.variables | variables
        return await asyncio.to_thread(portcullis, self.folder, *arguments, given=given, **given_to)

    def object(self, key: str) -> Path:
        """Return the file in which the content of an uploaded file is."""
        return Path(self.variables["PORTCULLIS_SERVER__DATA"], "files", key)


@pytest.fixture(scope="module")
async def place(
    stores: EmbeddedStores,
    published_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Place]:
    """One installation for the tests of a module, with its files in a directory."""
    folder = tmp_path_factory.mktemp("place")
    own = {
        "PORTCULLIS_SERVER__DATA": str(folder / "data"),
        "PORTCULLIS_OPLOG__CHAIN_KEY": CHAIN_KEY,
        "JWT_SECRET": SECRET,
    }
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        async with inside_published(url, redis_url, **own) as running:
            variables = own | {"DATABASE_URL": url, "REDIS_URL": redis_url, "PORTCULLIS_CONFIG": ""}
            yield Place(running, folder, variables)
