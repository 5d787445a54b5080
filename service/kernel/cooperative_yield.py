"""Yield during long work, in a thread beside the event loop or on the event loop itself.

Both ways measure the delay until they get control back. After a long delay, the next pauses last a fixed
time, because other work is waiting. Without other work, a pause costs next to nothing.
"""

import asyncio
from collections.abc import Iterable, Iterator
from itertools import islice
from time import perf_counter, sleep
from typing import Final, TypeVar

T = TypeVar("T")

_BUSY_PAUSES: Final = 10
"""Pauses after which others, once seen busy, are taken to be idle again."""

_THREAD_SLICE: Final = 0.0003
"""Seconds of work in a thread between two pauses."""
_THREAD_BUSY: Final = 0.0001
"""Seconds that a pause takes at least when another thread holds the interpreter."""
_THREAD_REST: Final = 0.0007
"""Seconds that busy threads get in each pause."""
_THREAD_STEP: Final = 32
"""Items between two looks at the clock."""

_LOOP_BUSY: Final = 0.00003
"""Seconds that one iteration of the event loop takes at least when it has other work."""
_LOOP_REST: Final = 0.001
"""Seconds that other tasks get in each pause when there are any."""
_LOOP_SLICE: Final = 0.001
"""Seconds of work on the event loop between two pauses."""


def cooperatively(items: Iterable[T]) -> Iterator[T]:
    """Yield ``items`` in a worker thread, and pause while other threads have work to do.

    Not for the event loop: it sleeps. Python takes the interpreter from a thread only every 5 ms, and the
    loop needs it back for each request that arrives: requests would wait again and again for a long rebuild.
    """
    began, busy = perf_counter(), 0
    for number, item in enumerate(items):
        if number % _THREAD_STEP == 0 and (now := perf_counter()) - began > _THREAD_SLICE:
            sleep(0)  # some 50 µs: a shorter moment would be over before another thread has woken up
            busy = _BUSY_PAUSES if perf_counter() - now > _THREAD_BUSY else busy - 1
            if busy > 0:
                sleep(_THREAD_REST)
            began = perf_counter()
        yield item


def in_parts(items: Iterable[T], size: int = 64) -> Iterator[list[T]]:
    """Yield ``items`` in lists, in a worker thread, and pause like ``cooperatively``.

    For work that takes less than a microsecond for each item: a list comprehension does it faster.
    """
    remaining = iter(items)
    return cooperatively(iter(lambda: list(islice(remaining, size)), []))


class CooperativeYield:
    """One long work on the event loop; it awaits ``give_way`` after each part, or ``after_item``."""

    def __init__(self) -> None:
        self._busy = 0
        self._began = perf_counter()

    async def after_item(self) -> None:
        """Give way if that is due: after some milliseconds of work, however many items that were."""
        if perf_counter() - self._began > _LOOP_SLICE:
            await self.give_way()
            self._began = perf_counter()

    async def give_way(self) -> None:
        """Let the event loop run its other tasks, for longer while there are many."""
        began = perf_counter()
        await asyncio.sleep(0)
        self._busy = _BUSY_PAUSES if perf_counter() - began > _LOOP_BUSY else self._busy - 1
        if self._busy > 0:
            await asyncio.sleep(_LOOP_REST)
