"""On a cluster a revocation is told in one of several lists before it is made: see decision 0115."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from service.errors import Unavailable
from service.kernel.coded_sentences import Sentence
from service.keyspace import SessionStore
from service.keyspace.keys import ClusterNames
from service.keyspace.scripts import Revoked
from tests.features.cluster.test_cluster import FACTS, log_in, opened, users_of
from tests.features.sentinel.test_sentinel import until
from tests.support.cluster_raw import ClusterRaw
from tests.support.valkey_cluster import ValkeyCluster

NAMES = ClusterNames()
LISTS = [NAMES.of("auth:revocations", tag) for tag in NAMES.queues]


@pytest.fixture
async def shared(valkey_cluster: ValkeyCluster) -> AsyncIterator[SessionStore]:
    valkey_cluster.empty()
    async with opened(valkey_cluster.url) as store:
        yield store


@pytest.fixture
async def raw(valkey_cluster: ValkeyCluster) -> AsyncIterator[Any]:
    """redis-py's client of the cluster, which takes keys as they are."""
    made = ClusterRaw(valkey_cluster.url)
    yield made._client
    await made.close()


Revoke = Callable[[str, Sequence[Revoked]], Awaitable[None]]


def replace_revoke(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch, new: Callable[[Revoke], Revoke]
) -> None:
    """Let the store tell revocations by what ``new`` makes of how it usually does."""
    elsewhere = store._servers.elsewhere
    assert elsewhere is not None
    monkeypatch.setattr(elsewhere, "revoke", new(elsewhere.revoke))


async def refused(_key: str, _revoked: Sequence[Revoked]) -> None:
    raise Unavailable(Sentence("The list is out of reach"))


async def listed(store: SessionStore, place: str | None) -> tuple[Counter[str], dict[str, int]]:
    """Return the sessions that were told as ended behind a place, and the users as marked, with the times."""
    entries = (await store.revocations.behind(place, 100_000)).entries
    ended = Counter(entry.text for entry in entries if entry.kind == "ended")
    marked: dict[str, int] = {}
    for entry in entries:
        for each in entry.text.split(" ") if entry.kind == "marked" else ():
            user, _, until = each.partition(":")
            marked[user] = max(int(until), marked.get(user, 0))
    return ended, marked


async def place_of(store: SessionStore) -> str:
    return (await store.revocations.behind(None)).place


async def open_on(store: SessionStore, login_id: str, device: str, rid: str) -> str:
    seen = await store.marker_of(login_id)
    opening = await store.open_session(login_id, device, rid * 24, FACTS, seen=seen)
    assert opening.outcome == "opened"
    return opening.sid


async def test_each_mark_and_each_end_of_a_session_is_in_a_list_when_the_call_returns(
    shared: SessionStore,
) -> None:
    place = await place_of(shared)
    web, phone = await open_on(shared, "1", "web", "a"), await open_on(shared, "1", "phone", "b")
    assert await listed(shared, place) == (Counter(), {})
    again = await open_on(shared, "1", "web", "c")
    assert await listed(shared, place) == (Counter([web]), {})
    place = await place_of(shared)
    await shared.mark(["1", "2", "3"])
    ended, marked = await listed(shared, place)
    assert (ended, set(marked)) == (Counter(), {"1", "2", "3"})
    place = await place_of(shared)
    assert await shared.close_session("1", "web")
    ended, marked = await listed(shared, place)
    assert (ended, set(marked)) == (Counter([again]), {"1"})
    place = await place_of(shared)
    assert await shared.ban("1", None, "test") == 1
    assert (await listed(shared, place))[0] == Counter([phone])


async def test_a_mark_is_told_with_the_time_that_it_has(shared: SessionStore, raw: Any) -> None:
    place = await place_of(shared)
    await log_in(shared, "7")
    await shared.close_sessions("7")
    marker = float((await raw.get("auth:deny:{7}")).removeprefix("refresh:"))
    assert (await listed(shared, place))[1] == {"7": round(1000 * marker)}


async def test_what_can_not_be_told_is_not_made_and_is_when_it_is_repeated(
    shared: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await place_of(shared)
    sid = await open_on(shared, "7", "web", "a")

    with monkeypatch.context() as patch:
        replace_revoke(shared, patch, lambda _: refused)
        for call in (shared.close_session("7", "web"), shared.mark(["7"]), shared.ban("7", None, "x")):
            with pytest.raises(Unavailable):
                await call
    answer = await shared.check("7", "web")
    assert (answer.marker, answer.value is None) == (None, False)
    assert await listed(shared, place) == (Counter(), {})

    assert await shared.close_session("7", "web")
    ended, marked = await listed(shared, place)
    assert (ended, set(marked)) == (Counter([sid]), {"7"})


async def test_who_dies_between_telling_and_ending_has_ended_nothing_and_it_is_repeated(
    shared: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await place_of(shared)
    await log_in(shared, "7")

    def dies_after(revoke: Revoke) -> Revoke:
        async def died(key: str, revoked: Sequence[Revoked]) -> None:
            await revoke(key, revoked)
            raise asyncio.CancelledError

        return died

    with monkeypatch.context() as patch:
        replace_revoke(shared, patch, dies_after)
        with pytest.raises(asyncio.CancelledError):
            await shared.close_sessions("7")
    assert (await shared.check("7", "web")).value is not None
    assert set((await listed(shared, place))[1]) == {"7"}
    assert await shared.close_sessions("7") == 1


@pytest.mark.parametrize("refreshes", [1, 20])
async def test_tokens_that_are_issued_between_telling_and_ending_are_told_too(
    shared: SessionStore, valkey_cluster: ValkeyCluster, monkeypatch: pytest.MonkeyPatch, refreshes: int
) -> None:
    """Somebody who refreshes all the time neither escapes nor keeps the session from being ended."""
    place = await place_of(shared)
    sid = await open_on(shared, "7", "web", "0")
    issued: list[int] = []
    names: dict[str, Any] = {"user_name": "ann", "nick_name": ""}
    async with opened(valkey_cluster.url) as other:

        def refreshing(revoke: Revoke) -> Revoke:
            async def refreshed(key: str, revoked: Sequence[Revoked]) -> None:
                await revoke(key, revoked)
                if len(issued) < refreshes:
                    await asyncio.sleep(0.002)
                    rids = (f"{len(issued)}" * 24, f"{len(issued) + 1}" * 24)
                    rotation = await other.rotate_session(
                        "7", *rids, **names, seen=await other.marker_of("7")
                    )
                    assert rotation.outcome == "rotated"
                    issued.append(rotation.issued)

            return refreshed

        replace_revoke(shared, monkeypatch, refreshing)
        assert await shared.close_session("7", "web")
    ended, marked = await listed(shared, place)
    assert sid in ended
    assert len(issued) >= 1
    assert marked["7"] >= issued[-1]
    marker = (await shared.check("7", "web")).marker
    assert marker is not None
    assert issued[-1] <= round(1000 * float(marker.removeprefix(b"refresh:"))) <= marked["7"]


async def test_a_session_that_was_ahead_loses_its_name_only_after_that_was_told(
    shared: SessionStore, raw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await place_of(shared)
    sid = await open_on(shared, "7", "web", "a")
    ahead = time.time() + 900
    text = await raw.get("auth:device:{7}:web")
    moment = (await shared.sessions("7"))["web"].last_refresh_time
    await raw.set("auth:device:{7}:web", text.replace(f"{moment:.14g}", f"{ahead:.3f}"), keepttl=True)

    with monkeypatch.context() as patch:
        replace_revoke(shared, patch, lambda _: refused)
        with pytest.raises(Unavailable):
            await shared.sessions("7")
    assert sid in await raw.get("auth:device:{7}:web")
    after = (await shared.sessions("7"))["web"]
    assert after.sid != sid
    assert (await listed(shared, place))[0] == Counter([sid])


async def test_no_entry_has_an_earlier_id_than_what_it_tells(shared: SessionStore, raw: Any) -> None:
    """So a list that was cut off ends no token that is younger than its first entry."""
    await place_of(shared)
    await log_in(shared, "7")
    soon = time.time() + 0.9  # by what the clocks of two servers may differ
    text = await raw.get("auth:device:{7}:web")
    moment = (await shared.sessions("7"))["web"].last_refresh_time
    await raw.set("auth:device:{7}:web", text.replace(f"{moment:.14g}", f"{soon:.3f}"), keepttl=True)
    await shared.mark(["7"])
    await shared.mark(["7"])
    entries = [entry for name in LISTS for entry in await raw.xrange(name)]
    times = [
        (int(place.partition("-")[0]), int(facts["marked"].partition(":")[2]))
        for place, facts in entries
        if "marked" in facts
    ]
    assert len(times) == 2
    assert all(place >= until >= round(1000 * soon) for place, until in times)


async def test_users_who_are_marked_together_share_entries(shared: SessionStore) -> None:
    place = await place_of(shared)
    users = [str(number) for number in range(1, 501)]
    await shared.mark(users)
    part = await shared.revocations.behind(place, 100_000)
    assert set((await listed(shared, place))[1]) == set(users)
    assert len(part.entries) <= len(users) / 5


async def test_entries_of_a_user_are_on_the_server_of_the_user(
    shared: SessionStore, valkey_cluster: ValkeyCluster, raw: Any
) -> None:
    await place_of(shared)
    for port in valkey_cluster.primaries:
        before = {name: await raw.xlen(name) for name in LISTS}
        for user in users_of(valkey_cluster, port, 20):
            await shared.mark([user])
        grown = [name for name in LISTS if await raw.xlen(name) > before[name]]
        assert grown
        assert {valkey_cluster.owner(name) for name in grown} == {port}


async def test_a_place_that_is_not_in_each_list_is_told_as_incomplete(shared: SessionStore, raw: Any) -> None:
    first = await shared.revocations.behind(None)
    for number in range(1, 40):
        await shared.mark([str(number)])
    seen: set[str] = set()
    place, more = first.place, True
    while more:
        part = await shared.revocations.behind(place, 8)
        assert part.complete
        place, more = part.place, part.more
        seen |= {entry.text.partition(":")[0] for entry in part.entries}
    assert seen == {str(number) for number in range(1, 40)}
    assert place == await shared.revocations.last() == (await shared.revocations.behind(place)).place

    for other in ("1700000000000-0", place + ",1-0", "0-0," * 7 + "0-0"):
        assert not (await shared.revocations.behind(other)).complete
    await raw.delete(LISTS[3])
    await shared.mark(["7"])
    lost = await shared.revocations.behind(place)
    assert not lost.complete
    assert lost.whole_since > first.whole_since
    assert (await shared.revocations.behind(lost.place)).complete


async def test_a_list_that_has_lost_its_last_entries_is_not_continued(shared: SessionStore, raw: Any) -> None:
    """As after a failover; whatever was added since, and whichever clock the new primary has."""
    await shared.revocations.behind(None)
    await shared.mark(["7"])
    place = await place_of(shared)
    (home,) = [name for name in LISTS if await raw.xlen(name) > 1]
    ((last, _),) = await raw.xrevrange(home, count=1)
    await raw.xdel(home, last)
    assert not (await shared.revocations.behind(place)).complete
    await shared.mark(["7"])
    assert not (await shared.revocations.behind(place)).complete


async def test_a_list_that_is_not_read_is_not_made_and_begins_later_than_what_it_lacks(
    shared: SessionStore, raw: Any
) -> None:
    await log_in(shared, "7")
    await shared.close_sessions("7")
    marker = (await shared.check("7", "web")).marker
    assert marker is not None
    assert not any([await raw.exists(name) for name in LISTS])
    begun = await shared.revocations.behind(None)
    assert begun.whole_since > 1000 * float(marker.removeprefix(b"refresh:"))
    assert [await raw.exists(name) for name in LISTS] == [1] * len(LISTS)
    assert all([await raw.ttl(name) > 0 for name in LISTS])


async def test_a_list_begins_no_earlier_than_the_latest_clock_of_all_servers(
    shared: SessionStore,
) -> None:
    ahead = round(1000 * time.time()) + 50_000

    async def clock() -> int:
        return ahead

    assert (await replace(shared.revocations, clock=clock).behind(None)).whole_since > ahead


async def test_while_one_shard_is_away_lists_are_not_read_but_logouts_go_on_and_are_told_after_it(
    own_cluster: ValkeyCluster,
) -> None:
    dead, living = own_cluster.primaries[0], own_cluster.primaries[1]
    lost, other = users_of(own_cluster, dead, 1)[0], users_of(own_cluster, living, 1)[0]
    async with opened(own_cluster.url, wait_replicas=1) as store:
        for user in (lost, other):
            await log_in(store, user)
        place = await place_of(store)
        await store.mark([lost])
        own_cluster.kill(dead)
        with pytest.raises(Unavailable):
            await store.revocations.behind(place)
        with pytest.raises(Unavailable):
            await store.revocations.last()
        assert await store.close_session(other, "web")
        await until(lambda: store.revocations.behind(place))
        assert set((await listed(store, place))[1]) == {lost, other}
        assert (await store.revocations.behind(place)).complete


async def test_what_concerns_a_shard_without_lists_that_work_is_told_in_another_list(
    own_cluster: ValkeyCluster,
) -> None:
    dead = own_cluster.primaries[0]
    user = users_of(own_cluster, dead, 1)[0]
    async with opened(own_cluster.url) as store:
        await place_of(store)
        for port in (*own_cluster.replicas_of[dead], dead):
            own_cluster.kill(port)
        with pytest.raises(Unavailable):
            await store.mark([user])
        elsewhere = store._servers.elsewhere
        assert elsewhere is not None
        await elsewhere.revoke(NAMES.of(f"auth:deny:{user}"), [("marked", user, 1)])
        with own_cluster.client_of_all() as client:
            lists = [name for name in LISTS if own_cluster.owner(name) != dead]
            entries = [facts for name in lists for _, facts in client.xrange(name)]
    assert {"marked": f"{user}:1"} in entries
