"""How many connections a worker may hold: fewer than its limit for open files."""

from __future__ import annotations

import resource
from typing import Final

from service.settings import Settings

USUAL: Final = 10_000
"""The most connections of a worker unless the settings or the system have a lower limit."""

# For connections to the stores, logs, uploads, and rejected connections.
_RESERVE: Final = 128


def raise_file_limit() -> int:
    """Raise the soft limit for open files to the hard one, for this process and its children; return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def most_connections(settings: Settings) -> int:
    """Return how many connections this worker may hold, at least 1."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = settings.server.max_connections or USUAL
    others = _RESERVE + settings.database.pool_size + 2 * settings.upload.concurrent
    return limit if soft == resource.RLIM_INFINITY else max(1, min(limit, soft - others))
