"""Going through many things in a thread without holding up the event loop beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import perf_counter, sleep
from typing import Final, TypeVar

T = TypeVar("T")

_SLICE: Final = 0.0003
"""Seconds of work between two looks at who else wants to run."""
_NOTICED: Final = 0.0001
"""Seconds that it takes, at least, to get the interpreter back from somebody who wanted it."""
_REST: Final = 0.0007
"""Seconds that are left to the others when there are some."""
_BUSY_FOR: Final = 10
"""Slices after which the others, once noticed, are taken to have ended."""
_STEP: Final = 32


def unhurried(items: Iterable[T]) -> Iterator[T]:
    """Yield ``items``, leaving the interpreter to other threads whenever they have work to do.

    Never for the event loop itself. Python hands the interpreter over every 5 ms only, and the loop asks for
    it anew with each request that it has received: requests would wait for a rebuild again and again. Where
    nobody else wants it, hardly any time is lost.
    """
    began, busy = perf_counter(), 0
    for number, item in enumerate(items):
        if number % _STEP == 0 and (now := perf_counter()) - began > _SLICE:
            sleep(0)  # some 50 µs: a shorter moment would be over before another thread has woken up
            busy = _BUSY_FOR if perf_counter() - now > _NOTICED else busy - 1
            if busy > 0:
                sleep(_REST)
            began = perf_counter()
        yield item
