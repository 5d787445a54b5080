"""The stream in which batches of log entries wait for the database."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import astuple, dataclass
from typing import Any, Final

from service.errors import Unavailable
from service.keyspace import keys
from service.keyspace.scripts import OfLogs, Scripts

ACTIVITY_HOURS: Final = 2160
"""Hours of which counts are kept: 90 days; ``scripts/log_common.lua`` has the same number."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries that were added together; ``id`` is the stream's, ``content`` the sender's bytes."""

    id: str
    content: bytes


@dataclass(slots=True)
class HourCounts:
    """Counts for an ``hour``, in hours since the epoch (UTC), from the entries of the logs.

    ``allowed`` counts logged operations that the policy let pass, ``refused`` all requests it refused.
    """

    hour: int = 0
    logins: int = 0
    login_failures: int = 0
    allowed: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """A finished batch, the numbers of its written and set aside entries, and their counts by hour."""

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
    """Entries in the stream, waiting for the database; ``oldest`` is the age of the oldest batch in s."""

    entries: int
    size: int
    oldest: float


class LogStream:
    """A stream for all workers, read by a consumer group: each batch has one writer at a time.

    It is never trimmed: a batch stays until a writer reports it as done. On a cluster several parts have one,
    and the id of a batch begins with the tag of its part. Every method raises ``Unavailable``.
    """

    def __init__(self, scripts: Scripts, is_up: Callable[[str], bool]) -> None:
        """``is_up`` returns True if the server of a key answered the last command."""
        self._scripts = scripts
        self._tags = scripts.names.queues
        self._is_up = is_up

    def _keys(self, tag: str, *more: str) -> list[str]:
        names = (keys.LOG_STREAM, keys.LOG_COUNTS, *more)
        return [self._scripts.names.of(name, tag) for name in names]

    async def _all(self, name: OfLogs, *arguments: str | int) -> list[Any]:
        """Run a script on all parts; return the answers."""
        return await asyncio.gather(
            *(self._scripts.run(name, self._keys(tag), *arguments) for tag in self._tags)
        )

    async def add(
        self, sender: str, number: int, content: bytes, *, count: int, dropped: int, most_bytes: int
    ) -> bool:
        """Add a batch of ``count`` entries; returns False if the stream would exceed ``most_bytes``.

        ``number`` rises with each batch of a ``sender``: a batch that is sent again because the reply was
        lost is not added twice, unless its server does not answer any more: then it is added to another part,
        and the database takes its entries once. ``dropped`` counts the entries that the sender dropped since
        its previous batch.
        """
        place = number % len(self._tags)
        tags = [*self._tags[place:], *self._tags[:place]]
        words = (number, content, count, dropped, most_bytes // len(tags))
        for attempt in range(2):
            tag = next((tag for tag in tags if self._is_up(self._keys(tag)[0])), tags[0])
            try:
                return bool(
                    await self._scripts.run("log_add", self._keys(tag, keys.log_sent(sender)), *words)
                )
            except Unavailable:
                if attempt or len(tags) == 1:
                    raise
        return False

    async def take(self, writer: str, *, most: int, again: bool = False, idle: float = 0) -> list[Batch]:
        """Return up to ``most`` new batches, or with ``again`` those that ``writer`` took before.

        With ``idle`` (seconds) also up to ``most`` that other writers took longer ago and did not finish. New
        ones come from all servers that answer.
        """
        share = max(1, most // len(self._tags))
        words = (writer, "0" if again else ">", share, round(1000 * idle))

        async def of_part(tag: str) -> list[Batch]:
            reply = await self._scripts.run("log_take", self._keys(tag), *words)
            pairs = zip(reply[::2], reply[1::2], strict=True)
            return [Batch(f"{tag}/{name.decode()}" if tag else name.decode(), text) for name, text in pairs]

        parts = await asyncio.gather(*map(of_part, self._tags), return_exceptions=True)
        failures = [part for part in parts if isinstance(part, BaseException)]
        if failures and (again or len(failures) == len(parts)):
            raise failures[0]
        return [batch for part in parts if not isinstance(part, BaseException) for batch in part]

    async def done(self, batches: Iterable[Done], heads: Collection[KeptHead] = ()) -> int:
        """Remove batches and count their entries; a batch that was already removed is not counted again.

        ``heads`` are those of the chains that the entries were added to. Return the number of these chains
        that do not continue from the kept head: written entries have been lost. Each loss is reported once.
        """
        by_tag: dict[str, list[Done]] = {}
        for finished in batches:
            by_tag.setdefault(finished.batch.id.rpartition("/")[0], []).append(finished)
        lost = 0
        for tag, of_part in by_tag.items() or ((self._tags[0], []),):
            lost += await self._done(tag, of_part, heads)
            heads = ()
        return lost

    async def _done(self, tag: str, batches: Iterable[Done], heads: Collection[KeptHead]) -> int:
        words: list[str | int] = [len(heads)]
        hours: list[str] = []
        for head in heads:
            words += [head.place, head.before, head.before_hash, head.number, head.hash]
        for finished in batches:
            place, size = finished.batch.id.rpartition("/")[2], len(finished.batch.content)
            words += [place, size, finished.written, finished.set_aside, len(finished.activity)]
            for hour in finished.activity:
                words += astuple(hour)
                hours.append(keys.log_activity(hour.hour))
        names = self._keys(tag, keys.LOG_HEADS, *hours)
        return int(await self._scripts.run("log_done", names, *words))

    async def heads(self) -> dict[str, str]:
        """Return number and hash of each kept head, by place; `` lost`` ends the place of a broken chain."""
        kept: dict[str, str] = {}
        for tag in self._tags:
            name = self._scripts.names.of(keys.LOG_HEADS, tag)
            texts = [text.decode() for text in await self._scripts.run("log_heads", [name])]
            for place, text in zip(texts[::2], texts[1::2], strict=True):
                kept[place] = max(kept.get(place, text), text, key=_number_in)
        return kept

    async def activity(self, first: int, last: int) -> list[HourCounts]:
        """Return the counts of the hours ``first`` to ``last``, in order; zeros where nothing is kept.

        Hours that began more than ``ACTIVITY_HOURS`` ago are forgotten.
        """
        hours = range(first, last + 1)
        of_parts = [
            await self._scripts.run(
                "log_activity", [self._scripts.names.of(keys.log_activity(hour), tag) for hour in hours]
            )
            for tag in self._tags
        ]
        rows = (map(sum, zip(*of_hour, strict=True)) for of_hour in zip(*of_parts, strict=True))
        return [HourCounts(hour, *row) for hour, row in zip(hours, rows, strict=True)]

    async def counts(self) -> LogCounts:
        return LogCounts(*map(sum, zip(*await self._all("log_counts"), strict=True)))

    async def queue(self) -> LogQueue:
        entries, sizes, ages = zip(*await self._all("log_queue"), strict=True)
        return LogQueue(sum(entries), sum(sizes), max(ages) / 1000)

    async def leave(self, writer: str) -> None:
        """Remove a writer that ends, unless it has unfinished batches: other writers claim those later."""
        await self._all("log_leave", writer)


def _number_in(head: str) -> int:
    return int(head.partition(" ")[0])
