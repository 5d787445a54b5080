"""The session store stopped, slow or emptied: refused in bounded time, never passed, and back by itself."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
from redis.asyncio import Redis as Client

from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.keyspace import SessionFacts, SessionStore
from service.settings import Auth, Redis
from tests.keyspace.conftest import Raw
from tests.support.waiting import freeze

IN_TIME = 15.0  # seconds: the limit is 1, and a machine may be busy; without one, the test would hang

FACTS = SessionFacts("ann", "Ann", "10.0.0.1", "", "", "")
OPERATIONS: dict[str, Callable[[SessionStore], Awaitable[object]]] = {
    "check": lambda store: store.check("1", "web"),
    "clock": lambda store: store.clock(),
    "open": lambda store: store.open_session("1", "web", "rid", FACTS, seen=b""),
    "rotate": lambda store: store.rotate_session("1", "a", "b", user_name="", nick_name="", seen=b""),
    "close": lambda store: store.close_session("1", "web"),
    "close all": lambda store: store.close_sessions("1"),
    "sessions": lambda store: store.sessions("1"),
    "mark": lambda store: store.mark(["1"]),
    "ban": lambda store: store.ban("1", None, ""),
    "unban": lambda store: store.unban("1"),
    "ban of": lambda store: store.ban_of("1"),
    "online": lambda store: store.online.page(),
    "revision": lambda store: store.revision_key.read(None),
    "announce": lambda store: store.revision_key.announce(3),
    "ping": lambda store: store.ping(),
}


@pytest.fixture
async def own_store(own_stores: EmbeddedStores) -> AsyncIterator[SessionStore]:
    async with SessionStore(Redis(url=own_stores.redis_url), Auth()) as store:
        yield store


async def _process_id(url: str) -> int:
    async with Client.from_url(url) as client:
        return int((await client.info("server"))["process_id"])


@contextmanager
def frozen(process_id: int) -> Iterator[None]:
    freeze(process_id)
    try:
        yield
    finally:
        os.kill(process_id, signal.SIGCONT)


async def test_a_store_that_hangs_is_refused_in_time_and_comes_back(
    own_stores: EmbeddedStores, own_store: SessionStore
) -> None:
    process_id = await _process_id(own_stores.redis_url)
    await asyncio.gather(*(operation(own_store) for operation in OPERATIONS.values()))
    with frozen(process_id):
        started = time.monotonic()
        results = await asyncio.gather(
            *(operation(own_store) for operation in OPERATIONS.values()), return_exceptions=True
        )
        spent = time.monotonic() - started

    assert {type(result) for result in results} == {Unavailable}
    assert spent < IN_TIME
    assert (await own_store.check("404", "web"))[:2] == (None, None)
    assert await own_store.clock() > 0


async def test_checks_that_arrive_while_the_store_hangs_are_each_refused_in_time(
    own_stores: EmbeddedStores, own_store: SessionStore
) -> None:
    process_id = await _process_id(own_stores.redis_url)

    async def late(delay: float) -> float:
        await asyncio.sleep(delay)
        started = time.monotonic()
        with pytest.raises(Unavailable):
            await own_store.check("1", "web")
        return time.monotonic() - started

    with frozen(process_id):
        longest = max(await asyncio.gather(*(late(tenth / 10) for tenth in range(15))))

    assert longest < IN_TIME


async def test_a_store_that_is_away_is_refused_by_every_operation() -> None:
    async with SessionStore(Redis(url="redis://127.0.0.1:1/0"), Auth()) as away:
        for operation in OPERATIONS.values():
            with pytest.raises(Unavailable):
                await operation(away)


async def test_a_store_that_was_emptied_knows_nobody(store: SessionStore, raw: Raw) -> None:
    await store.open_session("1", "web", "rid", FACTS, seen=b"")
    await raw.flushall()

    assert await store.check("1", "web") == (None, None, None, None)
    rotation = await store.rotate_session("1", "rid", "b", user_name="", nick_name="", seen=b"")
    assert rotation.outcome == "unknown"


async def test_a_refusal_by_the_store_is_no_answer(store: SessionStore, raw: Raw) -> None:
    await raw.config_set("maxmemory", "1")
    try:
        with pytest.raises(Unavailable):
            await store.open_session("1", "web", "rid", FACTS, seen=b"")
    finally:
        await raw.config_set("maxmemory", "0")

    assert (await store.open_session("1", "web", "rid", FACTS, seen=b"")).outcome == "opened"
