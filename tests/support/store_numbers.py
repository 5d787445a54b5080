"""Numbered databases of the session's Valkey, each for one installation at a time.

Two installations that share one disturb each other: their sessions and revisions have the same keys, and the
entries of one seem to be missing from the logs of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import redis

from service.embedded import EmbeddedStores

_NUMBERS: Final = frozenset(range(16))  # as many as Valkey has where nothing is set
_taken: dict[str, set[int]] = {}
"""The numbers in use, by the URL of their Valkey."""


@contextmanager
def session_store(stores: EmbeddedStores) -> Iterator[str]:
    """Yield the URL of an empty database that nobody else of this process uses until the block ends."""
    taken = _taken.setdefault(stores.redis_url, set())
    number = min(_NUMBERS - taken)
    taken.add(number)
    try:
        url = f"{stores.redis_url}?db={number}"
        with redis.Redis.from_url(url) as client:
            client.flushdb()
        yield url
    finally:
        taken.remove(number)
