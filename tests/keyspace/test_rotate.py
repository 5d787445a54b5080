"""Rotating refresh ids: one winner, races told from theft, and a kill that leaves nothing else behind."""

import asyncio
import itertools
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from redis.asyncio import Redis as Client
from redis.exceptions import RedisError

from service.authn.opening import new_rid
from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.kernel.assurance import Acr
from service.keyspace import Rotation, SessionFacts, SessionStore, StepUp
from service.settings import Auth, Redis
from tests.keyspace.conftest import OpenSession, Raw, plain
from tests.support.waiting import eventually_here

FACTS = SessionFacts("ann", "Ann", "10.0.0.1", "", "", "")


async def rotate(
    store: SessionStore, rid: str, next_rid: str, login_id: str = "1", *, seen: bytes | None = None
) -> Rotation:
    """Rotate, and hand out what there is to hand out, as each request does."""
    while True:
        seen = await store.marker_of(login_id) if seen is None else seen
        rotation = await store.rotate_session(
            login_id, rid, next_rid, user_name="ann", nick_name="Ann", seen=seen
        )
        if rotation.lease is not None:
            await store.deliveries.confirm(rotation.lease)
        if rotation.outcome != "pending":
            return rotation
        await asyncio.sleep(0.005)


@asynccontextmanager
async def store_with(redis_url: str, **changes: object) -> AsyncIterator[SessionStore]:
    """A store with other settings and one open session of user 1 with the refresh id ``a``."""
    async with SessionStore(Redis(url=redis_url), replace(Auth(), **changes)) as store:  # type: ignore[arg-type]  # by name
        await store.open_session("1", "web", "a", FACTS, seen=b"")
        yield store


async def test_a_rotation_replaces_the_refresh_id_everywhere(
    open_session: OpenSession, store: SessionStore, raw: Raw, auth: Auth
) -> None:
    opening = await open_session(rid="a")
    rotation = await rotate(store, "a", "b")
    session = json.loads(await raw.get("auth:device:1:web"))

    assert (rotation.outcome, plain(rotation.rid), rotation.device) == ("rotated", "b", "web")
    assert rotation.ends - rotation.issued == 1000 * auth.refresh_timeout
    assert await raw.get("auth:refresh:a") is None
    assert await raw.get("auth:refresh:b") == "1:web"
    assert (plain(session["rid"]), session["login_time"]) == ("b", opening.issued / 1000)
    assert session["last_refresh_time"] == rotation.issued / 1000


async def test_a_rotation_is_later_than_all_that_was_issued_before(
    open_session: OpenSession, store: SessionStore
) -> None:
    moments = [(await open_session(rid="0")).issued]
    for number in range(50):
        moments.append((await rotate(store, f"{number}", f"{number + 1}")).issued)
        await store.mark(["1"])

    assert moments == sorted(set(moments))


async def test_fifty_parallel_rotations_have_one_winner(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await open_session(rid="a")
    rotations = await asyncio.gather(*(rotate(store, "a", f"b{number}") for number in range(50)))
    outcomes = sorted(rotation.outcome for rotation in rotations)
    (winner,) = (rotation for rotation in rotations if rotation.outcome == "rotated")

    assert outcomes == ["rotated"] + ["superseded"] * 49
    assert await raw.keys("auth:refresh:*") == [f"auth:refresh:{plain(winner.rid)}"]
    assert (await store.sessions("1"))["web"].rid == winner.rid


async def test_a_spent_id_that_comes_back_after_the_race_window_ends_the_session(redis_url: str) -> None:
    async with store_with(redis_url, refresh_race_window=0) as store:
        await rotate(store, "a", "b")
        theft = await rotate(store, "a", "c")

        assert (theft.outcome, theft.device) == ("reused", "web")
        assert await store.sessions("1") == {}
        assert (await store.check("1", "web"))[0] is not None  # marked, too
        assert (await rotate(store, "b", "d")).outcome == "ended"


async def test_theft_ends_no_session_but_its_own(redis_url: str) -> None:
    async with store_with(redis_url, refresh_race_window=0) as store:
        await store.open_session("1", "ios", "other", FACTS, seen=b"")
        await rotate(store, "a", "b")
        await rotate(store, "a", "c")

        assert list(await store.sessions("1")) == ["ios"]


async def test_an_old_spent_id_does_not_end_the_session_of_a_later_login(redis_url: str) -> None:
    async with store_with(redis_url, refresh_race_window=0) as store:
        await rotate(store, "a", "b")
        await store.open_session("1", "web", "new", FACTS, seen=b"")

        assert (await rotate(store, "a", "c")).outcome == "ended"
        assert plain((await store.sessions("1"))["web"].rid) == "new"


async def test_an_id_spent_long_ago_is_still_known_as_reused(redis_url: str) -> None:
    async with store_with(redis_url, refresh_race_window=0) as store:
        for rid, next_rid in itertools.pairwise("abcdef"):
            assert (await rotate(store, rid, next_rid)).outcome == "rotated"

        assert (await rotate(store, "a", "z")).outcome == "reused"


async def test_within_the_grace_a_repeat_gets_the_same_successor(redis_url: str) -> None:
    async with store_with(redis_url, refresh_grace=60) as store:
        first = await rotate(store, "a", "b")
        again = await rotate(store, "a", "c")

        assert again == replace(first, outcome="again")


async def test_within_the_grace_a_repeat_of_the_last_but_one_is_superseded(redis_url: str) -> None:
    async with store_with(redis_url, refresh_grace=60) as store:
        await rotate(store, "a", "b")
        await rotate(store, "b", "c")

        assert (await rotate(store, "a", "d")).outcome == "superseded"


async def test_without_grace_a_refresh_id_works_once(open_session: OpenSession, store: SessionStore) -> None:
    await open_session(rid="a")
    await rotate(store, "a", "b")

    assert (await rotate(store, "a", "c")).outcome == "superseded"
    assert plain((await store.sessions("1"))["web"].rid) == "b"


async def test_another_users_refresh_id_is_unknown_and_untouched(
    open_session: OpenSession, store: SessionStore
) -> None:
    await open_session("10", "web", "a")

    assert (await rotate(store, "a", "b", login_id="1")).outcome == "unknown"
    assert (await rotate(store, "a", "b", login_id="10")).outcome == "rotated"
    assert (await rotate(store, "a", "c", login_id="1")).outcome == "unknown"


async def test_an_id_nobody_gave_out_is_unknown(store: SessionStore) -> None:
    assert (await rotate(store, "a", "b")).outcome == "unknown"


@pytest.mark.parametrize("ending", ["close", "close all", "replace", "evict"])
async def test_the_refresh_id_of_a_session_that_ended_is_ended(
    open_session: OpenSession, store: SessionStore, auth: Auth, ending: str
) -> None:
    await open_session(rid="a")
    if ending == "close":
        await store.close_session("1", "web")
    elif ending == "close all":
        await store.close_sessions("1")
    elif ending == "replace":
        await open_session(rid="b")
    else:
        for number in range(auth.max_devices):
            await open_session(device=f"d{number}", rid=f"r{number}")

    assert (await rotate(store, "a", "z")).outcome == "ended"


async def test_a_banned_user_rotates_nothing(open_session: OpenSession, store: SessionStore) -> None:
    await open_session(rid="a")
    until = await store.clock() + 60_000
    await store.ban("1", until, "")
    rotation = await rotate(store, "a", "b")

    assert (rotation.outcome, rotation.until) == ("banned", until)


async def test_a_rotation_that_read_the_user_before_the_mark_is_stale_and_spends_nothing(
    open_session: OpenSession, store: SessionStore
) -> None:
    await open_session(rid="a")
    seen = await store.marker_of("1")
    await store.mark(["1"])
    stale = await store.rotate_session("1", "a", "b", user_name="", nick_name="", seen=seen)

    assert stale.outcome == "stale"
    assert (await rotate(store, "a", "b")).outcome == "rotated"


async def test_no_refresh_carries_a_session_beyond_its_longest_age(redis_url: str) -> None:
    async with store_with(redis_url, refresh_timeout=60, session_max_age=70) as store:
        opened = (await store.sessions("1"))["web"].login_time
        rotation = await rotate(store, "a", "b")

        assert rotation.ends <= rotation.issued + 60_000
        assert rotation.ends <= round(1000 * opened) + 70_000


async def test_a_session_over_its_longest_age_is_ended_by_the_next_refresh(redis_url: str) -> None:
    async with store_with(redis_url) as store, store_with(redis_url, session_max_age=0) as strict:
        await store.open_session("1", "web", "a", FACTS, seen=b"")

        assert (await rotate(strict, "a", "b")).outcome == "ended"
        assert await store.sessions("1") == {}


async def test_a_rotation_takes_over_a_new_user_name(open_session: OpenSession, store: SessionStore) -> None:
    await open_session(rid="a", user_name="ann")
    await store.rotate_session("1", "a", "b", user_name="anna", nick_name="Anna", seen=b"")
    page = await store.online.page(user_name="anna")

    assert [row.session.nick_name for row in page.rows] == ["Anna"]
    assert (await store.online.page(user_name="ann")).total == 0


@pytest.mark.parametrize("rounds", [300, pytest.param(1_000, marks=pytest.mark.extended)])
async def test_no_session_is_live_after_a_kick_that_raced_a_refresh(
    open_session: OpenSession, store: SessionStore, raw: Raw, rounds: int
) -> None:
    """Each round has a kick, now before and now after the refresh."""
    kicked_first = 0
    for number in range(rounds):
        await open_session(rid=f"a{number}")
        seen = await store.marker_of("1")
        race = [rotate(store, f"a{number}", f"b{number}", seen=seen), store.close_sessions("1")]
        if number % 2:
            race.reverse()
        results = await asyncio.gather(*race)
        (rotation,) = (result for result in results if isinstance(result, Rotation))
        kicked_first += rotation.outcome == "ended"
        assert await store.sessions("1") == {}
        assert (await rotate(store, f"b{number}", "c")).outcome in ("ended", "unknown")

    assert 0 < kicked_first < rounds
    assert await raw.keys("auth:refresh:*") == []
    assert await raw.keys("auth:device:*") == []


async def test_a_session_that_vanished_alone_takes_its_refresh_id_with_it(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await open_session(rid="a")
    await raw.delete("auth:device:1:web")

    assert (await rotate(store, "a", "b")).outcome == "ended"
    assert await raw.get("auth:refresh:a") is None


async def test_everything_a_rotation_leaves_behind_runs_out_by_itself(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await open_session(rid="a")
    await rotate(store, "a", "b")
    await rotate(store, "b", "c")
    await store.close_session("1", "web")

    assert [name for name in await raw.keys("*") if await raw.pttl(name) <= 0] == []


async def rotate_until_killed(store: SessionStore, login_id: str, begun: set[str]) -> tuple[str, str]:
    """Return the last refresh id that was live, and the one that may have replaced it.

    ``login_id`` is added to ``begun`` once its first id was replaced.
    """
    last = f"{login_id}-start"
    await store.open_session(login_id, "web", last, FACTS, seen=b"")
    for number in itertools.count():
        following = f"{login_id}-{number}"
        try:
            rotation = await store.rotate_session(
                login_id, last, following, user_name="ann", nick_name="Ann", seen=b""
            )
        except Unavailable:
            return last, following
        assert rotation.outcome == "rotated"
        last = following
        begun.add(login_id)
    raise AssertionError


async def is_back(raw: Raw, killed: int) -> bool:
    try:
        server_info = await raw.info()
    except (RedisError, OSError):
        return False
    return int(server_info["process_id"]) != killed and not int(server_info["loading"])


async def test_a_kill_leaves_each_session_with_one_refresh_id_that_can_be_listed_and_ended(
    own_stores: EmbeddedStores,
) -> None:
    async with (
        SessionStore(Redis(url=own_stores.redis_url), Auth()) as store,
        Client.from_url(own_stores.redis_url, decode_responses=True) as raw,
    ):
        process_id = int((await raw.info("server"))["process_id"])
        users = [str(number) for number in range(1, 9)]
        begun: set[str] = set()
        running = [asyncio.ensure_future(rotate_until_killed(store, login_id, begun)) for login_id in users]
        assert await eventually_here(lambda: len(begun) == len(users))
        os.kill(process_id, signal.SIGKILL)
        candidates = await asyncio.gather(*running)
        while not await is_back(raw, process_id):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)

        for login_id, (last, following) in zip(users, candidates, strict=True):
            (session,) = (await store.sessions(login_id)).values()
            assert session.rid in (last, following)
            assert await raw.get(f"auth:refresh:{session.rid}") == f"{login_id}:web"
        assert len(await raw.keys("auth:refresh:*")) == len(users)
        assert (await store.online.page()).total == len(users)
        assert [await store.close_sessions(login_id) for login_id in users] == [1] * len(users)
        assert await raw.keys("auth:refresh:*") == []


async def test_a_step_up_weakens_no_session_that_is_stronger_than_its_caller_knows(
    store: SessionStore, open_session: OpenSession
) -> None:
    await open_session(rid="a")

    async def stepped_up(rests_on: Acr, acr: Acr) -> str:
        proof = StepUp("web", 2.0**32, rests_on, acr, (acr,))
        seen = await store.marker_of("1")
        rotation = await store.rotate_session(
            "1", "", new_rid(), user_name="ann", nick_name="Ann", seen=seen, step_up=proof
        )
        if rotation.lease is not None:
            await store.deliveries.confirm(rotation.lease)
        return rotation.outcome

    assert await stepped_up("pwd", "phr") == "rotated"
    assert await stepped_up("pwd", "mfa") == "superseded"
    assert await stepped_up("pwd", "phr") == "rotated"
    assert await stepped_up("phr", "mfa") == "rotated"  # of somebody who has no passkey any more
