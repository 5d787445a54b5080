from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text

from service.audit.chain.revision_seals import RevisionSeals
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import read_shipped
from service.errors import Unavailable
from service.records import policy_revisions
from service.records.database.transactions import Database

pytestmark = pytest.mark.anyio

SHIPPED = read_shipped()
ADD = text("INSERT INTO sys.menu (menu_type, title, auth_mark) VALUES ('Button', 'New', 'report:list')")


@pytest.fixture
async def database(seeded_database_url: str) -> AsyncIterator[Database]:
    """A database with revision 1."""
    opened = Database(seeded_database_url)
    async with opened.transaction(within=30) as connection:
        await publish_if_changed(connection, SHIPPED, RevisionSeals(), "test")
    yield opened
    await opened.close()


async def newest(database: Database) -> int:
    async with database.transaction() as connection:
        latest = await policy_revisions.latest(connection)
    assert latest is not None
    return latest.revision


async def test_a_revision_is_announced_before_anybody_can_see_it(database: Database) -> None:
    seen: list[tuple[int, int]] = []

    async def announce(revision: int) -> None:
        seen.append((revision, await newest(database)))

    live = LivePolicy(SHIPPED, RevisionSeals())
    await live.load(database)
    changes = PolicyChanges(database, live, SHIPPED, lambda: SHIPPED, announce)
    async with changes.begin("test") as change:
        await change.connection.execute(ADD)

    assert seen == [(2, 1)]
    assert change.policy.revision == live.current.revision == await newest(database) == 2


async def test_a_change_that_publishes_nothing_announces_nothing(database: Database) -> None:
    async def announce(revision: int) -> None:
        raise AssertionError(revision)

    live = LivePolicy(SHIPPED, RevisionSeals())
    await live.load(database)
    async with PolicyChanges(database, live, SHIPPED, lambda: SHIPPED, announce).begin("test"):
        pass
    assert live.current.revision == 1


async def test_a_change_that_can_not_be_announced_is_not_saved(database: Database) -> None:
    async def announce(revision: int) -> None:
        raise Unavailable(f"no store for {revision}")

    live = LivePolicy(SHIPPED, RevisionSeals())
    await live.load(database)
    changes = PolicyChanges(database, live, SHIPPED, lambda: SHIPPED, announce)
    with pytest.raises(Unavailable, match="no store for 2"):
        async with changes.begin("test") as change:
            await change.connection.execute(ADD)

    assert live.current.revision == await newest(database) == 1
    async with database.transaction() as connection:
        selected = await connection.execute(text("SELECT 1 FROM sys.menu WHERE auth_mark = 'report:list'"))
        assert selected.first() is None
