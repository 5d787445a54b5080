"""The write of a request with an ``Idempotency-Key``: its answer is kept in the write's own transaction."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final, Protocol


class AnsweredBeforeError(Exception):
    """The request repeats one that was served: its answer ``kept`` is sent again, and nothing is written."""

    def __init__(self, kept: Any) -> None:
        super().__init__("answered before")
        self.kept = kept


class KeyedWrite(Protocol):
    """Told of the first transaction of the request that it belongs to, which must be the one that writes."""

    async def begin(self, connection: Any) -> None:
        """Claim the key in a transaction that has just begun; raises if another request has it."""

    def authorized(self) -> None:
        """Go on with the write; raises AnsweredBeforeError if the request repeats one that was served."""

    async def made(self, *saved: Any) -> None:
        """Keep the answer that is made from what was saved; the transaction has not been committed yet."""

    def end(self, connection: Any) -> None:
        """Raise unless the answer is kept in a transaction that is about to be committed."""


KEYED_WRITE: Final[ContextVar[KeyedWrite | None]] = ContextVar("keyed_write", default=None)
"""The write of the request that is being served; None if that has no key."""


def authorized() -> None:
    """Say that the caller may make the write, and that nothing has been written yet.

    Each creating write says so within its transaction. Raises AnsweredBeforeError if the request repeats one
    that was served: the caller may see the answer again, since the same write would be allowed.
    """
    if (write := KEYED_WRITE.get()) is not None:
        write.authorized()


async def made(*saved: Any) -> None:
    """Keep the answer to a creating write, made from what it has saved, within its transaction."""
    if (write := KEYED_WRITE.get()) is not None:
        await write.made(*saved)
