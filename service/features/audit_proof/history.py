"""Verify past rights against their seals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import structlog

from service.audit.key_chain import Chain
from service.features.audit_proof import store_history_facts as history_facts
from service.features.audit_proof.days import WITHIN
from service.features.audit_proof.history_seals import GENESIS, judge_seal, seal_hash
from service.features.audit_proof.store_history_facts import SOURCES, HistorySeal, Source
from service.features.audit_proof.walk import MOST_FAULTS
from service.kernel.clock import rfc3339
from service.records.database.transactions import Connection, Database

NO_KEY: Final = (
    "past rights: sealed without a key (oplog.chain_key): anyone with write access to the database can "
    "seal them again; only the newest seal in the session store would reveal it"
)

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class HistoryAudit:
    """Result of the audit: ``count`` seals, and the time that they cover, as text.

    ``faults`` lists the first faults, ``fault_count`` counts all; ``notes`` are findings that are no fault.
    """

    count: int
    until: str
    faults: tuple[str, ...]
    fault_count: int
    notes: tuple[str, ...]


async def audit_history(
    database: Database, chains: Sequence[Chain], anchored: Mapping[int, str], *, within: float = WITHIN
) -> HistoryAudit:
    """Compare all past facts with their seals.

    ``chains`` are those of the present key and then of former keys. ``anchored`` are hashes of seals in the
    session store, by number; ``within`` is the time limit in seconds. Raises Unavailable.
    """
    walk = _Walk(anchored)
    async with database.snapshot(within=within) as connection:
        async for seal in history_facts.seals(connection):
            walk.add(seal)
        walk.end(chains)
        if walk.sealed:
            for source in SOURCES:
                walk.faults += await _faults_of(connection, source, walk.sealed)
    if walk.faults:
        _log.error(
            "the past of rights is not as it was sealed", event_type="security", faults=walk.faults[:5]
        )
    until = rfc3339(walk.sealed[-1].until_time) if walk.sealed else ""
    faults = walk.faults
    return HistoryAudit(len(walk.sealed), until, tuple(faults[:MOST_FAULTS]), len(faults), tuple(walk.notes))


@dataclass(slots=True)
class _Walk:
    anchored: Mapping[int, str]
    sealed: list[HistorySeal] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, seal: HistorySeal) -> None:
        """Compare a seal with its predecessor."""
        before = self.sealed[-1] if self.sealed else None
        if seal.number != (before.number + 1 if before else 1):
            self.faults.append(f"past rights: seals before number {seal.number} were removed")
        elif seal.hash != seal_hash(before.hash if before else GENESIS, seal):
            self.faults.append(f"past rights: seal {seal.number} was changed")
        self.sealed.append(seal)

    def end(self, chains: Sequence[Chain]) -> None:
        """Verify the newest seal, which covers the others."""
        newest = self.sealed[-1] if self.sealed else None
        for number, hash_ in sorted(self.anchored.items()):
            if newest is None or number > newest.number:
                self.faults.append(
                    f"past rights: seal {number} was removed, but is known to the session store"
                )
            elif any(seal.number == number and seal.hash.hex() != hash_ for seal in self.sealed):
                self.faults.append(f"past rights: seal {number} differs from the seal in the session store")
        if newest is None:
            return
        judged = judge_seal(chains, newest, keyed=any(seal.is_keyed for seal in self.sealed))
        if judged == "unknown":
            self.faults.append(
                f"past rights: the newest seal, {newest.number}, uses a key that is not available"
            )
        elif judged == "forged":
            self.faults.append(f"past rights: the newest seal, {newest.number}, was not made with the key")
        elif not newest.is_keyed:
            self.notes.append(NO_KEY)


async def _faults_of(connection: Connection, source: Source, sealed: Sequence[HistorySeal]) -> list[str]:
    """Return the faults of the parts of a source that differ from their seals."""
    due = {
        (number, part): digest
        for number, seal in enumerate(sealed)
        for part, digest in seal.parts.get(source.name, {}).items()
    }
    faults, later = [], set[str]()
    limits = [seal.until_time for seal in sealed]
    async for stored in history_facts.digests(connection, source, limits):
        later.add(stored.part)
        if stored.before >= len(sealed):
            continue
        if due.pop((stored.before, stored.part), "") != stored.digest:
            faults.append(_fault(source, stored.part, sealed[stored.before], "changed after sealing"))
    if source.moves:  # a fact used again later is sealed with its later use
        due = {place: digest for place, digest in due.items() if place[1] not in later}
    if source.kept_days is not None:
        first = f"{limits[-1] - timedelta(days=source.kept_days):%Y-%m-%d}"
        due = {place: digest for place, digest in due.items() if digest.partition("@")[2] >= first}
    there = await _there(connection, [part for _, part in due] if source.owned else [])
    for number, part in due:
        if not source.owned or part in there:
            faults.append(_fault(source, part, sealed[number], "removed"))
    return faults


async def _there(connection: Connection, parts: Sequence[str]) -> set[str]:
    """Return the parts whose user still exists."""
    users = await history_facts.users_among(connection, [history_facts.owner_of(part) for part in parts])
    return {part for part in parts if history_facts.owner_of(part) in users}


def _fault(source: Source, part: str, seal: HistorySeal, what: str) -> str:
    of = f" of {source.noun} {part}" if part else ""
    return f"{source.name}{of}, before {rfc3339(seal.until_time)}: {what}"
