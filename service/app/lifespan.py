"""What begins and ends with a worker."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from typing import Any

from service.app.parts import Parts
from service.authn import agents


class Lifespan:
    """Falcon's hooks for the start and the end of a worker."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._running: list[asyncio.Task[None]] = []

    async def process_startup(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """Load the policy and keep it the newest; until a first one is loaded, requests are refused."""
        await self._parts.clock_watch.look()
        await self._parts.watch.look()
        await self._parts.journal.start()
        parts = self._parts
        work = (parts.watch, parts.clock_watch, parts.sweep, parts.metrics)
        self._running = [asyncio.create_task(one.run()) for one in work]
        agents.prepare()  # here: no request should wait for it, and a command that makes parts needs none
        # What is there by now stays: the collector need not walk all of it, amid requests, to find that out.
        gc.collect()
        gc.freeze()

    async def process_shutdown(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """End what runs and let go of the rest."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        if self._running:
            await self._parts.watch.leave()
            await self._parts.metrics.leave()
        await self._parts.close()
