"""What a fault matrix needs of a store: each way to fail, made and unmade."""

from __future__ import annotations

from typing import Protocol

FAULTS = ("stopped", "frozen", "slow", "killed", "read-only", "full", "emptied")
SLOW = 5.0  # seconds that a slow store holds back each answer


class FaultyStore(Protocol):
    """A store that fails on demand."""

    name: str

    def impossible(self, fault: str) -> str | None:
        """Say why this store can't fail in this way here; None when it can."""

    def inject(self, fault: str) -> None:
        """Fail; returns when the fault is in force. What is ``killed`` comes back by itself."""

    def heal(self, fault: str) -> None:
        """Undo the fault, and return when the store works."""
