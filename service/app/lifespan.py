"""Start and end of a worker."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from typing import Any

from service.app.container import Container
from service.app.readiness import SLOWLY


class Lifespan:
    """Falcon's hooks for the start and the end of a worker."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._running: list[asyncio.Task[None]] = []

    async def process_startup(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """Load the policy and keep it current; until a first one is loaded, requests are refused.

        A start that fails releases what it has opened: nobody calls ``process_shutdown`` after it.
        """
        try:
            await self._start()
        except BaseException:
            await self.process_shutdown(scope, event)
            raise

    async def process_shutdown(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """Stop background tasks and release resources."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        try:
            if self._running:
                await self._container.watch.leave()
                self._container.metrics.leave()
        finally:
            await self._container.close()

    async def _start(self) -> None:
        await self._container.clock_watch.look()
        await self._container.watch.look()
        await self._container.journal.start()
        await self._container.readiness.look()
        container = self._container
        if container.decision_log is not None:
            container.decision_log.start()
        if container.tracing is not None:
            container.tracing.start()
        work = (
            container.watch,
            container.clock_watch,
            container.scheduler,
            container.exporter,
            container.metrics,
        )
        self._running = [asyncio.create_task(one.run()) for one in work]
        self._running.append(asyncio.create_task(container.readiness.run(SLOWLY)))
        self._running.append(asyncio.create_task(container.store.follow_primary()))
        container.process.serves()
        # Objects created so far are permanent: keep the garbage collector from scanning them during requests.
        gc.collect()
        gc.freeze()
