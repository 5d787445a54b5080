"""What begins and ends with a worker."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from service.app.parts import Parts


class Lifespan:
    """Falcon's hooks for the start and the end of a worker."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._watching: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def process_startup(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """Load the policy and keep it the newest; until a first one is loaded, requests are refused."""
        await self._parts.watch.look()
        await self._parts.journal.start()
        self._watching = asyncio.create_task(self._parts.watch.run())
        self._sweeping = asyncio.create_task(self._parts.sweep.run())
        # What is there by now stays: the collector need not walk all of it, amid requests, to find that out.
        gc.collect()
        gc.freeze()

    async def process_shutdown(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """End what runs and let go of the rest."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeping
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
            await self._parts.watch.leave()
        await self._parts.close()
