"""The stream in which batches of log entries wait for the database."""

from collections.abc import Collection, Iterable
from dataclasses import astuple, dataclass
from typing import Final

from service.keyspace.scripts import Scripts

ACTIVITY_HOURS: Final = 168
"""Hours of which counts are kept: seven days; ``scripts/log_common.lua`` has the same number."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries that were added together; ``id`` is the stream's, ``content`` the sender's bytes."""

    id: str
    content: bytes


@dataclass(slots=True)
class HourCounts:
    """What happened in an ``hour``, in hours since the epoch (UTC), as the entries of the logs tell.

    ``allowed`` counts logged operations that the policy let pass, ``refused`` all requests it refused.
    """

    hour: int = 0
    logins: int = 0
    login_failures: int = 0
    allowed: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """A finished batch, how many of its entries were written and set aside, and what they tell by hour."""

    batch: Batch
    written: int
    set_aside: int
    activity: tuple[HourCounts, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptHead:
    """The end of a chain after a batch, and before it; ``place`` names the chain, hashes are hexadecimal."""

    place: str
    before: int
    before_hash: str
    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class LogCounts:
    """Numbers of entries of all workers since the store was new.

    ``accepted`` always equals the sum of the others: each step of an entry is one script.
    """

    accepted: int
    written: int
    dropped: int
    set_aside: int
    under_way: int


@dataclass(frozen=True, slots=True)
class LogQueue:
    """What waits in the stream for the database; ``oldest`` is the age of the oldest batch in seconds."""

    entries: int
    size: int
    oldest: float


class LogStream:
    """One stream for all workers, read by a consumer group: each batch has one writer at a time.

    The stream is never trimmed: a batch stays until a writer reports it as done. Every method raises
    ``Unavailable``.
    """

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def add(
        self, sender: str, number: int, content: bytes, *, count: int, dropped: int, most_bytes: int
    ) -> bool:
        """Add a batch of ``count`` entries; returns False if the stream would exceed ``most_bytes``.

        ``number`` rises with each batch of a ``sender``: a batch that is sent again because the reply was
        lost is not added twice. ``dropped`` counts the entries that the sender dropped since its previous
        batch.
        """
        return bool(await self._scripts.run("log_add", sender, number, content, count, dropped, most_bytes))

    async def take(self, writer: str, *, most: int, again: bool = False, idle: float = 0) -> list[Batch]:
        """Return up to ``most`` new batches, or with ``again`` those that ``writer`` took before.

        With ``idle`` (seconds) also up to ``most`` that other writers took longer ago and did not finish.
        """
        reply = await self._scripts.run("log_take", writer, "0" if again else ">", most, round(1000 * idle))
        return [Batch(name.decode(), content) for name, content in zip(reply[::2], reply[1::2], strict=True)]

    async def done(self, batches: Iterable[Done], heads: Collection[KeptHead] = ()) -> int:
        """Remove batches and count their entries; a batch that was already removed is not counted again.

        ``heads`` are those of the chains that the entries were added to. Return how many of these chains do
        not go on from the head that is kept: entries are gone that were written once. It is told once.
        """
        words: list[str | int] = [len(heads)]
        for head in heads:
            words += [head.place, head.before, head.before_hash, head.number, head.hash]
        for finished in batches:
            words += [finished.batch.id, len(finished.batch.content), finished.written, finished.set_aside]
            words.append(len(finished.activity))
            for hour in finished.activity:
                words += astuple(hour)
        return int(await self._scripts.run("log_done", *words))

    async def heads(self) -> dict[str, str]:
        """Return number and hash of each kept head, by place; `` lost`` ends the place of a broken chain."""
        texts = [text.decode() for text in await self._scripts.run("log_heads")]
        return dict(zip(texts[::2], texts[1::2], strict=True))

    async def activity(self, first: int, last: int) -> list[HourCounts]:
        """Return the counts of the hours ``first`` to ``last``, in order; zeros where nothing is kept.

        Hours that began more than ``ACTIVITY_HOURS`` ago are forgotten.
        """
        rows = await self._scripts.run("log_activity", first, last)
        return [HourCounts(first + place, *row) for place, row in enumerate(rows)]

    async def counts(self) -> LogCounts:
        """Return the counts of all entries."""
        return LogCounts(*await self._scripts.run("log_counts"))

    async def queue(self) -> LogQueue:
        """Return what waits now."""
        entries, size, oldest = await self._scripts.run("log_queue")
        return LogQueue(entries, size, oldest / 1000)

    async def leave(self, writer: str) -> None:
        """Remove a writer that ends, unless it has unfinished batches: other writers claim those later."""
        await self._scripts.run("log_leave", writer)
