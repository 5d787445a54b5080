"""Start and end of a worker."""

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
                await self._container.policy.watch.leave()
                self._container.node.metrics.leave()
        finally:
            await self._container.close()

    async def _start(self) -> None:
        await self._container.stores.clock_watch.look()
        await self._container.policy.watch.look()
        await self._container.trail.journal.start()
        await self._container.node.readiness.look()
        container = self._container
        if container.trail.decisions is not None:
            container.trail.decisions.start()
        if container.node.tracing is not None:
            container.node.tracing.start()
        work = (
            container.policy.watch,
            container.stores.clock_watch,
            container.node.scheduler,
            container.trail.exporter,
            container.node.metrics,
        )
        self._running = [asyncio.create_task(runner.run()) for runner in work]
        self._running.append(asyncio.create_task(container.node.readiness.run(SLOWLY)))
        self._running.append(asyncio.create_task(container.stores.sessions.follow_primary()))
        container.node.process.serves()
        # Objects created so far are permanent: keep the garbage collector from scanning them during requests.
        gc.collect()
        gc.freeze()
