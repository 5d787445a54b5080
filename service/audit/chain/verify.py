"""Verification of the logs: every entry of every day against its chain."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

from service.audit.chain.checkpoints import AnchoredCheckpoint, Lineage, lineage_of
from service.audit.chain.form import Chain
from service.audit.chain.walk import ReportedHeads, Walk
from service.kernel.cooperative_yield import CooperativeYield
from service.records import restore_epochs
from service.records.database.transactions import Connection, Database
from service.records.logs import chain as log_chain
from service.records.logs.chain import Head
from service.records.logs.inserts import TABLES, Log

WITHIN: Final = 86_400.0
"""Seconds that reading one day of a log may take."""


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a log: the number of its entries, and what is wrong with them.

    ``fault_count`` counts all faults; ``faults`` lists the first ones. ``keyless`` marks a day that anybody
    could have written, since its chain was made without a key although one is set now.
    """

    log: Log
    day: date
    entries: int
    faults: Sequence[str]
    fault_count: int
    dropped: bool = False
    keyless: bool = False


class _Whole(NamedTuple):
    """What is known of a log besides one of its days: reported heads, all heads, and faults of that day."""

    reported: ReportedHeads
    heads: Sequence[Head]
    faults: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Compares the logs with their chains.

    ``keys`` are the present and former keys, the present one first; ``told`` are heads that were kept
    elsewhere. Days before ``begin`` and after ``end`` are left out.
    """

    database: Database
    keys: Sequence[Chain]
    checkpoints: Sequence[AnchoredCheckpoint] = ()
    begin: date = date.min
    end: date = date.max

    async def lineage(self) -> Lineage:
        """Return the restores of the database, and what they account for of the heads that were told."""
        async with self.database.snapshot() as connection:
            begun = await restore_epochs.every(connection)
        return lineage_of(begun, self.keys, self.checkpoints)

    async def days(self) -> AsyncIterator[Day]:
        """Yield each day of each log after reading it; raises Unavailable.

        Each day is read in one snapshot, with a few entries in memory at a time.
        """
        reported = (await self.lineage()).reported
        for log in TABLES:
            async with self.database.snapshot(within=WITHIN) as connection:
                heads = await log_chain.heads(connection, log)
                present = await log_chain.days_with_entries(connection, log, self.begin, self.end)
            known = {head.day for head in heads}
            faults = _missing_days(heads)
            for day in sorted(known.union(present, faults, reported.days(log))):
                if self.begin <= day <= self.end:
                    async with self.database.snapshot(within=WITHIN) as connection:
                        whole = _Whole(reported, heads, faults.get(day, []))
                        yield await self._day(connection, log, day, whole)

    async def _day(self, connection: Connection, log: Log, day: date, whole: _Whole) -> Day:
        heads = {head.key_id: head for head in await log_chain.heads(connection, log, day)}
        walk = Walk(log, day, {chain.key_id: chain for chain in self.keys}, heads, whole.reported)
        pauses = CooperativeYield()
        async for row in log_chain.entries(connection, log, day, walk.columns):
            walk.entry(row)
            await pauses.give_way()
        walk.end()
        of_heads = [*whole.faults, *self._heads(day, heads, whole.heads)]
        keyless = "" in heads and self.keys[0].key_id != ""
        dropped = bool(heads) and all(head.dropped for head in heads.values())
        faults, count = [*of_heads, *walk.faults], len(of_heads) + walk.fault_count
        return Day(log, day, walk.count, faults, count, dropped=dropped, keyless=keyless)

    def _heads(self, day: date, heads: Mapping[str, Head], all_heads: Sequence[Head]) -> list[str]:
        chains = {chain.key_id: chain for chain in self.keys}
        faults = []
        for key_id, head in heads.items():
            if key_id not in chains:
                faults.append(f"its chain was made with the key {key_id}, which was not given")
            elif chains[key_id].sealed(head).seal != head.seal:
                faults.append("its head was changed")
        first_keyed = min((head.day for head in all_heads if head.key_id), default=date.max)
        if "" in heads and day > first_keyed:
            faults.append(f"its chain was made without a key, but keys were used from {first_keyed}")
        return faults


def _missing_days(heads: Sequence[Head]) -> dict[date, list[str]]:
    """Return the faults of days that later heads refer to, but that have no head any more."""
    known = {head.day for head in heads}
    return {
        head.prior_day: [f"it was removed with its head; {head.day} came after it"]
        for head in heads
        if head.prior_day is not None and head.prior_day not in known
    }
