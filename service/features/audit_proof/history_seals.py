"""Seal past rights, so that changes of their rows by SQL are detected.

The seals of an installation are a chain. Each covers the hash of its predecessor, by the key of the log
chains. The session store has the number and the hash of the newest seal.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from service.audit.key_chain import Chain
from service.features.audit_proof import store_history_facts as history_facts
from service.features.audit_proof.store_history_facts import SOURCES, HistorySeal, Source
from service.kernel.operator_error import OperatorError
from service.keyspace.revision_key import RevisionCheckpoint
from service.records.database.transactions import Connection, Database
from service.settings import Oplog

_WITHIN: Final = 86_400.0  # maximum seconds to create a seal
_LEAST_OFTEN: Final = timedelta(hours=1)  # if there is nothing to seal
GENESIS: Final = hashlib.sha256(b"portcullis: history").digest()
"""Takes the place of the predecessor's hash in the first seal."""


class HistoryForgedError(OperatorError):
    """Stored past rights differ from their seals."""


def chains_of(settings: Oplog) -> list[Chain]:
    """Return the chain of the present key, or one without a key, and that of the former key."""
    return [Chain(settings.chain_key), *map(Chain, filter(None, [settings.chain_previous_key]))]


def anchor_name(restore_epoch: str) -> str:
    """Return the name by which the session store has the newest seal of a restore epoch."""
    return f"{restore_epoch}:history"


async def seal_history(
    database: Database, chains: Sequence[Chain], anchored: Mapping[int, str] = MappingProxyType({})
) -> RevisionCheckpoint | None:
    """Seal the facts since the last seal, by all of ``chains``; return number and hash of the newest seal.

    The present key comes first. Returns None without sealing if the newest seal is by another key alone,
    which another node has. Raises HistoryForgedError if the newest seal was changed, or a seal is missing
    that the session store has ``anchored``. Raises Unavailable.
    """
    async with database.transaction(within=_WITHIN) as connection:
        newest, *before = [*await history_facts.newest(connection, 2), None]
        until = await history_facts.horizon(connection)
        since = newest.until_time if newest else None
        good = await history_facts.hashes(connection, anchored) == anchored
        if newest is not None:
            judged = judge_seal(chains, newest, keyed=await history_facts.any_keyed(connection))
            good &= newest.hash == seal_hash(before[0].hash if before[0] else GENESIS, newest)
            good &= judged != "forged"
        if not good:
            raise HistoryForgedError(
                "The seals of past rights were changed: run 'portcullis audit verify' for details. "
                "Sealing stops until this is corrected (docs/reference/log-verification.md)"
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


def judge_seal(
    chains: Sequence[Chain], seal: HistorySeal, *, keyed: bool
) -> Literal["good", "forged", "unknown"]:
    """Judge a seal by its keys; with ``keyed``, another seal has a key, so none may lack one."""
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
    hash_ = seal_hash(before.hash if before else GENESIS, unsealed)
    return replace(unsealed, hash=hash_, seals={chain.key_id: _sealed(chain, hash_) for chain in chains})


def seal_hash(before: bytes, seal: HistorySeal) -> bytes:
    """Return the hash of ``seal``, which covers that of the seal ``before``."""
    until = seal.until_time.astimezone(UTC).isoformat(timespec="microseconds")
    facts = msgspec.json.encode([seal.number, until, seal.parts], order="sorted")
    return hashlib.sha256(before + facts).digest()


def _sealed(chain: Chain, hash_: bytes) -> str:
    return chain.seal(f"history {hash_.hex()}").hex()


def _checkpoint(seal: HistorySeal) -> RevisionCheckpoint:
    return RevisionCheckpoint(seal.number, seal.hash.hex())
