"""A session store on each kind of servers, and sessions to open in it."""

import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis as Client

from service.features.embedded.stores import EmbeddedStores
from service.keyspace import Opening, SessionFacts, SessionStore
from service.settings import Auth, Redis
from tests.support.cluster_raw import ClusterRaw
from tests.support.databases import session_store
from tests.support.sentinel import SentinelGroup
from tests.support.valkey_cluster import NODE_PATIENCE, ValkeyCluster

OpenSession = Callable[..., Awaitable[Opening]]
Raw = Any
"""redis-py's client, whose types say bytes or str or None where it returns texts."""

KINDS = ("server", "cluster", pytest.param("sentinel", marks=pytest.mark.extended))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let what uses ``store`` hold on each kind of servers, unless it says that one is enough."""
    fixtures = {"store", "redis_url"} & set(metafunc.fixturenames)
    if fixtures and "kind" in metafunc.fixturenames:
        on_one = {"one_server", "clocks", "sentinel"} & set(metafunc.fixturenames)
        metafunc.parametrize("kind", ("server",) if on_one else KINDS)


@pytest.fixture
def one_server() -> None:
    """Say that a test looks at what one server does: it is not run against a cluster or Sentinel as well."""


def plain(rid: str) -> str:
    """Return a refresh id without the tag that it has on a cluster."""
    return re.sub(r"^\{\d+\}\.", "", rid)


@pytest.fixture
def kind() -> str:
    return "server"


@pytest.fixture(scope="session")
def valkey_cluster() -> Iterator[ValkeyCluster]:
    """A cluster for the whole session; never stop one of its servers or move its slots."""
    with (
        tempfile.TemporaryDirectory(prefix="pc-") as folder,
        ValkeyCluster(Path(folder), node_timeout=NODE_PATIENCE) as cluster,
    ):
        yield cluster


@pytest.fixture
def own_cluster() -> Iterator[ValkeyCluster]:
    """A cluster to kill servers of, and to move slots."""
    with (
        tempfile.TemporaryDirectory(prefix="pc-") as folder,
        ValkeyCluster(Path(folder), password="pa55w0rd") as cluster,
    ):
        yield cluster


@pytest.fixture(scope="session")
def sentinel_group() -> Iterator[SentinelGroup]:
    """The same with Sentinel."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder, SentinelGroup(Path(folder)) as group:
        yield group


@pytest.fixture
def redis_url(kind: str, request: pytest.FixtureRequest, stores: EmbeddedStores) -> Iterator[str]:
    """The URL of an empty session store of the test's kind, which no other test uses meanwhile."""
    if kind == "cluster":
        cluster: ValkeyCluster = request.getfixturevalue("valkey_cluster")
        cluster.empty()
        yield cluster.url
    elif kind == "sentinel":
        group: SentinelGroup = request.getfixturevalue("sentinel_group")
        with group.client(group.primary) as primary:
            primary.flushall()
        yield group.url
    else:
        with session_store(stores) as url:
            yield url


@pytest.fixture
def auth() -> Auth:
    return Auth()


@pytest.fixture
async def store(redis_url: str, auth: Auth) -> AsyncIterator[SessionStore]:
    async with SessionStore(Redis(url=redis_url), auth) as store:
        yield store


@pytest.fixture
async def raw(redis_url: str, kind: str, request: pytest.FixtureRequest) -> AsyncIterator[Raw]:
    """The store as it is, to look at and to tamper with."""
    if kind == "cluster":
        raw = ClusterRaw(redis_url)
        yield raw
        await raw.close()
        return
    if kind == "sentinel":
        redis_url = f"redis://127.0.0.1:{request.getfixturevalue('sentinel_group').primary}"
    async with Client.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def open_session(store: SessionStore) -> OpenSession:
    async def opened(
        login_id: str = "1",
        device: str = "web",
        rid: str = "rid",
        user_name: str = "ann",
        login_ip: str = "10.0.0.1",
    ) -> Opening:
        facts = SessionFacts(user_name, user_name.title(), login_ip, "agent", "Browser 1", "System 2")
        seen = await store.marker_of(login_id)
        return await store.open_session(login_id, device, rid, facts, seen=seen)

    return opened
