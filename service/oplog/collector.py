"""Takes entries from requests, which never wait for it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from service.records.login_logs import LoginEvent
from service.records.operation_logs import OperationEvent

Event = OperationEvent | LoginEvent

RecordLogin = Callable[[LoginEvent], None]
"""Hands over one login event; returns at once, and raises nothing."""


class Counts(Struct):
    """What became of the entries; ``accepted`` is the sum of the others and of those still under way."""

    accepted: int = 0
    written: int = 0
    dropped: int = 0
    set_aside: int = 0


class Collector:
    """Holds entries until they are fetched, at most ``limit`` of them; more are dropped and counted."""

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._waiting: list[Event] = []
        self.counts = Counts()

    def operation(self, event: OperationEvent) -> None:
        """Take an entry of the operation log; returns at once, and raises nothing."""
        self._take(event)

    def login(self, event: LoginEvent) -> None:
        """Take an entry of the login log; returns at once, and raises nothing."""
        self._take(event)

    def fetch(self) -> list[Event]:
        """Return what waits; it is the caller's now."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def _take(self, event: Event) -> None:
        self.counts.accepted += 1
        if len(self._waiting) < self._limit:
            self._waiting.append(event)
        else:
            self.counts.dropped += 1
