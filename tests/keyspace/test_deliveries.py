"""A rotation of which nobody learned: a repeat gets its tokens, one at a time, until they are handed out."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from redis.asyncio import Redis as Client

from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.keyspace import Lease, Rotation, SessionStore, StepUp
from service.settings import Auth, Redis
from tests.keyspace.conftest import OpenSession, Raw
from tests.keyspace.test_rotate import FACTS
from tests.keyspace.test_rotate import rotate as rotate_and_hand_out
from tests.support.waiting import eventually_here

UNDELIVERED = "auth:undelivered:*"


@pytest.fixture(autouse=True)
async def session(open_session: OpenSession) -> None:
    """One session with the refresh id ``a``."""
    await open_session(rid="a")


async def rotate(store: SessionStore, rid: str, next_rid: str) -> Rotation:
    """Rotate, and hand out nothing."""
    return await store.rotate_session("1", rid, next_rid, user_name="ann", nick_name="Ann", seen=b"")


def lease_of(rotation: Rotation) -> Lease:
    assert rotation.lease is not None, rotation.outcome
    return rotation.lease


async def forgotten(store: SessionStore, raw: Raw, rid: str = "a", next_rid: str = "b") -> Rotation:
    """Rotate as a process does that is killed before it hands anything out, and let its lease run out."""
    rotation = await rotate(store, rid, next_rid)
    await raw.set((await raw.keys(UNDELIVERED))[0], 1, keepttl=True)
    return rotation


async def has_gone(raw: Raw) -> bool:
    until = time.monotonic() + 10
    while await raw.keys(UNDELIVERED):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(0.02)
    return True


async def test_while_one_request_may_hand_out_the_successor_others_wait(store: SessionStore) -> None:
    first = await rotate(store, "a", "b")

    assert [(await rotate(store, "a", "c")).outcome for _ in range(3)] == ["pending"] * 3
    await store.deliveries.confirm(lease_of(first))
    assert (await rotate_and_hand_out(store, "a", "c")).outcome == "superseded"


async def test_a_successor_that_was_not_handed_out_goes_to_the_next_repeat(store: SessionStore) -> None:
    first = await rotate(store, "a", "b")
    await store.deliveries.release(lease_of(first))
    again = await rotate(store, "a", "c")

    assert (again.outcome, again.rid, again.sid) == ("again", first.rid, first.sid)
    assert again.issued > first.issued  # however late it comes, its tokens have their whole life
    assert (await rotate_and_hand_out(store, "b", "d")).outcome == "rotated"


async def test_a_successor_whose_lease_ran_out_goes_to_the_next_repeat(store: SessionStore, raw: Raw) -> None:
    first = await forgotten(store, raw)
    again = await rotate(store, "a", "c")

    assert (again.outcome, again.rid) == ("again", first.rid)
    assert (await rotate(store, "a", "d")).outcome == "pending"


async def test_of_forty_repeats_at_once_of_a_lost_rotation_one_gets_the_successor(
    store: SessionStore, raw: Raw
) -> None:
    await forgotten(store, raw)
    repeats = await asyncio.gather(*(rotate_and_hand_out(store, "a", f"c{number}") for number in range(40)))

    assert sorted(repeat.outcome for repeat in repeats) == ["again"] + ["superseded"] * 39


async def test_a_handed_out_successor_is_never_handed_out_again(redis_url: str) -> None:
    """Not to a caller with the spent token: not at once, not after the lease, not after the race window."""
    async with SessionStore(Redis(url=redis_url), Auth(refresh_race_window=3)) as store:
        rotation = await rotate(store, "a", "b")
        await store.deliveries.confirm(lease_of(rotation))
        outcomes = set()
        while (outcome := (await rotate(store, "a", "c")).outcome) != "reused":
            outcomes.add(outcome)
            await asyncio.sleep(0.02)

        assert outcomes <= {"pending", "superseded"}
        assert "superseded" in outcomes
        assert (await rotate(store, "b", "d")).outcome == "ended"


async def test_a_successor_in_use_is_not_handed_out_again(store: SessionStore, raw: Raw) -> None:
    await forgotten(store, raw)
    await rotate_and_hand_out(store, "b", "c")

    assert (await rotate(store, "a", "d")).outcome == "superseded"


async def test_a_successor_whose_access_token_was_seen_is_not_handed_out_again(
    store: SessionStore, raw: Raw
) -> None:
    rotation = await forgotten(store, raw)
    store.deliveries.seen("1", "web", rotation.issued)

    assert await has_gone(raw)
    assert (await rotate(store, "a", "c")).outcome == "superseded"


async def test_a_repeat_of_what_was_never_handed_out_is_no_theft_at_any_age(redis_url: str, raw: Raw) -> None:
    """But one of what was handed out in the end is."""
    async with SessionStore(Redis(url=redis_url), Auth(refresh_race_window=0)) as store:
        first = await forgotten(store, raw)
        again = await rotate_and_hand_out(store, "a", "c")

        assert (again.outcome, again.rid) == ("again", first.rid)
        assert (await rotate(store, "a", "d")).outcome == "reused"


async def test_what_was_not_handed_out_is_kept_for_as_long_as_its_session(
    store: SessionStore, raw: Raw
) -> None:
    rotation = await forgotten(store, raw)
    [key] = await raw.keys(UNDELIVERED)

    assert abs(await raw.pexpiretime(key) - rotation.ends) <= 1


async def test_a_repeat_reads_the_user_again_who_was_marked_meanwhile(store: SessionStore, raw: Raw) -> None:
    await forgotten(store, raw)
    await store.mark(["1"])

    assert (await rotate(store, "a", "c")).outcome == "stale"
    assert (await rotate_and_hand_out(store, "a", "c")).outcome == "again"


async def test_a_late_repeat_in_the_grace_leaves_nothing_to_be_handed_out_after_it(
    redis_url: str, raw: Raw
) -> None:
    async with SessionStore(Redis(url=redis_url), Auth(refresh_grace=60)) as gracious:
        await rotate_and_hand_out(gracious, "a", "b")
        assert (await rotate(gracious, "a", "c")).outcome == "again"
        assert await has_gone(raw)


async def test_step_ups_whose_answers_were_lost_leave_the_token_before_them_good(
    store: SessionStore, raw: Raw
) -> None:
    async def stepped_up(next_rid: str) -> Rotation:
        proof = StepUp("web", 2.0**32, "pwd", "mfa", ("pwd", "otp"))
        seen = await store.marker_of("1")
        rotation = await store.rotate_session(
            "1", "", next_rid, user_name="ann", nick_name="Ann", seen=seen, step_up=proof
        )
        if rotation.lease is not None:
            await store.deliveries.release(rotation.lease)
        return rotation

    lost = [await stepped_up(next_rid) for next_rid in ("b", "c", "d")]
    again = await rotate_and_hand_out(store, "a", "e")

    assert [rotation.outcome for rotation in lost] == ["rotated", "again", "again"]
    assert (again.outcome, again.rid, again.authentication.acr) == ("again", lost[0].rid, "mfa")
    assert await has_gone(raw)


async def test_a_late_release_does_not_end_the_lease_of_the_next_holder(
    store: SessionStore, raw: Raw
) -> None:
    slow = await forgotten(store, raw)
    await rotate(store, "a", "c")
    await store.deliveries.release(lease_of(slow))

    assert (await rotate(store, "a", "d")).outcome == "pending"


async def test_nothing_is_handed_out_after_its_lease(store: SessionStore) -> None:
    lease = lease_of(await rotate(store, "a", "b"))
    with pytest.raises(Unavailable):
        await store.deliveries.confirm(replace(lease, by=time.monotonic() - 1))
    await store.deliveries.release(lease)

    assert (await rotate(store, "a", "c")).outcome == "again"


@pytest.mark.usefixtures("one_server")
async def test_a_confirmation_gets_through_a_dropped_connection(store: SessionStore, raw: Raw) -> None:
    await store.deliveries.confirm(lease_of(await rotate(store, "a", "b")))
    assert await has_gone(raw)
    rotation = await rotate(store, "b", "c")
    await raw.client_kill_filter(_type="normal", skipme=True)
    await store.deliveries.confirm(lease_of(rotation))

    assert await has_gone(raw)


@pytest.fixture
async def own_store(own_stores: EmbeddedStores) -> AsyncIterator[SessionStore]:
    """A store that may be frozen, with one session of the refresh id ``a``."""
    async with SessionStore(Redis(url=own_stores.redis_url), Auth()) as store:
        await store.open_session("1", "web", "a", FACTS, seen=b"")
        yield store


async def process_id(url: str) -> int:
    async with Client.from_url(url) as client:
        return int((await client.info("server"))["process_id"])


async def test_a_rotation_that_the_store_comes_to_after_it_was_given_up_changes_nothing(
    own_stores: EmbeddedStores, own_store: SessionStore
) -> None:
    number = await process_id(own_stores.redis_url)
    await own_store.clock()
    os.kill(number, signal.SIGSTOP)
    try:
        with pytest.raises(Unavailable):
            await rotate(own_store, "a", "b")
        await asyncio.sleep(1)  # its end is told by a clock that was observed once
    finally:
        os.kill(number, signal.SIGCONT)

    assert (await rotate_and_hand_out(own_store, "a", "c")).outcome == "rotated"
    assert (await own_store.sessions("1"))["web"].rid == "c"


async def test_a_confirmation_reaches_a_store_that_froze_after_the_tokens_were_handed_out(
    own_stores: EmbeddedStores, own_store: SessionStore
) -> None:
    number = await process_id(own_stores.redis_url)
    await own_store.deliveries.confirm(lease_of(await rotate(own_store, "a", "b")))
    rotation = await rotate_and_hand_out(own_store, "b", "c")
    os.kill(number, signal.SIGSTOP)
    try:
        await own_store.deliveries.confirm(lease_of(replace(rotation)))
        (command,) = (pipeline for labels, pipeline in own_store.calls() if labels["call"] == "command")
        assert await eventually_here(lambda: command.failures > 0)
    finally:
        os.kill(number, signal.SIGCONT)
    async with Client.from_url(own_stores.redis_url, decode_responses=True) as raw:
        assert await has_gone(raw)

    assert (await rotate_and_hand_out(own_store, "b", "d")).outcome == "superseded"
