"""What a store whose clock was ahead has left behind: set to now, never dropped, and told."""

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from service.keyspace import ClockWatch, Rotation, SessionStore
from service.settings import Auth, Redis
from tests.keyspace.conftest import OpenSession, Raw
from tests.keyspace.test_rotate import FACTS
from tests.support.shifted import Clocks

pytestmark = pytest.mark.usefixtures("clocks")

TOLD = "the session store's clock was ahead, and instants that it wrote then are set to now"
with_jumps = pytest.mark.parametrize("ahead", [900, 3600])


async def rotate(store: SessionStore, rid: str = "a", next_rid: str = "b") -> Rotation:
    """Rotate, and hand out nothing."""
    seen = await store.marker_of("1")
    return await store.rotate_session("1", rid, next_rid, user_name="ann", nick_name="Ann", seen=seen)


@with_jumps
async def test_a_marker_from_the_future_is_set_to_now_and_stays(
    clocks: Clocks, store: SessionStore, raw: Raw, ahead: int
) -> None:
    clocks.set(store=ahead)
    await store.close_sessions("1")
    clocks.wait(12)
    clocks.set()
    await store.mark(["1"])

    at = float((await raw.get("auth:deny:1")).removeprefix("refresh:"))
    assert at == pytest.approx(clocks.now(), abs=1.5)


@with_jumps
async def test_a_session_from_the_future_is_opened_now_under_another_name(
    clocks: Clocks, store: SessionStore, open_session: OpenSession, raw: Raw, ahead: int
) -> None:
    clocks.set(store=ahead)
    await open_session(rid="a")
    meanwhile = (await store.sessions("1"))["web"]
    clocks.wait(12)
    clocks.set()
    after = (await store.sessions("1"))["web"]

    assert meanwhile.login_time == pytest.approx(clocks.now() + ahead - 12, abs=1.5)
    assert after.login_time == after.last_refresh_time == pytest.approx(clocks.now(), abs=1.5)
    assert (after.rid, after.sid != meanwhile.sid) == ("a", True)
    assert int(await raw.get("auth:ahead")) == round(1000 * meanwhile.login_time)


async def test_a_store_that_is_behind_ends_nothing_and_shuts_nobody_out(
    clocks: Clocks, store: SessionStore, open_session: OpenSession
) -> None:
    await open_session(device="web", rid="a")
    await store.mark(["1"])
    names = {device: session.sid for device, session in (await store.sessions("1")).items()}
    for behind in (-30, -900, -3600):
        clocks.set(store=behind)
        assert (await open_session(device="ios", rid=f"b{behind}")).outcome == "opened"
        assert (await store.sessions("1"))["web"].sid == names["web"]
    assert store.found_ahead is None


@pytest.mark.parametrize("seconds", [-3600, -900, 900, 3600])
async def test_a_machine_whose_clock_is_wrong_sets_nothing(
    clocks: Clocks, store: SessionStore, open_session: OpenSession, seconds: int
) -> None:
    """It takes two clocks that say so: here the store's is right."""
    await open_session(rid="a")
    before = (await store.sessions("1"))["web"]
    clocks.set(machine=seconds)
    await store.mark(["1"])
    opening = await open_session(device="ios", rid="b")

    assert (await store.sessions("1"))["web"] == before
    assert opening.issued / 1000 == pytest.approx(clocks.now(), abs=1.5)
    assert store.found_ahead is None


@with_jumps
async def test_a_lost_answer_from_the_future_is_given_again_once_its_lease_is_over(
    clocks: Clocks, store: SessionStore, open_session: OpenSession, ahead: int
) -> None:
    clocks.set(store=ahead)
    await open_session(rid="a")
    lost = await rotate(store)
    clocks.wait(8)  # its key ends after 13 seconds
    clocks.set()

    assert (await rotate(store, next_rid="c")).outcome == "pending"
    clocks.wait(4)
    again = await rotate(store, next_rid="d")
    assert (again.outcome, again.rid) == ("again", lost.rid)
    assert again.issued / 1000 == pytest.approx(clocks.now(), abs=6)
    assert again.sid != lost.sid
    assert again.lease is not None
    await store.deliveries.confirm(again.lease)
    assert (await rotate(store, next_rid="e")).outcome == "superseded"


@with_jumps
async def test_a_refresh_id_spent_in_the_future_is_theft_after_the_usual_time(
    clocks: Clocks, redis_url: str, ahead: int
) -> None:
    async with SessionStore(Redis(url=redis_url), replace(Auth(), refresh_grace=300)) as store:
        await store.open_session("1", "web", "a", FACTS, seen=b"")
        clocks.set(store=ahead)
        rotation = await rotate(store)
        assert rotation.lease is not None
        await store.deliveries.confirm(rotation.lease)
        clocks.wait(12)
        clocks.set()

        assert (await rotate(store, next_rid="c")).outcome == "superseded"  # and no grace begins anew
        clocks.wait(301)
        assert (await rotate(store, next_rid="d")).outcome == "reused"
        assert await store.sessions("1") == {}


async def test_steps_of_a_millisecond_are_not_taken_for_the_future(
    store: SessionStore, open_session: OpenSession
) -> None:
    for number in range(300):
        await open_session(rid=f"rid-{number}")
        await store.mark(["1"])

    assert store.found_ahead is None


@with_jumps
async def test_the_watch_tells_of_it_once_as_soon_as_the_clock_is_right(
    clocks: Clocks, store: SessionStore, ahead: int
) -> None:
    watch = ClockWatch(store, leeway=5, access_timeout=7200)
    await watch.look()
    clocks.set(store=ahead)
    await watch.look()
    assert (watch.health().state, watch.ahead) == ("degraded", 0)
    clocks.set()
    with capture_logs() as lines:
        for _ in range(3):
            await watch.look()
    (entry,) = [line for line in lines if line["event"] == TOLD]

    assert entry["event_type"] == "security"
    assert entry["ahead"] == pytest.approx(ahead, abs=2)
    assert watch.health().state == "degraded"
    assert watch.health().details["ahead"] == pytest.approx(ahead, abs=2)


@with_jumps
async def test_a_new_worker_tells_of_what_scripts_have_found_for_an_hour_at_most(
    clocks: Clocks, store: SessionStore, raw: Raw, ahead: int
) -> None:
    clocks.set(store=ahead + 86_400)
    await store.mark(["1"])
    clocks.set()
    await store.mark(["1"])
    watch = ClockWatch(store, leeway=5, access_timeout=7200)
    await watch.look()

    assert watch.ahead == pytest.approx(ahead + 86_400, abs=2)
    assert 0 < await raw.ttl("auth:ahead") <= 3600
    clocks.wait(3601)
    await watch.look()
    assert (watch.ahead, watch.health().state) == (0, "up")


async def test_a_store_that_drifts_away_and_is_set_right_leaves_nobody_outside(
    clocks: Clocks, store: SessionStore, open_session: OpenSession
) -> None:
    await open_session(rid="0")
    watch = ClockWatch(store, leeway=5, access_timeout=7200)
    for number in range(30):
        clocks.drift(store=30)
        await watch.look()
        assert (await rotate(store, f"{number}", f"{number + 1}")).outcome == "rotated"
        await store.mark(["1"])
    clocks.set()
    await watch.look()
    rotation = await rotate(store, "30", "31")

    assert rotation.outcome == "rotated"
    assert rotation.issued / 1000 == pytest.approx(clocks.now(), abs=1.5)


async def test_a_time_that_stands_still_for_longer_than_the_leeway_is_degraded(
    clocks: Clocks, store: SessionStore
) -> None:
    watch = ClockWatch(store, leeway=5, access_timeout=7200)
    clocks.set(store=20)
    await watch.look()
    clocks.set()
    await watch.look()
    store.found_ahead = None
    health = watch.health()

    assert (health.state, health.details["lead"]) == ("degraded", pytest.approx(20, abs=1))
    assert health.details["offset"] == pytest.approx(0, abs=1)
