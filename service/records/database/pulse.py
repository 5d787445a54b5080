"""Whether the server still answers, while work that may take longer waits for it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from service.records.database.connection import PromptConnection, has_ended

_STALLED: Final = 0.1
"""Seconds by which the event loop may be late: a question that was asked meanwhile says nothing."""


class Pulse:
    """Asks the server again and again, on a connection of its own, while long transactions are under way.

    A transaction that may take ten seconds can't tell by itself whether its statement takes long, or the
    server was frozen in the middle. All transactions of a process share the questions.
    """

    def __init__(self, connect: Callable[[], Awaitable[PromptConnection]], within: float) -> None:
        """``connect`` opens a connection in autocommit; ``within`` are seconds until silence is noticed."""
        self._connect = connect
        self._half = within / 2
        self._watching: set[asyncio.Timeout] = set()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watching(self, deadline: asyncio.Timeout) -> AsyncIterator[None]:
        """Let ``deadline`` expire at once when the server falls silent while the block runs."""
        self._watching.add(deadline)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            self._watching.discard(deadline)

    async def finish(self) -> None:
        """End the questions."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        """Ask until nobody watches; a pause and an answer take ``within`` seconds together at most."""
        connection: PromptConnection | None = None
        loop = asyncio.get_running_loop()
        try:
            while True:
                due = loop.time() + self._half
                await asyncio.sleep(self._half)
                if not self._watching:
                    return
                asked, begun = set(self._watching), loop.time()
                try:
                    async with asyncio.timeout(self._half):
                        if connection is None or has_ended(connection):
                            connection = await self._connect()
                        await connection.execute("SELECT 1")
                except Exception:  # noqa: BLE001 - whatever keeps the server from answering
                    await _closed(connection)
                    connection = None
                    # A process that did not run itself has not heard an answer that may be there.
                    if begun - due < _STALLED and loop.time() - begun < self._half + _STALLED:
                        for deadline in asked & self._watching:
                            deadline.reschedule(loop.time())
        finally:
            await _closed(connection)


async def _closed(connection: PromptConnection | None) -> None:
    if connection is not None:
        with suppress(Exception):
            await connection.close()
