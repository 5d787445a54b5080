"""A service in the test's own process, of the test alone or shared by those of a module."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.support.databases import NewDatabase, database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.recycled import Connection, Stamps, put_back, rows_of, stamps_of

ServiceWith = Callable[..., AbstractAsyncContextManager[Inside]]

_PUBLISHED: Final = frozenset(
    f"sys.{table}"
    for table in ("menu", "resource", "action_resource", "service", "opening", "request_rule", "review")
)
"""The tables that the stored policy is derived from."""
_RIGHTS: Final = _PUBLISHED | {
    *('sys."user"', "sys.role", "sys.user_role", "sys.role_menu", "sys.user_ban", "sys.api_key"),
    *("sys.retired_bit", "sys.file", "sys.idempotency_key"),
    *("sys.access_request", "sys.access_decision", "sys.access_request_appointee"),
    *("sys.directory", "sys.directory_account", "sys.directory_session"),
    *("sys.scim_user", "sys.scim_group", "sys.scim_member"),
    *("sys.review_item", "sys.policy_sign_off", "sys.account_control"),
}


@asynccontextmanager
async def inside_own(stores: EmbeddedStores, template: str, **variables: str) -> AsyncIterator[Inside]:
    """Run a service on a copy of ``template`` and a session store of its own."""
    with database(stores, template) as url, session_store(stores) as redis_url:
        async with inside_published(url, redis_url, **variables) as running:
            yield running


@pytest.fixture
async def service(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> AsyncIterator[Inside]:
    """A service on a seeded database of the test's own; requests are the administrator's."""
    async with inside_published(new_database(published_template), redis_url) as running:
        yield running


@pytest.fixture
def service_with(new_database: NewDatabase, published_template: str, redis_url: str) -> ServiceWith:
    """What runs a service with other variables, each on a seeded database of its own."""
    return lambda **variables: inside_published(new_database(published_template), redis_url, **variables)


@pytest.fixture(scope="module")
async def shared(stores: EmbeddedStores, published_template: str) -> AsyncIterator[Inside]:
    """One service for the tests of a module that change nothing."""
    async with inside_own(stores, published_template) as running:
        yield running


@dataclass(frozen=True)
class Seeded:
    """The rows of ``shared`` before any test, and the connection over which they are put back."""

    connection: Connection
    rows: dict[str, bytes]
    stamps: Stamps

    def put_back(self) -> list[str]:
        """Put back what a test has changed, and name the tables."""
        with self.connection.transaction():
            return put_back(self.connection, self.rows, self.stamps)


@pytest.fixture(scope="module")
def seeded_rows(stores: EmbeddedStores, shared: Inside) -> Iterator[Seeded]:
    """All rows about rights, as ``shared`` has them before any test."""
    name = psycopg.conninfo.conninfo_to_dict(shared.database_url)["dbname"]
    with psycopg.connect(stores.url_of(str(name), administrator=True), autocommit=True) as connection:
        rows = {table: rows_of(connection, table) for table in _RIGHTS}
        yield Seeded(connection, rows, stamps_of(connection, _RIGHTS))


@pytest.fixture
async def house(shared: Inside, seeded_rows: Seeded) -> AsyncIterator[Inside]:
    """``shared``, for tests that change it: afterwards users, roles, menus and resources are the first ones.

    The administrator must stay able to log in. Logs and revisions of the policy go on, and no id comes again.
    """
    await _logged_in(shared)
    yield shared
    # In a thread: a transaction of the service may have to end first.
    changed = await asyncio.to_thread(seeded_rows.put_back)
    if not _PUBLISHED.isdisjoint(changed):
        await _logged_in(shared)
        await shared.data("POST", "/api/policy/reload")


async def _logged_in(shared: Inside) -> None:
    """Take a new token if tests have ended the session of the old one."""
    if (await shared.ask("GET", "/api/user/info")).status != 200:
        shared.token = await shared.log_in()
