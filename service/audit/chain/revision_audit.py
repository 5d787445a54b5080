"""Verification of policy revisions: their seals, their chain, and the lines that history keeps of them."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from service.audit.chain.seals import RESTORED, REVISION_EVENT, Judgement, RevisionSeals, hash_of
from service.audit.chain.verify import WITHIN
from service.audit.chain.walk import MOST_FAULTS
from service.records import policy_history, policy_revisions
from service.records.database.transactions import Connection, Database
from service.records.policy_revisions import PolicyRevision


def anchored_revisions(lines: Iterable[str]) -> dict[int, str]:
    """Read JSON lines of the log on standard output that tell revisions: the hash of each, by number."""
    hashes: dict[int, str] = {}
    for line in lines:
        if REVISION_EVENT not in line:
            continue
        try:
            entry = json.loads(line)
            if entry["event"] == REVISION_EVENT:
                hashes[int(entry["revision"])] = str(entry["hash"])
        except (ValueError, KeyError, TypeError):
            continue
    return hashes


@dataclass(frozen=True, slots=True)
class RevisionAudit:
    """What was found: ``count`` revisions, of which ``unsealed`` have no seal though there is a key.

    ``faults`` lists the first faults, ``fault_count`` counts all; ``notes`` tell what is no fault.
    """

    count: int
    unsealed: int
    faults: tuple[str, ...]
    fault_count: int
    notes: tuple[str, ...]


class _Known(NamedTuple):
    """What the chain needs to know of a revision."""

    hash: str
    prior: int | None
    prior_hash: str | None
    cause: str
    lines_digest: str | None
    time: datetime
    judgement: Judgement


@dataclass(slots=True)
class _Walk:
    known: dict[int, _Known] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, revision: PolicyRevision, judgement: Judgement) -> None:
        """Take note of the next older revision."""
        self.known[revision.revision] = _Known(
            hash_of(revision),
            revision.prior_revision,
            revision.prior_hash,
            revision.cause,
            revision.lines_digest,
            revision.create_time,
            judgement,
        )
        if not judgement.is_trusted:
            self.faults.append(f"revision {revision.revision}: {judgement.reason}")

    def chain(self) -> list[int]:
        """Return the revisions of the chain, the newest first; compares each with the one before it."""
        trusted = [number for number, revision in self.known.items() if revision.judgement.is_trusted]
        chain: list[int] = []
        at = trusted[0] if trusted else None
        while at is not None:
            chain.append(at)
            revision = self.known[at]
            if revision.prior is None:
                # Of a version that kept none, or the first one.
                at = max((number for number in trusted if number < at), default=None)
                continue
            before = self.known.get(revision.prior)
            if before is None:
                self.faults.append(f"revision {revision.prior} was removed; {at} was made from it")
            elif before.hash != revision.prior_hash and before.judgement.is_trusted:
                self.faults.append(f"revision {revision.prior} was changed after {at} was made from it")
            below = revision.prior if before is not None else at - 1
            at = max((number for number in trusted if number <= below and number < at), default=None)
        for number in sorted(set(trusted).difference(chain)):
            self.faults.append(f"revision {number} is not in the chain: it was put there past the service")
        return chain

    def compare(self, hashes: Mapping[int, str]) -> None:
        """Compare with revisions that were told elsewhere; what a restore has left behind is no fault."""
        lost = 0
        for number, hash_ in sorted(hashes.items()):
            if (revision := self.known.get(number)) is not None:
                if revision.hash != hash_:
                    self.faults.append(f"revision {number} differs from what was reported earlier")
            elif self._is_left_behind(number):
                lost += 1
            else:
                self.faults.append(f"revision {number} is gone; it was reported earlier")
        if lost:
            self.notes.append(f"policy revisions: {lost} that were reported earlier were lost by a restore")

    def _is_left_behind(self, number: int) -> bool:
        return any(
            revision.cause.startswith(RESTORED) and (revision.prior or 0) < number < restored
            for restored, revision in self.known.items()
            if revision.judgement.is_trusted
        )


async def audit_revisions(
    database: Database,
    seals: RevisionSeals,
    hashes: Mapping[int, str],
    is_chosen: Callable[[int, datetime], bool] = lambda _number, _time: True,
) -> RevisionAudit:
    """Verify all revisions, and the kept lines of those that are ``is_chosen``, by number and time.

    ``seals`` has all keys that were in use. ``hashes`` are revisions that were kept elsewhere, as hashes by
    number. Raises Unavailable.
    """
    walk = _Walk()
    async with database.snapshot(within=WITHIN) as connection:
        await seals.learn(connection)
        async for revision in policy_revisions.older(connection):
            walk.add(revision, seals.judge(revision))
        chain = walk.chain()
        walk.compare(hashes)
        for number in chain:
            known = walk.known[number]
            if known.lines_digest is not None and is_chosen(number, known.time):
                walk.faults += await _line_faults(connection, number, known.lines_digest)
    unsealed = sum(revision.judgement.authenticity == "unsealed" for revision in walk.known.values())
    return RevisionAudit(
        len(walk.known),
        unsealed if seals.key_ids else 0,
        tuple(walk.faults[:MOST_FAULTS]),
        len(walk.faults),
        tuple(walk.notes),
    )


async def _line_faults(connection: Connection, revision: int, digest: str) -> list[str]:
    if await policy_history.lines_digest(connection, revision) == digest:
        return []
    return [f"revision {revision}: the lines that history keeps of it are not those that were published"]
