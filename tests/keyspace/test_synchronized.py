"""The time of the session store as a node tells it, and the watch that tells of wrong clocks."""

import time

import pytest
from structlog.testing import capture_logs

from service.kernel.synchronized import MOST_AHEAD, MOST_BEHIND, SynchronizedClock
from service.keyspace import ClockWatch, SessionStore

NOW = 1_800_000_000.0


class World:
    """A node and a store whose clocks are set by the test; ``true`` is the time that passes."""

    def __init__(self, *, node: float = 0.0, store: float = 0.0) -> None:
        self.true = NOW
        self.node = node
        self.store = store
        self.clock = SynchronizedClock(wall=lambda: self.true + self.node, steady=lambda: self.true - NOW)

    def ask(self, there: float = 0.001, back: float = 0.001) -> None:
        """Ask the store for its time, with the seconds that the question and the answer are under way."""
        began = self.clock.begin()
        self.true += there
        server_time = self.true + self.store
        self.true += back
        self.clock.observe(server_time, began)

    def wrong(self) -> float:
        """Return how far the time that is told is ahead of the true one."""
        return self.clock.now() - self.true


@pytest.mark.parametrize("node", [-30.0, 30.0, -3600.0])
def test_a_node_tells_the_time_of_the_store_whatever_its_own_clock_says(node: float) -> None:
    world = World(node=node)
    world.ask()
    assert world.wrong() == pytest.approx(0, abs=0.001)
    assert world.clock.offset == pytest.approx(-node, abs=0.001)


def test_the_own_clock_is_told_until_the_store_has_answered() -> None:
    world = World(node=-30)
    assert (world.wrong(), world.clock.offset) == (-30, None)


def test_a_slow_answer_does_not_spoil_what_a_fast_one_has_told() -> None:
    world = World()
    world.ask()
    world.ask(there=0.0, back=2.0)
    world.ask(there=2.0, back=0.0)
    assert world.wrong() == pytest.approx(0, abs=0.002)


def test_a_store_whose_clock_drifts_is_followed() -> None:
    world = World()
    world.ask()
    for _ in range(100):
        world.true += 2
        world.store += 0.02
        world.ask()
    assert world.wrong() == pytest.approx(world.store, abs=0.003)


def test_setting_the_clock_of_the_node_changes_nothing() -> None:
    world = World()
    world.ask()
    world.node = -20.0
    assert world.wrong() == pytest.approx(0, abs=0.001)


def test_time_stands_still_until_a_store_that_was_set_back_has_caught_up() -> None:
    world = World()
    world.ask()
    before = world.clock.now()
    world.store = -20.0
    world.ask()
    assert world.clock.now() == pytest.approx(before, abs=0.003)
    assert world.clock.lead == pytest.approx(20, abs=0.003)
    world.true += 25
    assert world.wrong() == pytest.approx(-20, abs=0.003)
    assert world.clock.lead == 0


def test_a_store_that_was_set_back_by_an_hour_keeps_no_token_alive() -> None:
    world = World()
    world.ask()
    expired = world.clock.now()
    world.store = -3600.0
    for _ in range(100):
        world.ask()
        assert world.clock.now() >= expired
        world.true += 2
    assert world.wrong() == pytest.approx(-MOST_BEHIND, abs=0.003)


def test_a_new_worker_does_not_believe_a_store_that_is_an_hour_behind() -> None:
    world = World(store=-3600.0)
    world.ask()
    assert world.wrong() == pytest.approx(-MOST_BEHIND, abs=0.003)


def test_a_store_that_was_ahead_for_a_while_is_forgiven() -> None:
    world = World(store=365 * 86_400.0)
    world.ask()
    assert world.wrong() > 86_400
    world.store = 0.0
    world.ask()
    assert world.wrong() == pytest.approx(0, abs=0.003)


def test_a_slow_node_does_not_let_a_store_that_was_set_back_revive_a_token() -> None:
    world = World(node=-30.0)
    world.ask()
    expired = world.clock.now()
    world.store = -3600.0
    world.ask()
    assert MOST_BEHIND + 30 < MOST_AHEAD
    assert world.clock.now() >= expired


DIFFERS = "this machine's clock differs from the session store's"


class Machine:
    """The clocks of a machine, whose wall clock is ``off`` seconds ahead; ``jumped`` moves the other one."""

    def __init__(self, off: float) -> None:
        self.off = off
        self.jumped = 0.0

    def watch(self, store: SessionStore, access_timeout: float = 7200) -> ClockWatch:
        store.synchronized = SynchronizedClock(
            wall=lambda: time.time() + self.off, steady=lambda: time.monotonic() + self.jumped
        )
        return ClockWatch(store, leeway=5, access_timeout=access_timeout)


@pytest.mark.parametrize(("off", "state"), [(0, "up"), (-30, "degraded"), (30, "degraded")])
async def test_a_clock_that_is_off_by_more_than_the_leeway_is_degraded(
    store: SessionStore, off: float, state: str
) -> None:
    watch = Machine(off).watch(store)
    assert watch.health() == ("degraded", {})
    await watch.look()
    health = watch.health()
    assert health.state == state
    assert health.details["offset"] == pytest.approx(-off, abs=1)


async def test_a_node_whose_new_tokens_would_have_expired_is_down(store: SessionStore) -> None:
    watch = Machine(3600).watch(store, access_timeout=600)
    await watch.look()
    assert watch.health().state == "down"


async def test_the_log_is_told_once_while_clocks_differ_and_once_when_they_agree_again(
    store: SessionStore,
) -> None:
    machine = Machine(-30)
    watch = machine.watch(store)
    with capture_logs() as lines:
        for _ in range(5):
            await watch.look()
        machine.off = 0
        await watch.look()
        await watch.look()
    assert [line["event"] for line in lines] == [
        DIFFERS,
        "this machine's clock agrees with the session store's again",
    ]
    assert lines[0]["offset"] == pytest.approx(30, abs=1)


async def test_a_store_whose_clock_was_set_is_told_as_a_security_event(store: SessionStore) -> None:
    machine = Machine(0)
    watch = machine.watch(store)
    await watch.look()
    with capture_logs() as lines:
        machine.jumped = 40.0  # as if the store had gone back by as much
        await watch.look()
    (line,) = [line for line in lines if line["event"] == "the session store's clock was set"]
    assert line["event_type"] == "security"
    assert line["step"] == pytest.approx(-40, abs=1)
