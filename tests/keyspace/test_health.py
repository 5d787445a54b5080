"""Whether the session store takes writes, as the readiness check finds out."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis as Client

from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.keyspace import SessionStore
from service.settings import Auth, Redis
from tests.keyspace.conftest import Raw
from tests.support.running import descendants
from tests.support.waiting import eventually_here


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
    async with SessionStore(Redis(url=url), Auth()) as store:
        yield store


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


async def test_a_store_whose_snapshot_failed_is_read_only(own_store: SessionStore, own_raw: Raw) -> None:
    """By default a server refuses writes then (``stop-writes-on-bgsave-error``)."""
    await own_raw.config_set("save", "3600 1")
    await own_raw.config_set("rdb-key-save-delay", 5_000_000)  # microseconds: time enough to kill it
    await own_raw.set("a", "b")
    server = (await own_raw.info("server"))["process_id"]
    before = set(descendants(server))
    await own_raw.bgsave()
    try:
        assert await eventually_here(lambda: bool(set(descendants(server)) - before))
        for child in set(descendants(server)) - before:
            os.kill(child, signal.SIGKILL)
        for _ in range(500):
            if (await own_raw.info("persistence"))["rdb_last_bgsave_status"] == "err":
                break
            await asyncio.sleep(0.02)
        assert await own_store.probe.health() == ("read_only", {"reason": "MISCONF"})
    finally:
        await own_raw.config_set("save", "")
        await own_raw.config_set("rdb-key-save-delay", 0)
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
