"""A requested write: its caller, whether it is a dry run, and whether its answer is kept."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import Struct

from service.kernel.coded_sentences import Sentence
from service.kernel.identity import Caller


class OvertakenError(Exception):
    """Other transactions changed the records of a dry run meanwhile: it must be made again."""


class AnsweredBeforeError(Exception):
    """The request repeats one that was served: its answer ``kept`` is sent again, and nothing is written."""

    def __init__(self, kept: Any) -> None:
        super().__init__("answered before")
        self.kept = kept


class DryRun(Protocol):
    """A dry run, which observes what would be saved. It touches no session, and delays no other change."""

    async def begin(self, connection: Any) -> None:
        """Read the stored state, in a transaction that has just begun."""

    async def end(self, connection: Any) -> None:
        """Read the state that would be stored; the transaction is rolled back when this returns."""

    def publish(self, policy: Any) -> None:
        """Take the policy that would be in force."""

    def warn(self, warnings: Iterable[Sentence]) -> None:
        """Take warnings about obstacles to the change, or about its further effects."""

    def refresh(self, user_ids: Iterable[int]) -> None:
        """Take the users whose tokens would be refused until they are refreshed."""


class KeyScope(Struct, frozen=True):
    """The scope of a key: one user, method and path. ``key_hash`` is the SHA-256 of the key."""

    user_id: int
    method: str
    path: str
    key_hash: bytes


class SentAnswer(Struct, frozen=True):
    """An answer: status, headers by name, and the JSON of its data."""

    status: int
    headers: dict[str, str]
    answer: bytes


class IdempotentWrite(Protocol):
    """A write under an ``Idempotency-Key``: its answer is kept in the transaction that makes it."""

    async def begin(self, connection: Any) -> None:
        """Claim the key in a transaction that has just begun; raises if another request has it."""

    def authorized(self) -> None:
        """Go on with the write; raises AnsweredBeforeError if the request repeats one that was served."""

    async def made(self, saved: Any) -> None:
        """Keep the answer made from the saved state; the transaction has not been committed yet."""

    def end(self) -> None:
        """Raise unless the answer is kept in the transaction, which is about to be committed."""


@dataclass(frozen=True, slots=True)
class Write:
    """A write requested by ``caller``: a dry run saves nothing, an idempotent write keeps its answer.

    It is passed to the code that begins the transaction.
    """

    caller: Caller
    dry_run: DryRun | None = None
    idempotent: IdempotentWrite | None = None
