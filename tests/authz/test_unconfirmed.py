"""A worker that can't tell others what it decides by stops reading tokens by an old permission map."""

from __future__ import annotations

import pytest

from service.audit.chain.revision_seals import RevisionSeals
from service.authz.engine.policy import Policy
from service.authz.publishing import live as module
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import read_shipped
from service.authz.publishing.watch import PolicyWatch
from service.records.bit_positions import UNCONFIRMED
from service.records.database.transactions import Database
from tests.authz.test_watch import database, publish, silence
from tests.support.unannounced import Unannounced

__all__ = ["database"]

pytestmark = pytest.mark.anyio

SHIPPED = read_shipped()
LONG = UNCONFIRMED.total_seconds()


class Clock:
    """The seconds since the machine was started, as the test wants them."""

    seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "_now", clock)
    return clock


def test_a_policy_that_is_not_confirmed_for_twelve_hours_denies_everything(clock: Clock) -> None:
    live = LivePolicy(SHIPPED, RevisionSeals())
    live.offer(Policy(SHIPPED.model_text, bits={"orders:read": 7}, revision=3))
    clock.seconds += LONG - 1
    assert live.current.permission_map.decode("gA==") == {"orders:read"}

    clock.seconds += 1

    assert live.current.revision == 0
    assert live.current.permission_map.decode("gA==") == frozenset()


def test_looking_at_the_policy_changes_nothing(clock: Clock) -> None:
    live = LivePolicy(SHIPPED, RevisionSeals())
    live.offer(Policy(SHIPPED.model_text, revision=3))
    before = clock.seconds
    clock.seconds += LONG
    assert live.current.revision == 0
    clock.seconds = before
    assert live.current.revision == 3


def test_a_policy_that_nobody_looked_at_meanwhile_is_given_up_as_well(clock: Clock) -> None:
    live = LivePolicy(SHIPPED, RevisionSeals())
    live.offer(Policy(SHIPPED.model_text, revision=3))
    clock.seconds += LONG
    live.confirm(live.now())

    assert live.current.revision == 0


def test_each_confirmation_counts_from_when_it_began(clock: Clock) -> None:
    live = LivePolicy(SHIPPED, RevisionSeals())
    live.offer(Policy(SHIPPED.model_text, revision=3))
    began = live.now()
    clock.seconds += 600
    live.confirm(began + 60)
    clock.seconds = began + 60 + LONG - 1
    assert live.current.revision == 3

    clock.seconds += 1
    live.confirm(began)
    assert live.current.revision == 0


def test_a_report_does_not_bring_back_a_policy_that_was_given_up(clock: Clock) -> None:
    live = LivePolicy(SHIPPED, RevisionSeals())
    live.offer(Policy(SHIPPED.model_text, bits={"orders:read": 7}, revision=3))
    clock.seconds += LONG
    assert live.current.revision == 0

    live.confirm(live.now())

    assert live.current.revision == 0
    live.offer(Policy(SHIPPED.model_text, revision=4))
    assert live.current.revision == 4


async def test_a_worker_that_was_cut_off_loads_the_policy_again_once_it_reports(
    database: Database, clock: Clock
) -> None:
    await publish(database)
    live = LivePolicy(SHIPPED, RevisionSeals())
    watch = PolicyWatch(live, database, silence, Unannounced(), "a:1", token_life=7200)
    await watch.look()
    revision = live.current.revision
    clock.seconds += LONG
    assert live.current.revision == 0

    await watch.look()
    watch._report_again = 0.0
    await watch.look()

    assert live.current.revision == revision > 0
