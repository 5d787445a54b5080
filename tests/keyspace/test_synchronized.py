"""The session store's time as a node tells it: close, never backwards, and believed within bounds."""

from __future__ import annotations

import pytest

from service.keyspace.synchronized import MOST_AHEAD, MOST_BEHIND, SynchronizedClock

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
