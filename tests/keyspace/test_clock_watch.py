"""The watch of the clocks: what it tells the log, and how it says that clocks fare."""

from __future__ import annotations

import time

import pytest
from structlog.testing import capture_logs

from service.keyspace import ClockWatch, SessionStore, SynchronizedClock

pytestmark = pytest.mark.anyio

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
