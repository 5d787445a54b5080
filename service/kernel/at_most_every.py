"""What is told at once, and then not too often: a line of the log for each lost event would be too many."""

from __future__ import annotations

from time import monotonic


class AtMostEvery:
    """Says when something may be done: the first time, and then once in ``seconds`` at most."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = float("-inf")

    def due(self) -> bool:
        """Return whether it may be done now; after True, False for the next ``seconds``."""
        if (now := monotonic()) < self._next:
            return False
        self._next = now + self._seconds
        return True
