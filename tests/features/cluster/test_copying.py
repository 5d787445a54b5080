"""Moving from one server to a cluster: sessions go on, what is spent stays spent, and bans stay."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from service.features.cluster.copying import CopyError, copy_to_cluster
from service.keyspace import BANNED, RevisionCheckpoint, SessionFacts, SessionStore
from service.settings import Auth, Redis
from tests.support.valkey_cluster import ValkeyCluster

FACTS = SessionFacts("ann", "Ann", "10.0.0.1", "", "", "")
NAMES: dict[str, Any] = {"user_name": "ann", "nick_name": "Ann"}


@pytest.fixture
async def copied(
    store: SessionStore, redis_url: str, valkey_cluster: ValkeyCluster
) -> AsyncIterator[SessionStore]:
    """A cluster with all that ``store`` had: three users, of whom one is banned, and what is nobody's."""
    for number in ("1", "2", "3"):
        await store.open_session(number, "web", f"a{number}", FACTS, seen=b"")
    rotated = await store.rotate_session("1", "a1", "b1", seen=b"", **NAMES)
    assert rotated.lease is not None
    await store.deliveries.confirm(rotated.lease)
    await store.close_session("2", "web")
    await store.ban("3", None, "spam")
    await store.revision_key.announce(12)
    await store.revision_key.anchor("epoch", RevisionCheckpoint(11, "hash"))
    await store.log.add("w", 1, b"batch", count=2, dropped=0, most_bytes=1000)
    for _ in range(2):
        await store.counters.hit(2, 600, "login", "ann")
    await store.counters.know("device", 600, "address", 600)
    valkey_cluster.empty()
    kinds = await copy_to_cluster(Redis(url=redis_url), Redis(url=valkey_cluster.url))
    assert kinds["auth:device"] == 1
    async with SessionStore(Redis(url=valkey_cluster.url), Auth()) as on_cluster:
        yield on_cluster


async def test_sessions_go_on_with_the_tokens_that_they_had(
    copied: SessionStore, store: SessionStore
) -> None:
    before, after = (await store.sessions("1"))["web"], (await copied.sessions("1"))["web"]
    assert (after.sid, after.login_time, after.rid) == (before.sid, before.login_time, "{1}.b1")
    rotated = await copied.rotate_session("1", "b1", "c1", seen=b"", **NAMES)
    assert (rotated.outcome, rotated.rid) == ("rotated", "{1}.c1")
    assert [row.login_id for row in (await copied.online.page(user_name="ann")).rows] == ["1"]


async def test_what_is_spent_or_ended_or_banned_stays_so(copied: SessionStore) -> None:
    assert (await copied.rotate_session("1", "a1", "x1", seen=b"", **NAMES)).outcome == "superseded"
    assert (await copied.check("2", "web")).marker is not None
    assert (await copied.rotate_session("2", "a2", "x2", seen=b"", **NAMES)).outcome in ("unknown", "ended")
    assert (await copied.check("3", "web")).marker == BANNED
    ban = await copied.ban_of("3")
    assert ban is not None
    assert ban.note.reason == "spam"


async def test_what_belongs_to_nobody_is_where_it_is_looked_for(copied: SessionStore) -> None:
    announced = await copied.revision_key.read("epoch")
    assert (announced.numbers, announced.checkpoint) == ({12}, (11, "hash"))
    assert [batch.content for batch in await copied.log.take("w", most=8)] == [b"batch"]
    assert (await copied.log.counts()).under_way == 2
    assert await copied.counters.hit(2, 600, "login", "ann") is not None
    assert await copied.counters.knows("device", "address") == (True, True)


async def test_a_cluster_that_is_not_empty_and_one_as_the_source_are_refused(
    copied: SessionStore, redis_url: str, valkey_cluster: ValkeyCluster
) -> None:
    assert await copied.online.count() == 1
    server, cluster = Redis(url=redis_url), Redis(url=valkey_cluster.url)
    for source, target in ((server, cluster), (cluster, server), (cluster, cluster)):
        with pytest.raises(CopyError):
            await copy_to_cluster(source, target)
