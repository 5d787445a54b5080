"""How many connections a worker may hold: fewer than it may have open files."""

from __future__ import annotations

import resource
from typing import Final

from service.settings import Settings

USUAL: Final = 10_000
"""The most connections of a worker when neither the settings nor the system say less."""

# Sockets of the stores, logs, files being uploaded; and the sockets of those who are turned away.
_RESERVE: Final = 128


def raise_file_limit() -> int:
    """Raise the soft limit for open files to the hard one, for this process and its children; return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def most_connections(settings: Settings) -> int:
    """Return how many connections this worker may hold, 1 at least."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.server.max_connections or USUAL
    others = _RESERVE + settings.database.pool_size + 2 * settings.upload.concurrent
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft - others))
