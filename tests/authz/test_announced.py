from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from service.audit.chain.revision_seals import RevisionSeals
from service.authz.publishing.announced import AnnouncedRevision
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import read_shipped
from service.errors import Unavailable
from service.kernel.restore_epoch import CurrentRestoreEpoch
from service.keyspace import RevisionKey, SessionStore
from service.records import policy_revisions
from service.records.database.transactions import Database
from service.records.policy_revisions import NewRevision
from service.settings import Auth, Redis

pytestmark = pytest.mark.anyio

SHIPPED = read_shipped()


@pytest.fixture
async def database(seeded_database_url: str) -> AsyncIterator[Database]:
    """A database with revision 1."""
    opened = Database(seeded_database_url)
    async with opened.transaction(within=30) as connection:
        await publish_if_changed(connection, SHIPPED, RevisionSeals(), "test")
    yield opened
    await opened.close()


async def keep(key: RevisionKey, database: Database, newest: int) -> None:
    announced = AnnouncedRevision(key, database, CurrentRestoreEpoch())
    await announced.keep(newest, await announced.read())


@pytest.fixture
async def key(redis_url: str) -> AsyncIterator[RevisionKey]:
    store = SessionStore(Redis(url=redis_url), Auth())
    yield store.revision_key
    await store.close()


async def test_what_an_emptied_store_has_lost_is_restored(key: RevisionKey, database: Database) -> None:
    await keep(key, database, 1)
    assert (await key.read(None)).revision == 1


async def test_what_was_published_without_an_announcement_is_announced(
    key: RevisionKey, database: Database
) -> None:
    await key.announce(1)
    await keep(key, database, 2)
    assert (await key.read(None)).revision == 2


async def test_the_announcement_of_a_change_that_was_rolled_back_is_withdrawn(
    key: RevisionKey, database: Database
) -> None:
    await key.announce(2)
    await keep(key, database, 1)
    assert (await key.read(None)).revision == 1


async def test_the_announcement_of_a_change_under_way_stays(key: RevisionKey, database: Database) -> None:
    async with database.transaction() as connection:
        await policy_revisions.lock(connection)
        await key.announce(2)
        await keep(key, database, 1)
        assert (await key.read(None)).revision == 2


async def test_an_announcement_that_was_committed_meanwhile_stays(
    key: RevisionKey, database: Database
) -> None:
    await key.announce(2)
    async with database.transaction() as connection:
        await policy_revisions.lock(connection)
        await policy_revisions.add(connection, NewRevision(digest="x", line_count=0, cause="test"))

    await keep(key, database, 1)  # read before that commit

    assert (await key.read(None)).revision == 2


async def test_a_value_that_can_not_be_read_is_replaced(key: RevisionKey, database: Database) -> None:
    await key.announce(1)
    seen = (await key.read(None)).value
    assert seen is not None
    await key.replace(seen, 10**18)

    await keep(key, database, 1)

    assert (await key.read(None)).revision == 1


async def test_without_the_store_nothing_can_be_announced(database: Database) -> None:
    away = SessionStore(Redis(url="redis://127.0.0.1:1/0"), Auth())
    with pytest.raises(Unavailable):
        await keep(away.revision_key, database, 1)
    await away.close()
