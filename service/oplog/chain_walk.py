"""One day of a log, entry by entry along its chain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from service.oplog.chain import Chain
from service.oplog.rows import COLUMNS, vouch
from service.records.logs.chain import Head
from service.records.logs.inserts import Log

TOLD: Final = "head of a log"
"""The event of a line of the log on standard output that tells a head."""

MOST_TOLD: Final = 100
"""Faults of one day that are told one by one; the others are counted."""

_Place = tuple[str, date, str]


@dataclass(frozen=True, slots=True)
class ReportedHeads:
    """Heads as they were told once: what the hash of an entry was, by log, day, key and number."""

    hashes: dict[_Place, dict[int, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, lines: Iterable[str]) -> ReportedHeads:
        """Read lines of the log on standard output, as JSON; other lines are passed over."""
        told = cls()
        for line in lines:
            if TOLD not in line:
                continue
            try:
                head = json.loads(line)
                if head["event"] == TOLD:
                    place = (head["log"], date.fromisoformat(head["day"]), head["key_id"])
                    told.hashes.setdefault(place, {})[int(head["number"])] = head["hash"]
            except (ValueError, KeyError, TypeError):
                continue
        return told

    def days(self, log: Log) -> set[date]:
        """Return the days of ``log`` of which a head was told."""
        return {day for of, day, _ in self.hashes if of == log}


@dataclass(slots=True)
class _End:
    """How far one chain has been followed."""

    number: int
    hash: bytes | None
    """None after a gap: what was before the next entry is not known."""


class Walk:
    """Takes the entries of a day in the order of their chains; ``faults`` has what is wrong with them."""

    def __init__(
        self, log: Log, day: date, chains: Mapping[str, Chain], heads: Mapping[str, Head], told: ReportedHeads
    ) -> None:
        self.columns = COLUMNS[log]
        self.count = 0
        self.faults: list[str] = []
        self.fault_count = 0
        self._log, self._day = log, day
        self._chains, self._heads, self._told = chains, heads, told
        self._ends = {key: _End(0, chains[key].begin(log, day) if key in chains else None) for key in heads}

    def entry(self, row: Any) -> None:
        """Follow the chain to the next entry: its id, its place in the chain, and its ``columns``."""
        self.count += 1
        name, key, number, link, *values = row
        end = self._ends.get(key)
        if end is None or number is None or link is None:
            self._fault(f"entry {name} is in no chain: it was inserted")
            return
        if number <= end.number:
            self._fault(f"entry {name} is a second number {number}: it was inserted or moved")
            return
        if number > end.number + 1:
            self._gone(end.number + 1, number - 1)
            end.hash = None
        chain = self._chains.get(key)
        if chain and end.hash and not self._fits(values, chain, end.hash, number, link):
            self._fault(f"entry {name}, number {number}, was changed or moved")
        self._compare(key, number, link)
        end.number, end.hash = number, link

    def end(self) -> None:
        """Compare where the chains end with their heads, and with those that were told."""
        for key, head in self._heads.items():
            end = self._ends[key]
            if head.dropped:
                if end.number:
                    self._fault("it was dropped, and has entries again")
            elif head.number > end.number:
                self._gone(end.number + 1, head.number)
            elif head.number < end.number:
                self._fault(f"numbers {head.number + 1} to {end.number} were added behind its head")
            elif head.hash != end.hash:
                self._fault("its head does not fit its last entry")
        for (log, day, key), hashes in self._told.hashes.items():
            if (log, day) == (self._log, self._day):
                self._compare_told(key, max(hashes))

    def _fits(self, values: Sequence[Any], chain: Chain, before: bytes, number: int, link: bytes) -> bool:
        try:
            return chain.link(before, number, vouch(self._log, values)) == link
        except (ValueError, RecursionError):  # no value that was written is such that it can't be read
            return False

    def _compare_told(self, key: str, number: int) -> None:
        head = self._heads.get(key)
        if head is None:
            self._fault(f"its head is gone; {number} entries were told of once")
        elif head.number < number:
            self._fault(f"it ends with number {head.number}; {number} entries were told of once")

    def _compare(self, key: str, number: int, link: bytes) -> None:
        told = self._told.hashes.get((self._log, self._day, key), {}).get(number)
        if told is not None and told != link.hex():
            self._fault(f"number {number} or one before it is not what was told of once")

    def _fault(self, fault: str) -> None:
        self.fault_count += 1
        if self.fault_count <= MOST_TOLD:
            self.faults.append(fault)

    def _gone(self, first: int, last: int) -> None:
        numbers = f"number {first} was" if first == last else f"numbers {first} to {last} were"
        self._fault(f"{numbers} removed")
