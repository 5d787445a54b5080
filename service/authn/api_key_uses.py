"""Notes when API keys were last used: seldom, and beside the requests."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import structlog

from service.errors import Unavailable
from service.records import api_keys
from service.records.api_keys import USE_EVERY
from service.records.database.transactions import Database

_MOST: Final = 10_000  # keys whose last note is remembered
_log = structlog.get_logger(__name__)


class KeyUses:
    """Writes the last use of each key at most once in ``USE_EVERY`` seconds, in the background.

    Several workers write no more often: the database compares the time. A note that can't be written is lost,
    and the next use after that time makes another.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._noted: dict[int, float] = {}
        self._waiting: set[int] = set()
        self._task: asyncio.Task[None] | None = None

    def note(self, key_id: int) -> None:
        """Take note that a key was used; returns at once."""
        now = time.monotonic()
        if now - self._noted.get(key_id, -USE_EVERY) < USE_EVERY:
            return
        if len(self._noted) >= _MOST:
            self._noted.clear()
        self._noted[key_id] = now
        self._waiting.add(key_id)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def finish(self) -> None:
        """Wait until the notes made so far are written or lost."""
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, set()
                async with self._database.transaction() as connection:
                    await api_keys.note_uses(connection, sorted(batch))
        except Unavailable:
            self._waiting.clear()
        except Exception:  # noqa: BLE001 - nobody waits for a note, and no request may fail for it
            self._waiting.clear()
            _log.exception("uses of API keys can't be noted")
        finally:
            self._task = None
