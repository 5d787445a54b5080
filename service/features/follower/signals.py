"""Notify renewals waiting at the hub of possible changes."""

import asyncio
from contextlib import suppress
from typing import Final

from service.errors import Unavailable
from service.keyspace import SessionStore

LOOK_EVERY: Final = 0.02
"""Seconds between two checks for changes, for all followers that wait at a worker."""


class Signals:
    """Notifies waiting renewals of possible changes; checks only while a renewal waits."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._waiting = 0
        self._looking: asyncio.Task[None] | None = None
        self._looks = 0
        self._last: object = None
        self._looked = asyncio.Event()

    async def now(self) -> object:
        """Return a value that differs after any change; raises ``Unavailable``."""
        answer, revoked = await asyncio.gather(self._store.check_rights("0"), self._store.revocations.last())
        return answer.revision, answer.all_rights, revoked

    async def after(self, seen: object, within: float) -> bool:
        """Wait until ``now`` differs from ``seen``, at most ``within`` seconds; return true if it differs."""
        self._waiting += 1
        began = self._looks
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        try:
            async with asyncio.timeout(within):
                while self._looks == began or self._last == seen:
                    await self._looked.wait()
        except TimeoutError:
            return False
        else:
            return True
        finally:
            self._waiting -= 1

    async def _look(self) -> None:
        try:
            while self._waiting:
                with suppress(Unavailable):  # a waiting renewal then fails itself
                    self._last = await self.now()
                    self._looks += 1
                    self._looked.set()
                    self._looked = asyncio.Event()
                await asyncio.sleep(LOOK_EVERY)
        finally:
            self._looking = None
