"""A refresh that is repeated until it is answered loses no session, whatever the servers of the store do."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.authn.opening import new_rid
from service.errors import Unavailable
from service.keyspace import Rotation, SessionFacts, SessionStore, Unconfirmed
from service.settings import Auth, Redis
from tests.support.sentinel import DOWN_AFTER, PATIENT, SentinelGroup
from tests.support.valkey_cluster import NODE_PATIENCE, NODE_TIMEOUT, ValkeyCluster
from tests.support.waiting import eventually, eventually_here

FACTS = SessionFacts("ann", "Ann", "10.0.0.1", "", "", "")
USERS = [str(number) for number in range(1, 31)]
PAUSE = 0.1  # seconds between two repeats
SHORT = Auth(refresh_race_window=1)


@dataclass
class Replicated:
    """Servers with replicas, and the URL by which they are used."""

    servers: SentinelGroup | ValkeyCluster
    url: str

    @property
    def primaries(self) -> list[int]:
        """The ports of the servers that take writes."""
        if isinstance(self.servers, ValkeyCluster):
            return list(self.servers._owners())
        return [self.servers.primary]

    def take_replicas_away(self) -> None:
        """Let no replica get anything more."""
        for port in self.primaries:
            self.servers.cut_off_replicas_of(port)

    def bring_replicas_back(self) -> None:
        """Let all replicas follow again; returns once each does."""
        for port in self.primaries:
            self.servers.let_replicas_back_to(port)
        assert eventually(lambda: all(map(self._is_followed, self.primaries)))

    def _is_followed(self, port: int) -> bool:
        with self.servers.client(port) as primary:
            return int(primary.info("replication")["connected_slaves"]) > 0


@contextmanager
def begun(kind: str, replicas: int) -> Iterator[Replicated]:
    """Start servers of a kind with replicas; a primary may die where it has several."""
    dies = replicas > 1
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        if kind == "cluster":
            patience = NODE_TIMEOUT if dies else NODE_PATIENCE
            with ValkeyCluster(Path(folder), replicas=replicas, node_timeout=patience) as cluster:
                yield Replicated(cluster, cluster.url)
            return
        patience = DOWN_AFTER if dies else PATIENT
        with SentinelGroup(Path(folder), replicas=replicas, down_after=patience) as group:
            plain = f"redis://127.0.0.1:{group.primary}"
            yield Replicated(group, plain if kind == "server" else group.url)


@pytest.fixture(scope="module", params=["server", "sentinel", "cluster"])
def servers(request: pytest.FixtureRequest) -> Iterator[Replicated]:
    with begun(request.param, 1) as made:
        yield made


@pytest.fixture
def replicated(servers: Replicated) -> Replicated:
    """Servers of each kind, with a replica each and without a session."""
    servers.bring_replicas_back()
    for port in servers.primaries:
        with servers.servers.client(port) as primary:
            primary.flushall()
    return servers


@asynccontextmanager
async def sessions(url: str, auth: Auth, seconds: float = 0.5) -> AsyncIterator[SessionStore]:
    """A store that waits for a replica, with a session of each user."""
    store = SessionStore(Redis(url=url, wait_replicas=1, timeout=seconds), auth)
    following = asyncio.create_task(store.follow_primary())
    try:
        for user in USERS:
            seen = await store.marker_of(user)
            assert (await store.open_session(user, "web", f"a{user}", FACTS, seen=seen)).outcome == "opened"
        yield store
    finally:
        following.cancel()
        await store.close()


async def rotate(store: SessionStore, user: str, rid: str) -> Rotation:
    """Rotate once, as a request does that hands out what it gets unless it is answered 503."""
    seen = await store.marker_of(user, rid)
    try:
        rotation = await store.rotate_session(
            user, rid, new_rid(), user_name="ann", nick_name="Ann", seen=seen
        )
    except Unconfirmed as unconfirmed:
        if unconfirmed.answer.lease is not None:
            await store.deliveries.release(unconfirmed.answer.lease)
        raise
    if rotation.lease is not None:
        await store.deliveries.confirm(rotation.lease)
    return rotation


async def refreshed(store: SessionStore, user: str, rid: str) -> Rotation:
    """Repeat a refresh until it is neither answered 503 nor has to wait for another request."""
    while True:
        with suppress(Unavailable):
            rotation = await rotate(store, user, rid)
            if rotation.outcome not in ("pending", "stale", "late"):
                return rotation
        await asyncio.sleep(PAUSE)


async def all_refreshed(store: SessionStore, rids: dict[str, str]) -> dict[str, str]:
    """Refresh ``rids``, of all users; return the outcomes for users who got no successor."""
    rotations = await asyncio.gather(*(refreshed(store, user, rid) for user, rid in rids.items()))
    given = dict(zip(list(rids), rotations, strict=True))
    rids |= {user: rotation.rid for user, rotation in given.items() if rotation.lease is not None}
    return {user: rotation.outcome for user, rotation in given.items() if rotation.lease is None}


def first_rids() -> dict[str, str]:
    return {user: f"a{user}" for user in USERS}


@pytest.mark.parametrize(
    ("seconds", "auth"), [(2.0, SHORT), pytest.param(30.0, Auth(), marks=pytest.mark.extended)]
)
async def test_no_session_is_lost_while_all_replicas_are_away(
    replicated: Replicated, seconds: float, auth: Auth
) -> None:
    """For longer than the race window: each repeat is the next one's."""
    async with sessions(replicated.url, auth) as store:
        rids = first_rids()
        await asyncio.to_thread(replicated.take_replicas_away)
        going = asyncio.create_task(all_refreshed(store, rids))
        await asyncio.sleep(seconds)
        assert not going.done()
        await asyncio.to_thread(replicated.bring_replicas_back)
        assert await going == {}
        assert await all_refreshed(store, rids) == {}


async def test_no_session_is_lost_by_a_repeat_after_the_race_window(replicated: Replicated) -> None:
    async with sessions(replicated.url, Auth(refresh_race_window=0)) as store:
        rids = first_rids()
        await asyncio.to_thread(replicated.take_replicas_away)
        answers = await asyncio.gather(
            *(rotate(store, user, rid) for user, rid in rids.items()), return_exceptions=True
        )
        assert all(isinstance(answer, Unavailable) for answer in answers)
        assert any(isinstance(answer, Unconfirmed) for answer in answers)  # the others got no connection
        await asyncio.to_thread(replicated.bring_replicas_back)
        assert await all_refreshed(store, rids) == {}


@pytest.mark.parametrize("kind", ["sentinel", pytest.param("cluster", marks=pytest.mark.extended)])
async def test_no_session_is_lost_when_a_primary_dies_and_a_replica_takes_over(kind: str) -> None:
    with begun(kind, 2) as replicated:
        async with sessions(replicated.url, SHORT) as store:
            rids, rounds = first_rids(), 0
            lost: dict[str, str] = {}

            async def go_on() -> None:
                nonlocal rounds
                while not lost:
                    lost.update(await all_refreshed(store, rids))
                    rounds += 1

            going = asyncio.create_task(go_on())
            assert await eventually_here(lambda: rounds > 0)
            replicated.servers.kill(replicated.primaries[0])
            before = rounds
            assert await eventually_here(lambda: rounds > before + 1 or bool(lost))
            going.cancel()
            assert lost == {}


async def test_an_answer_that_writes_nothing_waits_for_no_replica(replicated: Replicated) -> None:
    async with sessions(replicated.url, Auth(), seconds=3.0) as store:
        await rotate(store, "1", "a1")
        await asyncio.to_thread(replicated.take_replicas_away)

        assert (await rotate(store, "1", "a1")).outcome == "superseded"
        assert (await rotate(store, "1", "nobody's")).outcome == "unknown"
        assert await store.close_session("1", "another") is False
        with pytest.raises(Unconfirmed):
            await store.close_session("1", "web")
        assert await store.sessions("1") == {}
