"""Seals over what the past of rights says, so that rows of it that are changed by SQL are found.

The seals of an installation are a chain, each over the hash of the one before, by the key of the log chains.
The session store has the number and the hash of the newest one.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal

import msgspec
import structlog

from service.audit.chain.form import Chain
from service.audit.chain.verify import WITHIN
from service.audit.chain.walk import MOST_FAULTS
from service.kernel.clock import rfc3339
from service.kernel.operator_error import OperatorError
from service.keyspace.revision_key import RevisionCheckpoint
from service.records import history_facts
from service.records.database.transactions import Connection, Database
from service.records.history_facts import SOURCES, HistorySeal, Source
from service.settings import Oplog

_LEAST_OFTEN: Final = timedelta(hours=1)  # where there is nothing to seal
_GENESIS: Final = hashlib.sha256(b"portcullis: history").digest()

NO_KEY: Final = (
    "past of rights: sealed without a key (oplog.chain_key): whoever writes to the database can seal it "
    "anew, and only the session store, which has the newest seal, would contradict"
)

_log = structlog.get_logger()


class HistoryForgedError(OperatorError):
    """What is stored of the past of rights is not as it was sealed."""


@dataclass(frozen=True, slots=True)
class HistoryAudit:
    """What was found: ``count`` seals, and up to when they reach, as text.

    ``faults`` lists the first faults, ``fault_count`` counts all; ``notes`` tell what is no fault.
    """

    count: int
    until: str
    faults: tuple[str, ...]
    fault_count: int
    notes: tuple[str, ...]


def chains_of(settings: Oplog) -> list[Chain]:
    """Return the chain of the present key, or the one without a key, and that of the key before."""
    return [Chain(settings.chain_key), *map(Chain, filter(None, [settings.chain_previous_key]))]


def anchor_name(restore_epoch: str) -> str:
    """Return the name by which the session store has the newest seal of a restore epoch."""
    return f"{restore_epoch}:history"


async def seal_history(
    database: Database, chains: Sequence[Chain], anchored: Mapping[int, str] = MappingProxyType({})
) -> RevisionCheckpoint | None:
    """Seal the facts since the last seal, by all of ``chains``; return number and hash of the newest seal.

    The present key comes first. None, and nothing is sealed, behind a seal by another key alone: another node
    has it. HistoryForgedError behind one that is not as it was made, and where a seal is missing that the
    session store has ``anchored``. Raises Unavailable.
    """
    async with database.transaction(within=WITHIN) as connection:
        newest, *before = [*await history_facts.newest(connection, 2), None]
        until = await history_facts.horizon(connection)
        since = newest.until_time if newest else None
        good = await history_facts.hashes(connection, anchored) == anchored
        if newest is not None:
            judged = _judged(chains, newest, keyed=await history_facts.any_keyed(connection))
            good &= newest.hash == _hash(before[0].hash if before[0] else _GENESIS, newest)
            good &= judged != "forged"
        if not good:
            raise HistoryForgedError(
                "The seals of the past of rights are not as they were made: 'portcullis audit verify' says "
                "more. Nothing further is sealed until that is put right (docs/reference/logs.md)"
            )
        if newest is not None:
            if judged == "unknown":
                return None
            if until <= newest.until_time:
                return _checkpoint(newest)
        parts = {source.name: await _parts(connection, source, since, until) for source in SOURCES}
        parts = {name: digests for name, digests in parts.items() if digests}
        if newest is not None and not parts and until < newest.until_time + _LEAST_OFTEN:
            return _checkpoint(newest)
        made = _made(chains, newest, until, parts)
        await history_facts.add(connection, made)
    return _checkpoint(made)


async def _parts(
    connection: Connection, source: Source, since: datetime | None, until: datetime
) -> dict[str, str]:
    digests = history_facts.digests(connection, source, [until], since=since, until=until)
    return {each.part: each.digest async for each in digests}


async def audit_history(
    database: Database, chains: Sequence[Chain], anchored: Mapping[int, str], *, within: float = WITHIN
) -> HistoryAudit:
    """Compare all facts that are over with their seals.

    ``chains`` are those of the present key and of former ones, the present one first. ``anchored`` are hashes
    of seals that the session store has, by number; ``within`` are the seconds that it may take. Raises
    Unavailable.
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
        """Compare a seal with the one before."""
        before = self.sealed[-1] if self.sealed else None
        if seal.number != (before.number + 1 if before else 1):
            self.faults.append(f"past of rights: seals before number {seal.number} were removed")
        elif seal.hash != _hash(before.hash if before else _GENESIS, seal):
            self.faults.append(f"past of rights: seal {seal.number} was changed")
        self.sealed.append(seal)

    def end(self, chains: Sequence[Chain]) -> None:
        """Judge the newest seal, which covers the others."""
        newest = self.sealed[-1] if self.sealed else None
        for number, hash_ in sorted(self.anchored.items()):
            if newest is None or number > newest.number:
                self.faults.append(
                    f"past of rights: seal {number}, which the session store has seen, was removed"
                )
            elif any(seal.number == number and seal.hash.hex() != hash_ for seal in self.sealed):
                self.faults.append(
                    f"past of rights: seal {number} is another one than the session store has seen"
                )
        if newest is None:
            return
        judged = _judged(chains, newest, keyed=any(seal.is_keyed for seal in self.sealed))
        if judged == "unknown":
            self.faults.append(
                f"past of rights: the newest seal, {newest.number}, is by a key that is not given"
            )
        elif judged == "forged":
            self.faults.append(f"past of rights: the newest seal, {newest.number}, is not one by the key")
        elif not newest.is_keyed:
            self.notes.append(NO_KEY)


def _judged(
    chains: Sequence[Chain], seal: HistorySeal, *, keyed: bool
) -> Literal["good", "forged", "unknown"]:
    """Judge a seal by its keys; ``keyed``: one was made with a key, so that none without one may follow."""
    if not seal.is_keyed and chains[0].key_id:
        if keyed:
            return "forged"
        chains = [Chain()]
    known = [chain for chain in chains if chain.key_id in seal.seals]
    if not known:
        return "unknown"
    right = all(_sealed(chain, seal.hash) == seal.seals[chain.key_id] for chain in known)
    return "good" if right else "forged"


def _made(
    chains: Sequence[Chain],
    before: HistorySeal | None,
    until: datetime,
    parts: Mapping[str, Mapping[str, str]],
) -> HistorySeal:
    number = before.number + 1 if before else 1
    unsealed = HistorySeal(number=number, until_time=until, parts=parts, hash=b"", seals={})
    hash_ = _hash(before.hash if before else _GENESIS, unsealed)
    return replace(unsealed, hash=hash_, seals={chain.key_id: _sealed(chain, hash_) for chain in chains})


def _hash(before: bytes, seal: HistorySeal) -> bytes:
    until = seal.until_time.astimezone(UTC).isoformat(timespec="microseconds")
    facts = msgspec.json.encode([seal.number, until, seal.parts], order="sorted")
    return hashlib.sha256(before + facts).digest()


def _sealed(chain: Chain, hash_: bytes) -> str:
    return chain.seal(f"history {hash_.hex()}").hex()


def _checkpoint(seal: HistorySeal) -> RevisionCheckpoint:
    return RevisionCheckpoint(seal.number, seal.hash.hex())


async def _faults_of(connection: Connection, source: Source, sealed: Sequence[HistorySeal]) -> list[str]:
    """Return which parts of a source are not as they were sealed."""
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
            faults.append(_fault(source, stored.part, sealed[stored.before], "not as they were sealed"))
    if source.moves:  # what was used again later is sealed, or will be, as of then
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
    """Return those of the parts whose user was not deleted."""
    users = await history_facts.users_among(connection, [history_facts.owner_of(part) for part in parts])
    return {part for part in parts if history_facts.owner_of(part) in users}


def _fault(source: Source, part: str, seal: HistorySeal, what: str) -> str:
    of = f" of {source.noun} {part}" if part else ""
    return f"{source.name}{of}, before {rfc3339(seal.until_time)}: {what}"
