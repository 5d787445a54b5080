"""Verify one day of a log, entry by entry along its chains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from service.audit.key_chain import Chain
from service.features.audit_proof.checkpoints import Place
from service.features.audit_proof.commitments import Commitments, is_sealed
from service.features.audit_proof.rows import COLUMNS, opened
from service.features.audit_proof.store_chain import Head
from service.records.logs.inserts import Log

MOST_FAULTS: Final = 100
"""Maximum number of listed faults of one day; further faults are only counted."""


@dataclass(frozen=True, slots=True)
class ReportedHeads:
    """Heads that must exist: hashes of entries, by log, day, key and number."""

    hashes: dict[Place, dict[int, str]] = field(default_factory=dict)

    def days(self, log: Log) -> set[date]:
        return {day for of, day, _ in self.hashes if of == log}


@dataclass(slots=True)
class _End:
    """Progress along one chain."""

    number: int
    hash: bytes | None
    """None after a gap, because the hash before the next entry is unknown."""


class Walk:
    """Checks the entries of a day, in the order of their chains; collects ``faults``."""

    def __init__(
        self,
        log: Log,
        day: date,
        chains: Mapping[str, Chain],
        heads: Mapping[str, Head],
        reported: ReportedHeads,
    ) -> None:
        self.columns = COLUMNS[log]
        self.count = 0
        self.faults: list[str] = []
        self.fault_count = 0
        self._log, self._day = log, day
        self._chains = chains
        self._heads = heads
        self._reported = reported
        self._ends = {key: _End(0, chains[key].begin(log, day) if key in chains else None) for key in heads}

    def entry(self, row: Any) -> None:
        """Check the next entry: ``row`` is that of ``log_chain.entries``, with the values of ``columns``."""
        self.count += 1
        name, key, number, link, salts, erased, *values = row
        end = self._ends.get(key)
        if end is None or number is None or link is None:
            self._fault(f"entry {name} is not in the chain: it was inserted")
            return
        if number <= end.number:
            self._fault(f"entry {name} repeats number {number}: it was inserted or moved")
            return
        if number > end.number + 1:
            self._gone(end.number + 1, number - 1)
            end.hash = None
        chain = self._chains.get(key)
        if chain and end.hash and not self._fits((values, salts, erased), chain, end.hash, number, link):
            self._fault(f"entry {name}, number {number}, was changed or moved")
        self._compare(key, number, link)
        end.number, end.hash = number, link

    def end(self) -> None:
        """Compare the ends of the chains with their heads, and with the reported heads."""
        for key, head in self._heads.items():
            end = self._ends[key]
            if head.dropped:
                if end.number:
                    self._fault("it was dropped, but has entries again")
            elif head.number > end.number:
                self._gone(end.number + 1, head.number)
            elif head.number < end.number:
                self._fault(f"numbers {head.number + 1} to {end.number} were added after its head")
            elif head.hash != end.hash:
                self._fault("its head does not match its last entry")
        for (log, day, key), hashes in self._reported.hashes.items():
            if (log, day) == (self._log, self._day):
                self._compare_reported(key, max(hashes))

    def _fits(
        self,
        content: tuple[Sequence[Any], bytes | None, Any],
        chain: Chain,
        before: bytes,
        number: int,
        link: bytes,
    ) -> bool:
        values, salts, erased = content
        try:
            canonical, commitments = opened(self._log, values, salts, erased)
            fits = chain.link(before, number, canonical) == link
            return fits and (erased is None or self._is_sealed(values, erased, commitments, chain))
        except (ValueError, RecursionError, AttributeError, TypeError):  # unreadable, so changed
            return False

    def _is_sealed(self, values: Sequence[Any], erased: Any, commitments: Commitments, chain: Chain) -> bool:
        """Return true if an erasure was sealed with a key, or the chain of the entry has none."""
        chains = {key: each for key, each in self._chains.items() if key or not chain.key_id}
        row = dict(zip(self.columns, values, strict=True))
        return is_sealed(self._log, row, erased, commitments.marks, chains)

    def _compare_reported(self, key: str, number: int) -> None:
        head = self._heads.get(key)
        if head is None:
            self._fault(f"its head is missing, but {number} entries were reported earlier")
        elif head.number < number:
            self._fault(f"it ends with number {head.number}, but {number} entries were reported earlier")

    def _compare(self, key: str, number: int, link: bytes) -> None:
        reported = self._reported.hashes.get((self._log, self._day, key), {}).get(number)
        if reported is not None and reported != link.hex():
            self._fault(f"number {number} or one before it differs from the earlier report")

    def _fault(self, fault: str) -> None:
        self.fault_count += 1
        if self.fault_count <= MOST_FAULTS:
            self.faults.append(fault)

    def _gone(self, first: int, last: int) -> None:
        numbers = f"number {first} was" if first == last else f"numbers {first} to {last} were"
        self._fault(f"{numbers} removed")
