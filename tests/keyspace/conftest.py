"""A session store on the session's Valkey, and sessions to open in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis as Client

from service.keyspace import Opening, SessionFacts, SessionStore
from service.settings import Auth, Redis

OpenSession = Callable[..., Awaitable[Opening]]
Raw = Any
"""redis-py's client, whose types say bytes or str or None where it returns texts."""


@pytest.fixture
def auth() -> Auth:
    return Auth()


@pytest.fixture
async def store(redis_url: str, auth: Auth) -> AsyncIterator[SessionStore]:
    store = SessionStore(Redis(url=redis_url), auth)
    yield store
    await store.close()


@pytest.fixture
async def raw(redis_url: str) -> AsyncIterator[Raw]:
    """The store as it is, to look at and to tamper with."""
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
