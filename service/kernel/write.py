"""A write that somebody asks for: who asks, whether anything is saved, and whether its answer is kept."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from service.kernel.identity import Caller


class OvertakenError(Exception):
    """Others changed what a dry run is about while it was made: it has to be made again."""


class AnsweredBeforeError(Exception):
    """The request repeats one that was served: its answer ``kept`` is sent again, and nothing is written."""

    def __init__(self, kept: Any) -> None:
        super().__init__("answered before")
        self.kept = kept


class DryRun(Protocol):
    """A dry run, told what would be saved. No session is touched, and no other change has to wait."""

    async def begin(self, connection: Any) -> None:
        """Look at what is stored, in a transaction that has just begun."""

    async def end(self, connection: Any) -> None:
        """Look at what would be stored; the transaction is rolled back when this returns."""

    def publish(self, policy: Any) -> None:
        """Take the policy that would be in force."""

    def warn(self, warnings: Iterable[str]) -> None:
        """Take sentences about what would keep the change from being saved, or what it would do besides."""

    def refresh(self, user_ids: Iterable[int]) -> None:
        """Take the users whose tokens would be refused until they are refreshed."""


class IdempotentWrite(Protocol):
    """A write under an ``Idempotency-Key``: its answer is kept in the transaction that makes it."""

    async def begin(self, connection: Any) -> None:
        """Claim the key in a transaction that has just begun; raises if another request has it."""

    def authorized(self) -> None:
        """Go on with the write; raises AnsweredBeforeError if the request repeats one that was served."""

    async def made(self, saved: Any) -> None:
        """Keep the answer that is made from what was saved; the transaction has not been committed yet."""

    def end(self) -> None:
        """Raise unless the answer is kept in the transaction, which is about to be committed."""


@dataclass(frozen=True, slots=True)
class Write:
    """What ``caller`` asks to be written: a dry run saves nothing, an idempotent write keeps its answer.

    It is handed to whatever begins the transaction.
    """

    caller: Caller
    dry_run: DryRun | None = None
    idempotent: IdempotentWrite | None = None
