"""Times as the API writes them, and what is done once in a while at most."""

from __future__ import annotations

from datetime import UTC, datetime
from time import monotonic


def now() -> datetime:
    """Return the current time as an aware UTC datetime."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """Return ``moment`` (aware) in RFC 3339, UTC, with milliseconds: ``2026-11-21T02:33:53.123Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_seconds(seconds: float) -> datetime:
    """Return the aware UTC time of ``seconds`` since the epoch."""
    return datetime.fromtimestamp(seconds, UTC)


class AtMostEvery:
    """Says when something may be done: the first time, and then once in ``seconds`` at most.

    For what is told of many events: a line of the log for each would be too many.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = float("-inf")

    def due(self) -> bool:
        """Return whether it may be done now; after True, False for the next ``seconds``."""
        if (now := monotonic()) < self._next:
            return False
        self._next = now + self._seconds
        return True
