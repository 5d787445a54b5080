"""The stream in which batches of log entries wait for the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from service.keyspace.scripts import Scripts


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries that went into the stream together; ``content`` is theirs who put it there."""

    id: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Done:
    """What became of the entries of a batch."""

    batch: Batch
    written: int
    set_aside: int


@dataclass(frozen=True, slots=True)
class LogCounts:
    """Entries of all workers since the store was new.

    ``accepted`` is the sum of the others, at every moment: each step of an entry is one script.
    """

    accepted: int
    written: int
    dropped: int
    set_aside: int
    under_way: int


class LogStream:
    """One stream for all workers, read by a consumer group: each batch has one writer at a time.

    The stream is never trimmed: a batch stays until a writer says that it is done with it. Every method
    raises ``Unavailable``.
    """

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def add(
        self, sender: str, number: int, content: bytes, *, count: int, dropped: int, most_bytes: int
    ) -> bool:
        """Put in a batch of ``count`` entries; False when the stream would exceed ``most_bytes``.

        ``number`` rises with each batch of a ``sender``: a batch that is sent again, since its answer was
        lost, is not added again. ``dropped`` are the entries that the sender had to drop since the batch
        before; they are counted.
        """
        return bool(await self._scripts.run("log_add", sender, number, content, count, dropped, most_bytes))

    async def take(self, writer: str, *, most: int, again: bool = False, idle: float = 0) -> list[Batch]:
        """Return up to ``most`` batches that nobody has had; with ``again``, those that ``writer`` has.

        With ``idle`` also up to ``most`` that other writers took and did not finish within so many seconds.
        """
        found = await self._scripts.run("log_take", writer, "0" if again else ">", most, round(1000 * idle))
        return [Batch(name.decode(), content) for name, content in zip(found[::2], found[1::2], strict=True)]

    async def done(self, batches: Iterable[Done]) -> None:
        """Remove batches and count what became of them; a batch that was removed before does not count."""
        words: list[str | int] = []
        for one in batches:
            words += [one.batch.id, len(one.batch.content), one.written, one.set_aside]
        await self._scripts.run("log_done", *words)

    async def counts(self) -> LogCounts:
        """Return what became of all entries."""
        return LogCounts(*await self._scripts.run("log_counts"))

    async def leave(self, writer: str) -> None:
        """Forget a writer that ends; what it has not finished, if anything, others will claim."""
        await self._scripts.run("log_leave", writer)
