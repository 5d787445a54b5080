"""Whether the session store takes writes, as the readiness check finds out."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis as Client

from service.embedded import EmbeddedStores
from service.errors import Unavailable
from service.keyspace import SessionStore
from service.settings import Auth, Redis
from tests.keyspace.conftest import Raw

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of a Valkey of this module's own, to configure."""
    with (
        tempfile.TemporaryDirectory(prefix="pc-") as folder,
        EmbeddedStores(Path(folder), durable=False, with_postgres=False) as own,
    ):
        yield own.redis_url


@pytest.fixture
async def own_store(url: str) -> AsyncIterator[SessionStore]:
    store = SessionStore(Redis(url=url), Auth())
    yield store
    await store.close()


@pytest.fixture
async def own_raw(url: str) -> AsyncIterator[Raw]:
    async with Client.from_url(url, decode_responses=True) as client:
        yield client


@pytest.mark.parametrize(
    ("refuse", "accept", "reason"),
    [
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OutOfMemoryError"),
        ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS"),
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "ReadOnlyError"),
    ],
)
async def test_a_store_that_refuses_writes_is_read_only_until_it_takes_them(
    own_store: SessionStore, own_raw: Raw, refuse: str, accept: str, reason: str
) -> None:
    assert (await own_store.probe.health()).state == "up"
    await own_raw.execute_command(*refuse.split())
    try:
        health = await own_store.probe.health()
        assert (health.state, health.details) == ("read_only", {"reason": reason})
    finally:
        await own_raw.execute_command(*accept.split())
    assert (await own_store.probe.health()).state == "up"


async def test_an_account_that_may_not_write_the_key_is_down(own_store: SessionStore, own_raw: Raw) -> None:
    await own_raw.execute_command("ACL", "SETUSER", "default", "-set")
    try:
        with pytest.raises(Unavailable):
            await own_store.probe.health()
    finally:
        await own_raw.execute_command("ACL", "SETUSER", "default", "+set")


async def test_what_the_probe_leaves_runs_out(own_store: SessionStore, own_raw: Raw) -> None:
    await own_store.probe.health()
    assert 0 < await own_raw.pttl("auth:probe") <= 10_000
