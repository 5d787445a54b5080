"""Verify every log entry of every day against its chain."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, NamedTuple

from service.audit.key_chain import Chain
from service.features.audit_proof import store_chain as log_chain
from service.features.audit_proof.appending import sealed
from service.features.audit_proof.checkpoints import AnchoredCheckpoint, Place
from service.features.audit_proof.lineage import Lineage, lineage_of
from service.features.audit_proof.store_chain import Head
from service.features.audit_proof.walk import ReportedHeads, Walk
from service.kernel.cooperative_yield import CooperativeYield
from service.records.database.transactions import Database
from service.records.installation import restore_epochs
from service.records.logs.inserts import TABLES, Log
from service.records.logs.readable import OUTERMOST

WITHIN: Final = 86_400.0
"""Maximum seconds to read one day of a log."""
_HANDOVER: Final = timedelta(days=2)  # while a key is replaced, some nodes still write with the former one


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a log: the number of entries, and their faults.

    ``fault_count`` counts all faults; ``faults`` lists the first ones. ``keyless`` marks a day that anyone
    could have written: its chain was created without a key, although a key is set now.
    """

    log: Log
    day: date
    entries: int
    faults: Sequence[str]
    fault_count: int
    dropped: bool = False
    keyless: bool = False


class _SealFault(NamedTuple):
    """A fault of a head's seal; ``is_unknown``: the seal can be of a key that was not given."""

    text: str
    is_unknown: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """Information from heads about a log, before its entries are read.

    ``days`` are all days of the log, in order: days with a head or an entry, and days named by later or kept
    heads. ``present`` are the days that have or should have entries. ``suspects`` have a fault before their
    entries are read. ``left_out`` have a chain or a seal of a key that was not given, which is no fault.
    ``missing`` has the faults of days that are gone, or that no log can have.
    """

    log: Log
    days: Sequence[date]
    present: Collection[date]
    suspects: Collection[date]
    left_out: Collection[date]
    missing: Mapping[date, Sequence[str]]
    reported: ReportedHeads
    first_keyed: date
    unknown_until: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Compares the logs with their chains.

    ``keys`` are the present key and then former keys. ``checkpoints`` are heads that were kept elsewhere.
    ``days`` omits days before ``begin`` and after ``end``. With ``lenient``, these are no faults:

    - seals of a key that was not given, if they are older than the given keys
    - chains without a key from the days in which the first key came into use
    """

    database: Database
    keys: Sequence[Chain]
    checkpoints: Sequence[AnchoredCheckpoint] = ()
    begin: date = date.min
    end: date = date.max
    lenient: bool = False

    async def survey(self) -> tuple[Lineage, list[Outline]]:
        """Return the restores of the database, and the outline of each log; raises Unavailable."""
        async with self.database.snapshot(within=WITHIN) as connection:
            begun = await restore_epochs.every(connection)
            heads = {log: await log_chain.heads(connection, log) for log in TABLES}
            entered = {log: await log_chain.days_with_entries(connection, log) for log in TABLES}
        until = self._unknown_until([head for of_log in heads.values() for head in of_log])
        # Without any key a seal proves nothing, but each restore creates a seal.
        keyed = any(chain.key_id for chain in self.keys)
        lineage = lineage_of(begun, self.keys, self.checkpoints, until if keyed else date.min)
        reported = lineage.reported
        return lineage, [self._outline(log, heads[log], entered[log], reported, until) for log in TABLES]

    async def days(self, outlines: Sequence[Outline] | None = None) -> AsyncIterator[Day]:
        """Yield each day of each log after reading it, by the outlines of a survey; raises Unavailable."""
        if outlines is None:
            _, outlines = await self.survey()
        for outline in outlines:
            for day in outline.days:
                if self.begin <= day <= self.end:
                    yield await self.day(outline, day)

    async def day(self, outline: Outline, day: date) -> Day:
        """Return one day of a log after reading it, in one snapshot, with few entries in memory.

        An unreadable day is faulty. Raises Unavailable.
        """
        try:
            return await self._day(outline, day)
        except (ArithmeticError, ValueError) as error:
            fault = f"it can't be read: {type(error).__name__}"
            return Day(outline.log, day, 0, [fault], 1)

    async def _day(self, outline: Outline, day: date) -> Day:
        log, pauses = outline.log, CooperativeYield()
        async with self.database.snapshot(within=WITHIN) as connection:
            heads = {head.key_id: head for head in await log_chain.heads(connection, log, day)}
            walk = Walk(log, day, {chain.key_id: chain for chain in self.keys}, heads, outline.reported)
            async with aclosing(log_chain.entries(connection, log, day, walk.columns)) as rows:
                async for row in rows:
                    walk.entry(row)
                    await pauses.give_way()
        walk.end()
        of_heads = [
            *outline.missing.get(day, ()),
            *self._faults(heads.values(), outline.first_keyed, outline.unknown_until),
        ]
        keyless = "" in heads and self.keys[0].key_id != ""
        dropped = bool(heads) and all(head.dropped for head in heads.values())
        faults, count = [*of_heads, *walk.faults], len(of_heads) + walk.fault_count
        return Day(log, day, walk.count, faults, count, dropped=dropped, keyless=keyless)

    def _outline(
        self, log: Log, heads: Sequence[Head], entered: Sequence[date], reported: ReportedHeads, until: date
    ) -> Outline:
        missing = _missing_days(heads)
        for day in {*entered, *(head.day for head in heads)}.intersection(OUTERMOST):
            missing.setdefault(day, []).append("the day is not in the past: the entries were forged")
        first_keyed = min((head.day for head in heads if head.key_id), default=date.max)
        numbers: dict[Place, int] = {(log, head.day, head.key_id): head.number for head in heads}
        short = {
            place[1]
            for place, hashes in reported.hashes.items()
            if place[0] == log and numbers.get(place, 0) < max(hashes)
        }
        changed = {head.day for head in heads if self._faults([head], first_keyed, until)}
        return Outline(
            log,
            days=sorted({*(head.day for head in heads), *entered, *missing, *reported.days(log)}),
            present={*entered, *(head.day for head in heads if not head.dropped)},
            suspects={*missing, *short, *changed},
            left_out={head.day for head in heads if head.day <= until and self._fault(head) is not None},
            missing=missing,
            reported=reported,
            first_keyed=first_keyed,
            unknown_until=until,
        )

    def _unknown_until(self, heads: Iterable[Head]) -> date:
        """Return the last day on which seals of unknown keys are no fault.

        With ``lenient``, this is shortly after the given keys came into use.
        """
        if not self.lenient:
            return date.min
        given = {chain.key_id for chain in self.keys} - {""}
        first = min((head.day for head in heads if head.key_id in given), default=None)
        return date.max if first is None else _after_handover(first)

    def _faults(self, heads: Iterable[Head], first_keyed: date, until: date) -> list[str]:
        """Return the faults of the heads of one day, without the entries."""
        faults = []
        keyless_until = _after_handover(first_keyed) if self.lenient else first_keyed
        for head in heads:
            fault = self._fault(head)
            if fault is not None and not (fault.is_unknown and head.day <= until):
                faults.append(fault.text)
            if head.key_id == "" and head.day > keyless_until:
                faults.append(f"its chain has no key, although keys were used from {first_keyed}")
        return faults

    def _fault(self, head: Head) -> _SealFault | None:
        """Return the fault of a head's seal, or None.

        A dropped head was sealed again with the key of the day of the drop. If a key is set now, a seal
        without a key is valid only for a chain without a key: anyone could have created it.
        """
        own = [chain for chain in self.keys if chain.key_id == head.key_id]
        keyless = self.keys[0].key_id == ""
        later = [chain for chain in self.keys if chain.key_id or keyless] if head.dropped else []
        if any(sealed(chain, head).seal == head.seal for chain in (*own, *later)):
            return None
        if not own:
            return _SealFault(f"its chain uses the key {head.key_id}, which is not available", True)
        return _SealFault("its head was changed", head.dropped)


def _after_handover(first: date) -> date:
    return min(first, date.max - _HANDOVER) + _HANDOVER


def _missing_days(heads: Sequence[Head]) -> dict[date, list[str]]:
    """Return the faults of days that later heads refer to and that have no head."""
    known = {head.day for head in heads}
    return {
        head.prior_day: [f"it was removed with its head; {head.day} follows it"]
        for head in heads
        if head.prior_day is not None and head.prior_day not in known
    }
