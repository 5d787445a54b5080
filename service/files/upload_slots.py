"""Upload slots: a limit on simultaneous uploads per worker and per user."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from service.errors import Unavailable

PATIENCE: Final = 10.0
"""Seconds that an upload waits for a slot."""


class UploadSlots:
    """At most ``most`` slots, and half of them per user: a slow client delays its own user first."""

    def __init__(self, most: int) -> None:
        self._all = asyncio.Semaphore(most)
        self._share = max(1, most // 2)
        # A user's semaphore exists as long as one of the user's uploads.
        self._of_users: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def taken(self, user_id: int) -> AsyncIterator[None]:
        """Hold a slot for a user during the block; raises Unavailable if none is free in time."""
        own = self._of_users.get(user_id)
        if own is None:
            own = self._of_users[user_id] = asyncio.Semaphore(self._share)
        deadline = asyncio.get_running_loop().time() + PATIENCE
        async with _in_time(own, deadline), _in_time(self._all, deadline):
            yield


@asynccontextmanager
async def _in_time(turns: asyncio.Semaphore, deadline: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout_at(deadline):
            await turns.acquire()
    except TimeoutError:
        raise Unavailable("Too many uploads at once", retry_after=int(PATIENCE)) from None
    try:
        yield
    finally:
        turns.release()
