"""A store of several servers that share the keys: redirects, dead servers, copies, indexes apart."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import islice
from typing import Any

import pytest
from redis.asyncio import Redis as Client

from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.keyspace import SessionFacts, SessionStore
from service.keyspace.connection import StoreUrlError, tls_addresses
from service.keyspace.inspection import inspect
from service.keyspace.keys import PARTS, SLOTS, ClusterNames, Names, slot_of
from service.settings import Auth, Redis
from tests.features.sentinel.test_sentinel import until
from tests.support.cases import with_each
from tests.support.cluster_raw import ClusterRaw
from tests.support.valkey_cluster import ValkeyCluster

FACTS = SessionFacts("ann", "Ann", "10.0.0.1", "", "", "")
NAMES = ClusterNames()
MOST_ROUND_TRIPS = 2  # that are saved where a script is told which session a refresh id is of


@asynccontextmanager
async def opened(url: str, wait_replicas: int = 0) -> AsyncIterator[SessionStore]:
    store = SessionStore(Redis(url=url, wait_replicas=wait_replicas, timeout=2.0), Auth())
    following = asyncio.create_task(store.follow_primary())
    try:
        yield store
    finally:
        following.cancel()
        await store.close()


@pytest.fixture
async def shared(valkey_cluster: ValkeyCluster) -> AsyncIterator[SessionStore]:
    valkey_cluster.empty()
    async with opened(valkey_cluster.url) as store:
        yield store


async def log_in(store: SessionStore, login_id: str, rid: str = "a" * 24) -> None:
    seen = await store.marker_of(login_id)
    assert (await store.open_session(login_id, "web", rid, FACTS, seen=seen)).outcome == "opened"


def users_of(cluster: ValkeyCluster, port: int, number: int) -> list[str]:
    """Return ids of users whose keys a primary has."""
    candidates = (str(login_id) for login_id in range(1, 10_000))
    slots = cluster.slots_of(port)
    return list(islice((user for user in candidates if slot_of(user) in slots), number))


def test_names_of_one_server_are_those_that_are_documented() -> None:
    names = Names()
    for name in ("auth:deny:7", "auth:device:7:web", "auth:refresh:abc", "auth:online:user:a{b}c", "rate:x"):
        assert names.of(name, "") == name
    assert (names.refresh_id("7", "abc"), names.tags, names.part("7")) == ("abc", ("",), "")


def test_all_keys_of_a_user_are_in_one_slot_of_a_cluster() -> None:
    rid = NAMES.refresh_id("7", "abc")
    documented = [f"auth:{kind}:7" for kind in ("deny", "ban", "rights", "devices")]
    documented += [
        "auth:device:7:web",
        "auth:undelivered:7:web:123",
        f"auth:refresh:{rid}",
        f"auth:spent:{rid}",
    ]

    assert NAMES.of("auth:deny:7") == "auth:deny:{7}"
    assert NAMES.of("auth:device:7:web") == "auth:device:{7}:web"
    assert (rid, NAMES.refresh_id("7", rid)) == ("{7}.abc", rid)
    assert {slot_of(NAMES.of(name)) for name in documented} == {slot_of("7")}


def test_a_refresh_id_of_another_user_names_no_key_of_that_user() -> None:
    assert slot_of(f"auth:refresh:{NAMES.refresh_id('7', '{8}.abc')}") == slot_of("7")


def test_parts_lie_evenly_over_the_slots_and_names_of_users_do_not_move_them() -> None:
    slots = [slot_of(NAMES.of("auth:online:user:a{b}c", tag)) for tag in NAMES.tags]

    assert [slot * PARTS // SLOTS for slot in slots] == list(range(PARTS))
    assert NAMES.of("auth:online:user:a{b}c", "p7") == "auth:online{p7}:user:a{b}c"
    assert slot_of(NAMES.of("auth:rights", NAMES.part("7"))) * PARTS // SLOTS == slot_of("7") * PARTS // SLOTS


@with_each(
    "url",
    ["redis+cluster://", "redis+cluster://h:0", "redis+cluster://h/1", "redis+cluster://h?unheard_of=1"],
)
def test_a_url_of_a_cluster_that_can_not_be_used_is_refused(url: str) -> None:
    with pytest.raises(StoreUrlError):
        SessionStore(Redis(url=url), Auth())


def test_servers_of_a_cluster_by_tls_are_those_of_its_url() -> None:
    assert list(tls_addresses("rediss+cluster://u:p@one:7000,two")) == [("one", 7000), ("two", 6379)]
    assert list(tls_addresses("redis+cluster://one,two")) == []


def sent(store: SessionStore, call: str) -> dict[str, int]:
    """Return how many commands have been answered, by server; all checks of a batch are one."""
    calls = ((labels, pipeline) for labels, pipeline in store.calls() if labels["call"] == call)
    return {labels["shard"]: sum(pipeline.durations.buckets) for labels, pipeline in calls}


async def test_checks_of_many_users_are_one_round_trip_to_each_server(shared: SessionStore) -> None:
    await shared.revision_key.announce(3)
    for number in range(1, 31):
        await log_in(shared, str(number))
    before = sent(shared, "check")
    answers = await asyncio.gather(*(shared.check(str(number), "web") for number in range(1, 31)))
    after = sent(shared, "check")

    assert [after[shard] - before[shard] for shard in before] == [1, 1, 1]
    assert all(answer.revision == 3 for answer in answers)
    assert all(answer.value is not None for answer in answers)


async def test_a_refresh_of_which_the_marker_was_read_is_one_script(valkey_cluster: ValkeyCluster) -> None:
    valkey_cluster.empty()
    async with SessionStore(Redis(url=valkey_cluster.url), Auth()) as store:
        await log_in(store, "7", "a" * 24)
        asked, refreshed = [], []
        for rid, following in (("a", "b"), ("b", "c"), ("c", "d")):
            seen = await store.marker_of("7", rid * 24)
            await store.online.count()  # the index was told of the login by a command of its own
            asked.append(sum(sent(store, "command").values()))
            names: dict[str, Any] = {"user_name": "ann", "nick_name": ""}
            marker = seen if rid < "c" else bytes(seen)
            rotated = await store.rotate_session("7", rid * 24, following * 24, **names, seen=marker)
            assert rotated.outcome == "rotated"
            await store.close_session("7", "other")  # after the command to the index
            refreshed.append(sum(sent(store, "command").values()))

    _, hinted, unhinted = (after - before for before, after in zip(asked, refreshed, strict=True))
    assert unhinted - hinted == MOST_ROUND_TRIPS


async def test_all_copies_of_the_epoch_of_all_rights_stay_equal_and_change_with_each_change(
    shared: SessionStore, valkey_cluster: ValkeyCluster
) -> None:
    users = [users_of(valkey_cluster, port, 1)[0] for port in valkey_cluster.primaries]
    seen: set[bytes | None] = set()
    for user in users:
        await shared.mark([user])
        epochs = {(await shared.check_rights(other)).all_rights for other in users}
        assert len(epochs) == 1
        assert not epochs & seen
        seen |= epochs


async def test_copies_that_were_replaced_at_once_are_never_what_another_one_was(shared: SessionStore) -> None:
    """Two copies with the same text have seen the same changes: see ``Cluster.end_rights``."""
    for _ in range(5):
        await asyncio.gather(*(shared.mark([str(number)]) for number in range(6)))
        tags = [server.tag for server in await shared._servers.primaries()]
        before = {tag: (await shared._client.values(NAMES.of("auth:rights", tag or "")))[0] for tag in tags}
        await shared.mark(["7"])
        after = {tag: (await shared._client.values(NAMES.of("auth:rights", tag or "")))[0] for tag in tags}
        assert not {*before.values()} & {*after.values()}


async def test_a_lower_or_missing_copy_of_the_revision_is_told_and_raised(
    shared: SessionStore, valkey_cluster: ValkeyCluster
) -> None:
    await shared.revision_key.announce(7)
    assert (await shared.revision_key.read(None)).numbers == {7}
    raw = ClusterRaw(valkey_cluster.url)
    await raw._client.delete(NAMES.of("policy:revision", NAMES.tags[3]))
    await raw._client.set(NAMES.of("policy:revision", NAMES.tags[4]), "6:")
    await raw.close()

    announced = await shared.revision_key.read(None)
    assert (announced.revision, announced.numbers) == (7, {7, 6, None})
    assert await shared.revision_key.replace(announced, 7)
    assert (await shared.revision_key.read(None)).numbers == {7}


async def test_a_session_whose_index_was_lost_is_back_with_its_next_refresh(
    shared: SessionStore, valkey_cluster: ValkeyCluster
) -> None:
    await log_in(shared, "7")
    assert await shared.online.count() == 1
    raw = ClusterRaw(valkey_cluster.url)
    for tag in NAMES.tags:
        await raw._client.delete(NAMES.of("auth:online", tag))
    await raw.close()
    assert await shared.online.count() == 0
    await shared.rotate_session("7", "a" * 24, "b" * 24, user_name="ann", nick_name="", seen=b"")
    assert [row.login_id for row in (await shared.online.page()).rows] == ["7"]


async def test_a_deep_page_of_all_parts_is_that_of_one_list(
    shared: SessionStore, valkey_cluster: ValkeyCluster
) -> None:
    raw = ClusterRaw(valkey_cluster.url)
    ends = round(1000 * time.time()) + 3_600_000
    await raw.zadd("auth:online", {f"{number}:web": ends - 7 * number for number in range(1, 3001)})
    await raw.mset({f"auth:device:{number}:web": "{}" for number in range(1, 3001)})
    await raw.close()
    for number in (1, 2, 40, 60, 61):
        page = await shared.online.page(number=number, size=50)
        expected = range(50 * number - 49, min(50 * number, 3000) + 1)
        assert [int(row.login_id) for row in page.rows] == list(expected)
        assert page.total == 3000


async def test_the_doctor_has_the_facts_of_all_shards(valkey_cluster: ValkeyCluster) -> None:
    facts = await inspect(Redis(url=valkey_cluster.url))
    assert (facts.mode, facts.shards, facts.covered, facts.needs_all) == ("cluster", 3, 1.0, False)
    assert (facts.replicas, facts.most_replicas) == (1, 1)
    assert facts.needs_replicas is False


async def test_whether_a_server_refuses_writes_without_replicas_is_told(own_stores: EmbeddedStores) -> None:
    settings = Redis(url=own_stores.redis_url)
    async with Client.from_url(own_stores.redis_url) as raw:
        assert (await inspect(settings)).needs_replicas is False
        await raw.config_set("min-replicas-to-write", 1)
        assert (await inspect(settings)).needs_replicas is True


async def test_a_shard_without_a_primary_keeps_out_its_own_users_and_changes_of_rights_only(
    own_cluster: ValkeyCluster,
) -> None:
    dead, *living = own_cluster.primaries
    lost, others = users_of(own_cluster, dead, 3), users_of(own_cluster, living[0], 3)
    async with opened(own_cluster.url) as store:
        await store.revision_key.announce(1)
        for user in (*lost, *others):
            await log_in(store, user)
        for port in own_cluster.replicas_of[dead]:
            own_cluster.kill(port)
        own_cluster.kill(dead)
        for refused in (store.check(lost[0], "web"), store.mark([others[0]]), store.revision_key.announce(2)):
            with pytest.raises(Unavailable):
                await refused
        with pytest.raises(Unavailable):
            await log_in(store, lost[1])

        answer = await store.check(others[0], "web")
        assert answer.value is not None
        assert answer.revision in (1, 2)
        assert await store.close_session(others[0], "web")
        assert (await store.check(others[0], "web")).marker is not None
        await log_in(store, others[0])
        for number in range(20):
            assert await store.counters.hit(5, 60, "login", f"name{number}") is None
            assert await store.log.add("w", number, b"x", count=1, dropped=0, most_bytes=100_000)
        health = await store.probe.health()
        assert (health.state, health.details["down"]) == ("degraded", [f"127.0.0.1:{dead}"])
        assert {batch.content for batch in await store.log.take("w", most=64)} == {b"x"}


@pytest.mark.extended
async def test_a_replica_that_was_promoted_is_followed_and_has_what_it_confirmed(
    own_cluster: ValkeyCluster,
) -> None:
    old = own_cluster.primaries[1]
    users = users_of(own_cluster, old, 6)
    acknowledged = []
    async with opened(own_cluster.url, wait_replicas=1) as store:
        for user in users[:3]:
            await log_in(store, user)
            await store.close_session(user, "web")
            acknowledged.append(user)
        await asyncio.to_thread(own_cluster.cut_off_replicas_of, old)
        for user in users[3:]:
            with suppress(Unavailable):
                await store.close_sessions(user)
                acknowledged.append(user)
        own_cluster.kill(old)
        await until(lambda: store.check(users[0], "web"))
        lost = [user for user in acknowledged if (await store.check(user, "web")).marker is None]
    assert acknowledged == users[:3]
    assert lost == []


@pytest.mark.parametrize("batch", [1])
async def test_while_slots_are_moved_each_answer_is_right_and_no_session_is_lost(
    own_cluster: ValkeyCluster, batch: int
) -> None:
    source, target = own_cluster.primaries[0], own_cluster.primaries[1]
    users = users_of(own_cluster, source, 4)
    async with opened(own_cluster.url) as store:
        await store.revision_key.announce(1)
        for user in users:
            await log_in(store, user)
        rids = dict.fromkeys(users, "a" * 24)
        wrong: list[str] = []
        moving = asyncio.gather(
            *(asyncio.to_thread(own_cluster.move, slot_of(user), target, batch=batch) for user in users[:2])
        )
        turn = 0
        while not moving.done() or turn < 20:
            turn += 1
            for user in users:
                with suppress(Unavailable):
                    answer = await store.check(user, "web")
                    if answer.value is None or answer.revision != 1:
                        wrong.append(f"check of {user}: {answer}")
                    following = f"{turn:024}"
                    seen = await store.marker_of(user, rids[user])
                    names: dict[str, Any] = {"user_name": "ann", "nick_name": ""}
                    rotated = await store.rotate_session(user, rids[user], following, **names, seen=seen)
                    if rotated.outcome not in ("rotated", "again", "pending"):
                        wrong.append(f"refresh of {user}: {rotated}")
                    elif rotated.lease is not None:
                        rids[user] = rotated.rid
                        await store.deliveries.confirm(rotated.lease)
        await moving
        for user in users:
            assert (await store.check(user, "web")).value is not None
        assert own_cluster.owner(users[0]) == target
    assert wrong == []
