import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from service.audit.seals import RevisionSeals
from service.authz.engine.policy import Policy
from service.authz.publishing.announced import leave_to_workers
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import Shipped, read_shipped
from service.authz.publishing.watch import UPKEEP_EVERY, Announced, PolicyWatch
from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.records.database.servers import announcements
from service.records.database.transactions import Database
from service.records.published import bit_positions, policy_lines, policy_workers
from service.records.published.policy_workers import REPORT_EVERY
from tests.support.unstarted import Unannounced

SHIPPED = read_shipped()
SELDOM = 3600.0
"""Seconds: a poll that no test lives to see."""


@pytest.fixture
async def database(seeded_database_url: str) -> AsyncIterator[Database]:
    async with Database(seeded_database_url, timeout=60.0) as opened:
        await publish(opened)
        yield opened


async def execute(database: Database, *statements: str) -> None:
    async with database.transaction() as connection:
        for statement in statements:
            await connection.execute(text(statement))


async def publish(database: Database, *changes: str, shipped: Shipped = SHIPPED) -> Policy:
    async with database.transaction(within=30) as connection:
        for change in changes:
            await connection.execute(text(change))
        return await publish_if_changed(connection, shipped, RevisionSeals(), "test")


def enabled(state: bool) -> str:
    return f"UPDATE sys.menu SET enabled = {state} WHERE auth_mark = 'system:user:list'"


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - no event tells what a watch has seen
            await asyncio.sleep(0.01)


async def silence() -> AsyncGenerator[str, None]:
    """Hear nothing, as if every announcement got lost."""
    await asyncio.Event().wait()
    yield ""


@asynccontextmanager
async def watching(
    database: Database,
    announced: Announced,
    *,
    poll_every: float = SELDOM,
    worker: str = "a:1",
    shipped: Shipped = SHIPPED,
) -> AsyncIterator[tuple[LivePolicy, PolicyWatch]]:
    live = LivePolicy(shipped, RevisionSeals())
    watch = PolicyWatch(
        live, database, announced, Unannounced(), worker, token_life=7200, poll_every=poll_every
    )
    await watch.look()
    task = asyncio.create_task(watch.run())
    yield live, watch
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def listening(url: str) -> Announced:
    return partial(announcements, url, policy_lines.CHANNEL)


async def test_a_published_revision_is_in_force_when_it_is_announced(
    database: Database, seeded_database_url: str
) -> None:
    async with watching(database, listening(seeded_database_url)) as (live, _):
        for state in (False, True, False):
            published = await publish(database, enabled(state))
            await until(lambda published=published: live.current.digest == published.digest)  # type: ignore[misc]


async def test_a_revision_whose_announcement_is_lost_is_found_by_looking(database: Database) -> None:
    async with watching(database, silence, poll_every=0.05) as (live, _):
        published = await publish(database, enabled(False))

        await until(lambda: live.current.revision == published.revision)


async def test_a_lost_connection_is_opened_again_and_hears_again(
    database: Database, seeded_database_url: str
) -> None:
    begun = 0

    def counted() -> AsyncGenerator[str, None]:
        nonlocal begun
        begun += 1
        return announcements(seeded_database_url, policy_lines.CHANNEL)

    async with watching(database, counted, poll_every=0.05):
        async with asyncio.timeout(20):
            while begun < 2:  # it may not have begun to listen yet
                await execute(
                    database,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
                    " AND datname = current_database()",
                )


async def test_a_revision_that_can_not_be_loaded_leaves_the_last_valid_one_and_says_so(
    database: Database,
) -> None:
    async with watching(database, silence, poll_every=0.05) as (live, watch):
        await until(lambda: live.current.revision == 1)
        await execute(
            database,
            "UPDATE sys.casbin_rule SET v2 = '@anyone' WHERE v1 = 'GET /api/user/list'",
            "INSERT INTO sys.policy_revision (revision, digest, line_count, cause)"
            " SELECT 2, digest, line_count, 'forced' FROM sys.policy_revision",
        )
        await until(lambda: watch.fault is not None)
        assert live.current.revision == 1
        assert (watch.fault or "").startswith("revision 2 is not trusted: the stored lines")
        reported = [(worker.worker, worker.revision, worker.fault) for worker in await watch.workers()]
        assert reported == [("a:1", 1, watch.fault)]

        mended = await publish(database)

        await until(lambda: live.current.revision == mended.revision)
        await until(lambda: watch.fault is None)


async def test_a_worker_that_stays_behind_a_published_revision_is_not_ready(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.authz.publishing.watch.FOLLOW_WITHIN", 3600.0)
    async with watching(database, silence, poll_every=0.05) as (_, watch):
        assert watch.health().state == "up"
        await execute(
            database,
            "INSERT INTO sys.policy_revision (revision, digest, line_count, cause)"
            " SELECT 2, 'x', line_count, 'forced' FROM sys.policy_revision",
        )
        await until(lambda: watch.health().state == "degraded")
        monkeypatch.setattr("service.authz.publishing.watch.FOLLOW_WITHIN", 0.0)
        await until(lambda: watch.health().state == "down")

        await publish(database)

        await until(lambda: watch.health().state == "up")


async def test_a_database_that_goes_away_leaves_the_last_valid_policy_and_is_found_again(
    own_seeded_stores: EmbeddedStores,
) -> None:
    stores = own_seeded_stores
    async with Database(stores.database_url) as database:
        await publish(database)
        async with watching(database, listening(stores.database_url), poll_every=0.05) as (
            live,
            watch,
        ):
            stores.postgres.stop()
            await until(lambda: watch.fault is not None)
            assert live.current.revision == 1

            stores.postgres.start()
            published = await publish(database, enabled(False))

            await until(lambda: live.current.revision == published.revision and watch.fault is None)


async def test_every_worker_is_seen_with_its_revision_until_it_leaves(database: Database) -> None:
    async with (
        watching(database, silence, poll_every=0.05) as (_, watch),
        watching(database, silence, worker="b:1") as (beside, other),
    ):
        await publish(database, enabled(False))

        async def reported() -> list[tuple[str, int]]:
            return [(worker.worker, worker.revision) for worker in await watch.workers()]

        async with asyncio.timeout(20):
            # The other one may have looked before the revision was published, or after.
            while await reported() != [("a:1", 2), ("b:1", beside.current.revision)]:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
        await other.leave()
        assert await reported() == [("a:1", 2)]


async def test_a_worker_with_another_own_part_serves_on_and_is_told_by_the_others(database: Database) -> None:
    other = replace(SHIPPED, endpoints=SHIPPED.endpoints[1:])
    async with watching(database, silence, poll_every=0.05) as (live, watch):
        with capture_logs() as lines:
            async with watching(database, silence, worker="b:1", shipped=other) as (elsewhere, beside):
                watch._report_again = 0.0  # reports are seconds apart
                await until(lambda: watch.static_policies.differing == 1)
                assert beside.static_policies.differing == 1
                assert (live.current.revision, elsewhere.current.revision) == (1, 1)
                assert [worker.own_digest for worker in await watch.workers()] == [
                    SHIPPED.digest,
                    other.digest,
                ]

    entries = [line for line in lines if line["event"] == "workers decide by another own part of the policy"]
    assert [line["workers"] for line in entries] == [{"a:1": SHIPPED.digest}, {"b:1": other.digest}]


async def test_a_request_that_waits_for_a_revision_gets_it_as_soon_as_it_is_in_force() -> None:
    live = LivePolicy(SHIPPED, RevisionSeals())
    live.offer(Policy(SHIPPED.model_text, revision=4))
    assert (await live.at_least(4, within=0)).revision == 4
    waiting = [asyncio.create_task(live.at_least(revision, within=20)) for revision in (5, 6, 7)]
    await asyncio.sleep(0)

    live.offer(Policy(SHIPPED.model_text, revision=5))
    live.offer(Policy(SHIPPED.model_text, revision=7))

    assert [policy.revision for policy in await asyncio.gather(*waiting)] == [7, 7, 7]


async def test_a_request_that_waits_in_vain_for_a_revision_is_refused() -> None:
    with pytest.raises(Unavailable, match="older than 9"):
        await LivePolicy(SHIPPED, RevisionSeals()).at_least(9, within=0.01)


def healing(database: Database, worker: str = "a:1") -> tuple[LivePolicy, PolicyWatch]:
    """Return a worker that looks only when it is told to, and mends what it finds."""
    live = LivePolicy(SHIPPED, RevisionSeals())
    changes = PolicyChanges(database, live, SHIPPED, lambda: SHIPPED, leave_to_workers)
    return live, PolicyWatch(
        live, database, silence, Unannounced(), worker, token_life=7200, mend=changes.mend
    )


FORGED = (
    "INSERT INTO sys.policy_revision (revision, digest, line_count, cause)"
    " SELECT 9999, {digest}, line_count, 'forged' FROM sys.policy_revision"
)


async def test_a_newest_revision_that_nobody_can_use_is_replaced_by_what_is_stored(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.authz.publishing.watch.RETRY_EVERY", 0.0)
    (live, watch), (other, beside) = healing(database), healing(database, "b:2")
    await watch.look()
    digest = live.current.digest
    await execute(database, FORGED.format(digest="'0000'"))

    with capture_logs() as logged:
        for _ in range(3):
            await watch.look()
            await beside.look()

    assert (live.current.revision, live.current.digest) == (10_000, digest)
    assert (other.current.revision, other.current.digest) == (10_000, digest)
    assert (watch.fault, beside.fault) == (None, None)
    (entry,) = [line for line in logged if line["event"].startswith("no worker can use")]
    assert (entry["log_level"], entry["event_type"], entry["newest"]) == ("error", "security", 9999)


async def test_a_newest_revision_that_another_worker_uses_is_left_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.authz.publishing.watch.RETRY_EVERY", 0.0)
    live, watch = healing(database)
    await watch.look()
    await execute(
        database,
        FORGED.format(digest="'0000'"),
        "INSERT INTO sys.policy_worker (worker, revision) VALUES ('b:2', 9999)",
    )

    for _ in range(3):
        await watch.look()

    assert live.current.revision == 1
    assert "digest of revision 9999" in (watch.fault or "")


@pytest.mark.parametrize(
    ("lost", "then"),
    [
        ("DELETE FROM sys.policy_revision WHERE revision = 9999", 1),
        ("UPDATE sys.policy_revision SET digest = '0000' WHERE revision = 9999", 9999),
    ],
)
async def test_what_the_database_says_counts_when_it_lost_the_revision_in_force(
    database: Database, lost: str, then: int
) -> None:
    (live, watch), (other, beside) = healing(database), healing(database, "b:2")
    await execute(database, FORGED.format(digest="digest"))
    await watch.look()
    await beside.look()
    before = live.current
    assert before.revision == other.current.revision == 9999
    await execute(database, lost, enabled(False))

    with capture_logs() as logged:
        await watch.look()
        await beside.look()

    assert live.current.revision == other.current.revision == 10_000
    assert live.current.digest == other.current.digest != before.digest
    entries = [line for line in logged if line["event"].startswith("the database has lost")]
    assert [(line["newest"], line["in_force"]) for line in entries] == [(then, 9999)]


async def test_a_revision_that_is_lost_before_the_watch_has_seen_it_is_noticed(database: Database) -> None:
    live, watch = healing(database)
    await watch.look()
    await execute(database, FORGED.format(digest="digest"))
    await live.load(database)  # as who publishes does, before the watch looks again
    assert live.current.revision == 9999
    await execute(database, "DELETE FROM sys.policy_revision WHERE revision = 9999")

    watching = asyncio.create_task(watch.run())
    try:
        await until(lambda: live.current.revision == 10_000)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_what_has_expired_is_removed_once_a_minute_and_not_with_each_report(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    now = 1000.0

    def counted(module: object, name: str) -> None:
        before = getattr(module, name)

        async def counting(*arguments: object, **facts: object) -> object:
            done.append(name)
            return await before(*arguments, **facts)

        monkeypatch.setattr(module, name, counting)

    monkeypatch.setattr("service.authz.publishing.watch.monotonic", lambda: now)
    counted(policy_workers, "report")
    counted(policy_workers, "forget")
    counted(bit_positions, "report_life")
    watch = PolicyWatch(
        LivePolicy(SHIPPED, RevisionSeals()), database, silence, Unannounced(), "a:1", token_life=7200
    )
    for _ in range(int(UPKEEP_EVERY / REPORT_EVERY)):
        await watch.look()
        now += REPORT_EVERY
    assert done == ["report", "forget", "report_life", *["report"] * 11]
    await watch.look()
    assert done[-3:] == ["report", "forget", "report_life"]
