"""Ids of events: unique across nodes, and sorted by the time when they were made."""

from __future__ import annotations

import os
import time
from uuid import UUID

_AT_ONCE = 256
_drawn: list[int] = []
os.register_at_fork(after_in_child=_drawn.clear)  # or two processes would give the same ids

_VERSION = 7 << 76
_VARIANT = 2 << 62
_RANDOM_A = (1 << 12) - 1
_RANDOM_B = (1 << 62) - 1


def new_event_id() -> UUID:
    """Return a UUID of version 7 (RFC 9562 §5.7): milliseconds since the epoch, then 74 random bits.

    Random ids would spread the reads and writes of an index over all its pages; these append at its end.
    """
    return UUID(int=time.time_ns() // 1_000_000 << 80 | _all_but_time())


def _all_but_time() -> int:
    """Return an id without its time; many are drawn at once, since each draw is a call of the system."""
    while True:
        try:
            return _drawn.pop()  # atomic: no two threads get the same
        except IndexError:
            block = os.urandom(10 * _AT_ONCE)
            numbers = (int.from_bytes(block[at : at + 10]) for at in range(0, len(block), 10))
            _drawn.extend(
                _VERSION | (number >> 62 & _RANDOM_A) << 64 | _VARIANT | number & _RANDOM_B
                for number in numbers
            )
