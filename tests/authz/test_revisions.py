"""Workers that wait for a revision, and those that can't tell others what they decide by."""

import asyncio
from time import monotonic

import pytest

from service.audit.seals import RevisionSeals
from service.authz.engine.policy import Policy
from service.authz.publishing import live as module
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.revisions import PublishedRevisions, reader_of
from service.authz.publishing.shipped import read_shipped
from service.authz.publishing.watch import PolicyWatch
from service.errors import RevisionUnknown, Unavailable
from service.records.database.transactions import Database
from service.records.published.bit_positions import UNCONFIRMED
from tests.authz.test_watch import database, publish, silence
from tests.support.unstarted import Unannounced

SHIPPED = read_shipped()


class Published:
    """The newest revision of all nodes, and how often it was asked for."""

    def __init__(self, newest: int) -> None:
        self.newest = newest
        self.times: list[float] = []
        self.asked = asyncio.Event()

    async def read(self) -> int:
        self.times.append(monotonic())
        revision = self.newest
        self.asked.set()
        await asyncio.sleep(0.01)
        return revision


@pytest.fixture
def live() -> LivePolicy:
    live = LivePolicy(SHIPPED, RevisionSeals())
    live.offer(Policy(SHIPPED.model_text, revision=4))
    return live


async def test_what_is_in_force_is_not_asked_for(live: LivePolicy) -> None:
    published = Published(4)
    revisions = PublishedRevisions(live, published.read)
    assert [(await revisions.at_least(number)).revision for number in (0, 3, 4)] == [4, 4, 4]
    assert published.times == []


async def test_what_is_known_to_be_published_is_asked_for_once(live: LivePolicy) -> None:
    published = Published(6)
    revisions = PublishedRevisions(live, published.read)
    waiting = [asyncio.create_task(revisions.at_least(5)) for _ in range(20)]
    await asyncio.sleep(0.1)
    waiting += [asyncio.create_task(revisions.at_least(6)) for _ in range(20)]
    await asyncio.sleep(0)
    live.offer(Policy(SHIPPED.model_text, revision=6))
    assert {policy.revision for policy in await asyncio.gather(*waiting)} == {6}
    assert len(published.times) == 1


async def test_many_unknown_revisions_cost_few_questions(live: LivePolicy) -> None:
    published = Published(4)
    revisions = PublishedRevisions(live, published.read)

    async def ask(number: int) -> None:
        for turn in range(10):
            with pytest.raises(RevisionUnknown):
                await revisions.at_least(10**17 + 1000 * number + turn)

    began = monotonic()
    await asyncio.gather(*(ask(number) for number in range(100)))
    assert len(published.times) <= 2 + (monotonic() - began) / 0.05
    # Over two pauses: one alone seems shorter where the machine was busy before it.
    pairs = [after - before for before, after in zip(published.times, published.times[2:], strict=False)]
    assert min(pairs) > 0.045


async def test_what_is_published_just_before_it_is_asked_for_is_never_unknown(live: LivePolicy) -> None:
    """The question under way began before: its answer would be wrong."""
    published = Published(4)
    revisions = PublishedRevisions(live, published.read)
    early = asyncio.create_task(revisions.at_least(5))
    await published.asked.wait()
    published.newest = 5
    late = asyncio.create_task(revisions.at_least(5))
    with pytest.raises(RevisionUnknown):
        await early
    await asyncio.sleep(0.1)
    live.offer(Policy(SHIPPED.model_text, revision=5))
    assert (await late).revision == 5


async def test_without_the_database_it_is_not_known_whether_a_revision_exists(live: LivePolicy) -> None:
    async with Database("postgresql://nobody@127.0.0.1:1/none") as nowhere:
        with pytest.raises(Unavailable):
            await PublishedRevisions(live, reader_of(nowhere)).at_least(5)


async def test_a_silent_database_holds_nobody_longer_than_a_revision_would(
    live: LivePolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.authz.publishing.revisions.PATIENCE", 0.05)

    async def never() -> int:
        await asyncio.Event().wait()
        return 0

    revisions = PublishedRevisions(live, never)
    outcomes = await asyncio.gather(*(revisions.at_least(5) for _ in range(10)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {Unavailable}


async def test_the_newest_revision_is_read_from_the_database(seeded_database_url: str) -> None:
    async with Database(seeded_database_url) as database:
        read = reader_of(database)
        revisions = [await read()]
        async with database.transaction(within=30) as connection:
            await publish_if_changed(connection, SHIPPED, RevisionSeals(), "test")
        revisions.append(await read())
    assert revisions == [0, 1]


__all__ = ["database"]


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
