"""The addresses in the URL of a session store."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from service.keyspace.sentinel import group_of


def tls_addresses(url: str) -> Iterator[tuple[str, int]]:
    """Yield host and port of the servers of ``url`` if they speak TLS: the store, or all its sentinels."""
    behind = group_of(url)
    if behind is not None:
        yield from behind.sentinels if behind.tls else ()
        return
    parts = urlsplit(url)
    if parts.scheme == "rediss":
        yield parts.hostname or "localhost", parts.port or 6379
