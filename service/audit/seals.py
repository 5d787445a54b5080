"""Seals of policy revisions and restores: who writes to the database and lacks the key can't make one."""

import hashlib
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Final, Literal

from service.audit.key_chain import Chain
from service.errors import RevisionUntrusted
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.records.database.transactions import Connection
from service.records.installation.restore_epochs import RestoreEpoch
from service.records.published import policy_history, policy_revisions
from service.records.published.policy_revisions import PolicyRevision
from service.records.published.policy_workers import PolicyWorker
from service.settings import Oplog


def sealed(chain: Chain, restore_epoch: RestoreEpoch) -> RestoreEpoch:
    """Return ``restore_epoch`` with a seal over its other fields."""
    return replace(restore_epoch, seal=_seal(chain, restore_epoch))


def is_sealed(chains: Iterable[Chain], restore_epoch: RestoreEpoch) -> bool:
    """Return whether the record of a restore was made with one of the keys; the first epoch has none."""
    if restore_epoch.number == 1:
        return restore_epoch.backup_id is None and not restore_epoch.ended and not restore_epoch.heads
    return any(_seal(chain, restore_epoch) == restore_epoch.seal for chain in chains)


def _seal(chain: Chain, restore_epoch: RestoreEpoch) -> bytes:
    moments = [
        moment and moment.astimezone(UTC).isoformat()
        for moment in (restore_epoch.begin_time, restore_epoch.snapshot_time)
    ]
    heads = [(head.log, str(head.day), head.key_id, head.number) for head in restore_epoch.heads]
    facts = (
        restore_epoch.number,
        restore_epoch.name,
        restore_epoch.backup_id,
        restore_epoch.operator,
        restore_epoch.ended,
    )
    return chain.seal(f"timeline {(*facts, *moments, heads)}")


Authenticity = Literal["sealed", "unsealed", "forged", "unknown_key"]
"""Result of checking a seal; ``unsealed`` is a revision from before seals were required."""

RESTORED: Final = "restored from the backup"
"""The beginning of the cause of a revision that a restore has published; the id of the backup follows."""
REVISION_EVENT: Final = "head of the policy"
"""The event of a line on standard output with the revision in force and its hash."""

_FACTS: Final = (
    "revision",
    "digest",
    "lines_digest",
    "line_count",
    "cause",
    "user_name",
    "request_id",
    "added",
    "removed",
    "tampered",
    "prior_revision",
    "prior_hash",
    "sealed_from",
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Authenticity of a revision, and the reason against it."""

    authenticity: Authenticity
    reason: Sentence | None = None

    @property
    def is_trusted(self) -> bool:
        """True if nothing speaks against it."""
        return self.authenticity in ("sealed", "unsealed")


SEALED: Final = Judgement("sealed")
UNSEALED: Final = Judgement("unsealed")


def _facts_of(revision: PolicyRevision) -> str:
    # A column that a later version adds needs a seal of its own: two versions must agree on this text.
    moment = revision.create_time.astimezone(UTC).isoformat(timespec="microseconds")
    return json.dumps([moment, *(getattr(revision, name) for name in _FACTS)])


def hash_of(revision: PolicyRevision) -> str:
    """Return the SHA-256, in hexadecimal, of all that a seal covers; it needs no key."""
    return hashlib.sha256(_facts_of(revision).encode()).hexdigest()


class RevisionSeals:
    """Makes and checks the seals of one installation: HMAC-SHA-256 by the key of the log chains.

    ``keys`` are the present key and the previous keys still accepted. A revision gets a seal by each key, so
    nodes with a key in common trust one another. Without a key no seal is made or required, unless the newest
    revision requires one.

    Each process has one instance, which remembers the first revision that requires a seal. Seals are required
    once all workers can make them. Until then nodes without a key, or of a version without seals, can
    publish.
    """

    def __init__(self, *keys: str) -> None:
        self._chains: Final = tuple(map(Chain, filter(None, keys)))
        self.key_ids: Final = tuple(chain.key_id for chain in self._chains)
        """The ids of the keys, the present one first; empty without a key."""
        self._noted = 0
        self._learned = False
        self.sealed_from: int | None = None
        """The first revision of those that must have a seal, by the newest one that has; None: none must."""

    def made_for(self, revision: PolicyRevision) -> dict[str, str]:
        """Return the seals of ``revision``, in hexadecimal, by the ids of their keys."""
        facts = f"revision {_facts_of(revision)}"
        return {chain.key_id: chain.seal(facts).hex() for chain in self._chains}

    def judge(self, revision: PolicyRevision) -> Judgement:
        """Judge ``revision`` by its seal; ``learn`` first."""
        stored = revision.seals if isinstance(revision.seals, Mapping) else {}
        if known := [key for key in self.key_ids if key in stored]:
            right = self.made_for(revision)
            if any(stored[key] != right[key] for key in known):
                return Judgement("forged", sentence("seal_differs"))
            self._note(revision)
            return SEALED
        since = revision.sealed_from if self.sealed_from is None else self.sealed_from
        if since is None or revision.revision < since:
            return UNSEALED
        if stored or not self.key_ids:
            return Judgement("unknown_key", sentence("seal_key_not_set"))
        return Judgement("forged", sentence("seal_missing", since=since))

    async def judged(self, connection: Connection, revision: PolicyRevision) -> Judgement:
        """Learn, and judge."""
        await self.learn(connection)
        return self.judge(revision)

    async def judged_with_lines(self, connection: Connection, revision: PolicyRevision) -> Judgement:
        """Judge ``revision`` and the lines that history keeps of it; it reads all of them.

        Lines of a revision from before their digest was recorded are not judged.
        """
        judgement = await self.judged(connection, revision)
        if not judgement.is_trusted or revision.lines_digest is None:
            return judgement
        if await policy_history.lines_digest(connection, revision.revision) != revision.lines_digest:
            return Judgement("forged", sentence("kept_lines_differ"))
        return judgement

    async def require(self, connection: Connection, *numbers: int) -> None:
        """Check that these revisions, and their kept lines, are as they were published.

        Raises RevisionUntrusted. Numbers without a revision are left to the caller.
        """
        for number in numbers:
            revision = await policy_revisions.read(connection, number)
            if revision is not None:
                judgement = await self.judged_with_lines(connection, revision)
                if not judgement.is_trusted:
                    raise RevisionUntrusted(
                        sentence("revision_differs", revision=number, reason=judgement.reason or "")
                    )

    async def learn(self, connection: Connection) -> None:
        """Read from which revision on each must have a seal; it costs one statement for a process."""
        if self._learned or not self.key_ids:
            return
        async for revision in self._with_seals(connection):
            if self.judge(revision) is SEALED:
                break
        self._learned = True

    def can_all_seal(self, workers: Iterable[PolicyWorker]) -> bool:
        """Return whether this process has a key, and each of ``workers`` has one of its keys."""
        mine = set(self.key_ids)
        return bool(mine) and all(not mine.isdisjoint(worker.seal_keys) for worker in workers)

    async def renew(self, connection: Connection) -> int:
        """Seal by all keys the revisions that are rightly sealed by some; return how many there were.

        So a former key need not be kept once every node has the present one.
        """
        made = {}
        if len(self.key_ids) > 1:
            async for revision in self._with_seals(connection):
                if self.judge(revision) is SEALED and not revision.seals.keys() >= set(self.key_ids):
                    made[revision.revision] = revision.seals | self.made_for(revision)
            await policy_revisions.seal(connection, made)
        return len(made)

    def _with_seals(self, connection: Connection) -> AsyncIterator[PolicyRevision]:
        return policy_revisions.older(connection, sealed_by=self.key_ids)

    def _note(self, revision: PolicyRevision) -> None:
        if revision.revision > self._noted:
            self._noted, self.sealed_from = revision.revision, revision.sealed_from


def seals_of(settings: Oplog) -> RevisionSeals:
    """Return the seals of an installation."""
    return RevisionSeals(settings.chain_key, settings.chain_previous_key)
