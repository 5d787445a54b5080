"""The dry run that a request may be: it does all that the request asks for, and saves nothing."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, Final, Protocol


class OvertakenError(Exception):
    """Others changed what a dry run is about while it was made: it has to be made again."""


class DryRun(Protocol):
    """Told what would be saved.

    While one is current no transaction commits or takes the locks by which changes follow one another, and no
    session is touched.
    """

    async def begin(self, connection: Any) -> None:
        """Look at what is stored, in a transaction that has just begun."""

    async def end(self, connection: Any) -> None:
        """Look at what would be stored; the transaction is rolled back when this returns."""

    def publish(self, policy: Any) -> None:
        """Take the policy that would be in force."""

    def warn(self, warnings: Iterable[str]) -> None:
        """Take sentences about what would keep the change from being saved."""

    def refresh(self, user_ids: Iterable[int]) -> None:
        """Take the users whose tokens would be refused until they are refreshed."""


DRY_RUN: Final[ContextVar[DryRun | None]] = ContextVar("dry_run", default=None)
"""The dry run of the request that is being served; None when it is none."""
