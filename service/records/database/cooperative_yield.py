"""Going through many rows on the event loop without holding up the requests that it serves beside."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Final

from sqlalchemy.util.concurrency import await_only, in_greenlet

_BUSY: Final = 0.00003
"""Seconds that a turn of the event loop takes, at least, when it has something to do."""
_BUSY_FOR: Final = 10
"""Turns after which requests, once noticed, are taken to have ended."""
_REST: Final = 0.001
"""Seconds that are left to requests between two parts of the rows, when there are some."""


class CooperativeYield:
    """One way through many rows; ``give_way`` is called after every part of them."""

    def __init__(self) -> None:
        self._busy = 0

    async def give_way(self) -> None:
        """Let the event loop do what is due, and go on doing so for a while when it has much to do."""
        began = perf_counter()
        await asyncio.sleep(0)
        self._busy = _BUSY_FOR if perf_counter() - began > _BUSY else self._busy - 1
        if self._busy > 0:
            await asyncio.sleep(_REST)

    def give_way_if_async(self) -> None:
        """Do the same from a function that ``AsyncConnection.run_sync`` called; elsewhere nothing."""
        if in_greenlet():
            await_only(self.give_way())
