"""The store killed amid rotations: the old or the new token is valid, and nothing else is left."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal

import pytest
from redis.asyncio import Redis as Client
from redis.exceptions import RedisError

from service.embedded import EmbeddedStores
from service.errors import Unavailable
from service.keyspace import SessionFacts, SessionStore
from service.settings import Auth, Redis
from tests.keyspace.conftest import Raw
from tests.support.waiting import eventually_here

pytestmark = pytest.mark.anyio

FACTS = SessionFacts("ann", "Ann", "10.0.0.1", "", "", "")


async def rotate_until_killed(store: SessionStore, login_id: str, begun: set[str]) -> tuple[str, str]:
    """Return the last refresh id that was live, and the one that may have replaced it.

    ``login_id`` is added to ``begun`` once its first id was replaced.
    """
    last = f"{login_id}-start"
    await store.open_session(login_id, "web", last, FACTS, seen=b"")
    for number in itertools.count():
        following = f"{login_id}-{number}"
        try:
            rotation = await store.rotate_session(
                login_id, last, following, user_name="ann", nick_name="Ann", seen=b""
            )
        except Unavailable:
            return last, following
        assert rotation.outcome == "rotated"
        last = following
        begun.add(login_id)
    raise AssertionError


async def is_back(raw: Raw, killed: int) -> bool:
    try:
        server_info = await raw.info()
    except (RedisError, OSError):
        return False
    return int(server_info["process_id"]) != killed and not int(server_info["loading"])


async def test_a_kill_leaves_each_session_with_one_refresh_id_that_can_be_listed_and_ended(
    own_stores: EmbeddedStores,
) -> None:
    store = SessionStore(Redis(url=own_stores.redis_url), Auth())
    async with Client.from_url(own_stores.redis_url, decode_responses=True) as raw:
        process_id = int((await raw.info("server"))["process_id"])
        users = [str(number) for number in range(1, 9)]
        begun: set[str] = set()
        running = [asyncio.ensure_future(rotate_until_killed(store, login_id, begun)) for login_id in users]
        assert await eventually_here(lambda: len(begun) == len(users))
        os.kill(process_id, signal.SIGKILL)
        candidates = await asyncio.gather(*running)
        while not await is_back(raw, process_id):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)

        for login_id, (last, following) in zip(users, candidates, strict=True):
            (session,) = (await store.sessions(login_id)).values()
            assert session.rid in (last, following)
            assert await raw.get(f"auth:refresh:{session.rid}") == f"{login_id}:web"
        assert len(await raw.keys("auth:refresh:*")) == len(users)
        assert (await store.online.page()).total == len(users)
        assert [await store.close_sessions(login_id) for login_id in users] == [1] * len(users)
        assert await raw.keys("auth:refresh:*") == []
    await store.close()
