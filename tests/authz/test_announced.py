"""Announcements of revisions: before, with and after the change, and which workers have followed."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import cast

import pytest
from redis.asyncio import Redis as Client
from sqlalchemy import text

from service.audit.seals import RevisionSeals
from service.authz.publishing.announced import AnnouncedRevision
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.revisions import Acknowledgements
from service.authz.publishing.shipped import read_shipped
from service.authz.publishing.watch import PolicyWatch
from service.errors import Unavailable
from service.kernel.coded_sentences import Sentence
from service.kernel.restore_epoch import CurrentRestoreEpoch
from service.keyspace import RevisionKey, SessionStore
from service.records.database.transactions import Database
from service.records.published import policy_revisions
from service.records.published.policy_revisions import NewRevision
from service.records.published.policy_workers import PolicyWorker
from service.settings import Auth, Redis

SHIPPED = read_shipped()


@pytest.fixture
async def database(seeded_database_url: str) -> AsyncIterator[Database]:
    """A database with revision 1."""
    async with Database(seeded_database_url, timeout=60.0) as opened:
        async with opened.transaction(within=30) as connection:
            await publish_if_changed(connection, SHIPPED, RevisionSeals(), "test")
        yield opened


async def publish(database: Database) -> None:
    async with database.transaction() as connection:
        await policy_revisions.lock(connection)
        await policy_revisions.add(connection, NewRevision(digest="x", line_count=0, cause="test"))


async def keep(key: RevisionKey, database: Database, newest: int) -> None:
    announced = AnnouncedRevision(key, database, CurrentRestoreEpoch())
    await announced.keep(newest, await announced.read(), newest)


@pytest.fixture
async def key(redis_url: str) -> AsyncIterator[RevisionKey]:
    async with SessionStore(Redis(url=redis_url), Auth()) as store:
        yield store.revision_key


async def test_what_an_emptied_store_has_lost_is_restored(key: RevisionKey, database: Database) -> None:
    await keep(key, database, 1)
    assert (await key.read(None)).revision == 1


async def test_nothing_is_written_to_an_emptied_store_while_a_change_may_be_announced(
    key: RevisionKey, database: Database
) -> None:
    async with database.transaction() as connection:
        await policy_revisions.lock(connection)
        await keep(key, database, 1)
    assert (await key.read(None)).revision is None


async def test_an_emptied_store_is_not_told_a_revision_that_is_older_by_then(
    key: RevisionKey, database: Database
) -> None:
    await publish(database)

    await keep(key, database, 1)  # read before that commit

    assert (await key.read(None)).revision is None
    await keep(key, database, 2)
    assert (await key.read(None)).revision == 2


async def test_a_revision_that_was_seen_to_be_lower_is_not_raised_in_a_store_that_was_emptied_meanwhile(
    key: RevisionKey, database: Database, redis_url: str
) -> None:
    await key.announce(1)
    announced = AnnouncedRevision(key, database, CurrentRestoreEpoch())
    seen = await announced.read()
    async with Client.from_url(redis_url) as store:
        await store.delete("policy:revision")

    await announced.keep(2, seen, 2)

    assert (await key.read(None)).revision is None


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
    await publish(database)

    await keep(key, database, 1)  # read before that commit

    assert (await key.read(None)).revision == 2


async def test_a_value_that_can_not_be_read_is_replaced(key: RevisionKey, database: Database) -> None:
    await key.announce(1)
    await key.replace(await key.read(None), 10**18)

    await keep(key, database, 1)

    assert (await key.read(None)).revision == 1


async def test_without_the_store_nothing_can_be_announced(database: Database) -> None:
    async with SessionStore(Redis(url="redis://127.0.0.1:1/0"), Auth()) as away:
        with pytest.raises(Unavailable):
            await keep(away.revision_key, database, 1)


ADD = text("INSERT INTO sys.menu (menu_type, title, auth_mark) VALUES ('Button', 'New', 'report:list')")


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
        raise Unavailable(Sentence(f"no store for {revision}"))

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


class Reports:
    """What the workers report: a revision each, and a fault."""

    def __init__(self, *reports: tuple[int, str | None]) -> None:
        self.reports = list(reports)
        self.asked = asyncio.Event()

    async def workers(self) -> list[PolicyWorker]:
        self.asked.set()
        return [
            PolicyWorker(
                worker=f"a:{number}",
                revision=revision,
                fault=fault,
                seen_time=datetime.now(UTC),
                own_digest="x",
            )
            for number, (revision, fault) in enumerate(self.reports)
        ]


def counted(reports: Reports) -> Acknowledgements:
    return Acknowledgements(cast(PolicyWatch, reports))


async def test_workers_that_are_late_are_waited_for() -> None:
    reports = Reports((8, None), (7, None), (9, None))
    waiting = asyncio.create_task(counted(reports).by(8))
    await reports.asked.wait()
    await asyncio.sleep(0)
    assert not waiting.done()

    reports.reports[1] = (8, None)

    assert await waiting == (3, 3)


async def test_workers_that_can_not_load_the_revision_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("service.authz.publishing.revisions.PATIENCE", 3600)
    reports = Reports((8, None), (7, "it can't be loaded"))
    async with asyncio.timeout(60):
        assert await counted(reports).by(8) == (1, 2)


async def test_the_wait_ends_though_a_worker_stays_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.authz.publishing.revisions.PATIENCE", 0.05)
    assert await counted(Reports((8, None), (7, None))).by(8) == (1, 2)
