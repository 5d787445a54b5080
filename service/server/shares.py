"""How many connections each worker of a node has and may have; one with few of them takes the next."""

from __future__ import annotations

import resource
from typing import Final

from service.server.shared_numbers import SharedNumbers
from service.settings import Settings

CLOSED: Final = 2**32 - 1
"""The count of a worker that accepts nothing: it is starting, stopping, or gone."""


class Share:
    """The connections of one worker, beside those of the other workers of its node.

    ``counts`` has a place for each worker, in memory that they share; ``place`` is the own one, from 0. A
    count is written by its worker alone, and read by the others a moment later: it steers, and is no lock.
    """

    def __init__(self, counts: SharedNumbers, place: int) -> None:
        self._counts = counts
        self._place = place
        self._accepts = False

    def join(self) -> None:
        """Tell the others that this worker accepts from now on."""
        self._accepts = True
        self.tell(0)

    def tell(self, connections: int) -> None:
        """Tell the others how many connections this worker has, while it accepts."""
        if self._accepts:
            self._counts[self._place] = connections

    def leave(self) -> None:
        """Tell the others that this worker accepts nothing any more."""
        self._accepts = False
        self._counts[self._place] = CLOSED

    def is_exceeded_by(self, connections: int) -> bool:
        """Return whether another worker that accepts has fewer than ``connections``."""
        return any(count < connections for place, count in enumerate(self._counts) if place != self._place)


def alone() -> Share:
    """Return the share of a worker that has no others beside it."""
    return Share(SharedNumbers(1, CLOSED), 0)


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
