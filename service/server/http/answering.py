"""The task in which an application answers the requests of one connection, one after the other."""

import asyncio
from contextvars import copy_context
from typing import Any

from service.server.http.cycle import Cycle


class Answering:
    """Answers requests in one task that waits for the next request: a new task for each would cost more.

    A request sees nothing of the previous request. If that changed a context variable, was cancelled, or is
    not over yet, the next request gets a new task.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, busy: set[Any]) -> None:
        """``busy`` are the tasks of the worker that answer something now."""
        self._loop = loop
        self._busy = busy
        self._task: asyncio.Task[None] | None = None
        self._next: asyncio.Future[Cycle | None] | None = None
        """The future that the task waits for, while it waits."""
        self._is_over = False

    def begin(self, cycle: Cycle, app: Any) -> None:
        """Have ``app`` answer a request."""
        waiting, self._next = self._next, None
        if waiting is not None:
            self._busy.add(self._task)
            waiting.set_result(cycle)
            return
        task = self._task = self._loop.create_task(self._answer(cycle, app))
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)

    def finish(self) -> None:
        """End the task: the connection is closed."""
        self._is_over = True
        if self._next is not None:
            self._next.set_result(None)
            self._next = None

    async def _answer(self, first: Cycle, app: Any) -> None:
        task, clean = asyncio.current_task(), copy_context()
        cycle: Cycle | None = first
        del first
        while cycle is not None:
            await cycle.run_asgi(app)
            cycle = None  # it has what the request has held
            if self._task is not task or task is None:
                return
            if self._is_over or task.cancelling() or copy_context() != clean:
                self._task = None
                return
            waiting = self._next = self._loop.create_future()
            self._busy.discard(task)
            cycle = await waiting
