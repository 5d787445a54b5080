"""Encodes batches of entries, while requests go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from service.export.entry import Entry
from service.kernel.cooperative_yield import CooperativeYield

Encoding: TypeAlias = Callable[[Entry], bytes]
"""Returns an entry as one line of JSON, without a line feed."""

_PART: Final = 20  # entries encoded between two yields to the event loop


async def encoded_all(entries: Sequence[Entry], encoding: Encoding) -> list[bytes]:
    """Return ``entries`` as ``encoding`` writes them; gives way to others every few entries."""
    found, pauses = [], CooperativeYield()
    for place, one in enumerate(entries):
        found.append(encoding(one))
        if place % _PART == _PART - 1:
            await pauses.give_way()
    return found
