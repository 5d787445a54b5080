"""What a job is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from service.records.database.transactions import Connection, Database

Work: TypeAlias = Callable[[Database], Awaitable[str]]
"""Does the work with a database of its own, and returns what was done, in a few words.

Raises OperatorError with what somebody must look at, in words without a secret.
"""
Pending: TypeAlias = Callable[[Connection], Awaitable[bool]]
"""Tells in one short query whether a job has work."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work that comes back every ``interval`` seconds; None: only when somebody asks for it.

    A run that takes longer than ``within`` seconds is stopped, and has failed. After a failure the job is due
    again in ``retry`` seconds, or after its interval, if that is shorter. Where ``pending`` finds no work, a
    run by schedule is left out, and neither recorded nor logged: so a job may look every few seconds.
    """

    name: str
    title: str
    work: Work
    interval: float | None
    within: float = 600.0
    retry: float = 300.0
    pending: Pending | None = None

    def again_in(self, *, failed: bool) -> float | None:
        """Return the seconds from the end of a run to the next one; None without a schedule."""
        if self.interval is None or not failed:
            return self.interval
        return min(self.interval, self.retry)
