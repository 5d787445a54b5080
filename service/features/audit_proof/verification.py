"""Verify policy revisions, and regularly also the logs, a few days at a time."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

import structlog

from service.audit.key_chain import Chain
from service.audit.seals import RESTORED, REVISION_EVENT, Judgement, RevisionSeals, hash_of, seals_of
from service.features.audit_proof import store_chain as log_chain
from service.features.audit_proof.checkpoints import AnchoredCheckpoint, stored_checkpoints
from service.features.audit_proof.days import WITHIN, Audit
from service.features.audit_proof.history import audit_history
from service.features.audit_proof.history_seals import anchor_name, chains_of
from service.features.audit_proof.sentences import sentence
from service.features.audit_proof.walk import MOST_FAULTS
from service.kernel.coded_sentences import Sentence
from service.kernel.operator_error import OperatorError
from service.keyspace import SessionStore
from service.records.database.transactions import Connection, Database
from service.records.logs.inserts import TABLES, Log
from service.records.published import policy_history, policy_revisions
from service.records.published.policy_revisions import PolicyRevision
from service.settings import Oplog, Settings


def anchored_revisions(lines: Iterable[str]) -> dict[int, str]:
    """Read reported revisions from JSON lines of the service's log: the hash of each, by number."""
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
    """Result of the audit: ``count`` revisions; ``unsealed`` of them lack a seal although a key is set.

    ``faults`` lists the first faults, ``fault_count`` counts all; ``notes`` are findings that are no fault.
    """

    count: int
    unsealed: int
    faults: tuple[str, ...]
    fault_count: int
    notes: tuple[str, ...]


class Anchors(NamedTuple):
    """Contents of the session store: heads of logs, hashes of revisions, and hashes of history seals."""

    heads: list[AnchoredCheckpoint]
    revisions: dict[int, str]
    history: dict[int, str]


async def anchors_of(settings: Settings, restore_epochs: Sequence[str]) -> Anchors:
    """Return the contents of the session store of ``settings``; raises ``Unavailable``."""
    async with SessionStore(settings.redis, settings.auth) as store:
        heads, key = stored_checkpoints(await store.log.heads()), store.revision_key
        history = await key.checkpoints(map(anchor_name, restore_epochs[-1:]))
        return Anchors(heads, await key.checkpoints(restore_epochs), history)


class _Known(NamedTuple):
    """Data of a revision that the chain needs."""

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
        """Add the next older revision."""
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
        """Return the revisions of the chain, the newest first; compares each with its predecessor."""
        trusted = [number for number, revision in self.known.items() if revision.judgement.is_trusted]
        chain: list[int] = []
        at = trusted[0] if trusted else None
        while at is not None:
            chain.append(at)
            revision = self.known[at]
            if revision.prior is None:
                # The first revision, or one of a version that stored no predecessor.
                at = max((number for number in trusted if number < at), default=None)
                continue
            before = self.known.get(revision.prior)
            if before is None:
                self.faults.append(f"revision {revision.prior} was removed, but {at} is based on it")
            elif before.hash != revision.prior_hash and before.judgement.is_trusted:
                self.faults.append(f"revision {revision.prior} was changed after {at}, which is based on it")
            below = revision.prior if before is not None else at - 1
            at = max((number for number in trusted if number <= below and number < at), default=None)
        for number in sorted(set(trusted).difference(chain)):
            self.faults.append(
                f"revision {number} is not in the chain: it was inserted directly in the database"
            )
        return chain

    def compare(self, hashes: Mapping[int, str]) -> None:
        """Compare with reported revisions; revisions lost by a restore are no fault."""
        lost = 0
        for number, hash_ in sorted(hashes.items()):
            if (revision := self.known.get(number)) is not None:
                if revision.hash != hash_:
                    self.faults.append(f"revision {number} differs from the earlier report")
            elif self._is_left_behind(number):
                lost += 1
            else:
                self.faults.append(f"revision {number} is missing, but was reported earlier")
        if lost:
            self.notes.append(f"policy revisions: {lost} reported revisions were lost in a restore")

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
    """Verify all revisions, and the kept lines of those that ``is_chosen`` selects by number and time.

    ``seals`` has all keys that were in use. ``hashes`` are the hashes of revisions that were kept elsewhere,
    by number. Raises Unavailable.
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
    return [f"revision {revision}: its lines in the history differ from the published lines"]


LATEST: Final = timedelta(days=2)
"""Age of the recent days, besides today, that every run verifies."""
_MOST_NAMED: Final = 5
_TURNS: Final = 100  # days in which the lines of each older revision are compared once

_log = structlog.get_logger()


class TamperedError(OperatorError):
    """Days of a log, restores or policy revisions were changed."""


async def verify_again(
    database: Database,
    settings: Oplog,
    today: date | None = None,
    *,
    anchors: Anchors = Anchors([], {}, {}),  # noqa: B008 - nothing changes it
) -> Sentence:
    """Verify the recent days of the logs, and one older day in turn; return the results as text.

    Each run also verifies:

    - days that are missing, or whose head differs from its seal
    - restores, whose faults count as days of the operation log
    - the seals of all policy revisions, and the kept lines of recent ones and of older ones in turn
    - all past rights against their seals

    ``anchors`` were kept elsewhere. Chains and restores with a seal of a key that is no longer set are
    omitted if they are older than the set keys. Records the time and the result of each log's verification.
    Raises TamperedError and Unavailable.
    """
    today = today or datetime.now(UTC).date()
    keys = [Chain(settings.chain_key), Chain(), *map(Chain, filter(None, [settings.chain_previous_key]))]
    audit = Audit(database=database, keys=keys, checkpoints=anchors.heads, lenient=True)
    lineage, outlines = await audit.survey()
    recent = today - LATEST
    older = sorted({day for outline in outlines for day in outline.present if day < recent})
    turn = older[today.toordinal() % len(older)] if older else today
    verified = dict.fromkeys(TABLES, 0)
    tampered: dict[Log, list[str]] = {log: [] for log in TABLES}
    for outline in outlines:
        for day in outline.days:
            if day >= recent or day == turn or day in outline.suspects:
                log_day = await audit.day(outline, day)
                verified[outline.log] += day not in outline.left_out
                if log_day.faults:
                    tampered[outline.log].append(f"{outline.log} {day}")
    faulty = {log: len(tampered[log]) for log in TABLES}
    faulty["operation_log"] += len(lineage.faults)
    async with database.transaction() as connection:
        await log_chain.save_verification(connection, {log: (verified[log], faulty[log]) for log in TABLES})
    revisions = await _verify_revisions(database, settings, anchors.revisions, today)
    history = await audit_history(database, chains_of(settings), anchors.history)
    if days := [day for log in TABLES for day in tampered[log]]:
        _log.error("a log is not as it was written", event_type="security", days=days)
        raise TamperedError(sentence("log_days_changed", count=len(days), days=days[:_MOST_NAMED]))
    if lineage.faults:
        _log.error("restores are not as they were", event_type="security", faults=lineage.faults)
        raise TamperedError(sentence("restores_changed", fault=lineage.faults[0]))
    if revisions.faults:
        raise TamperedError(sentence("revisions_changed", fault=revisions.faults[0]))
    if history.faults:
        raise TamperedError(sentence("past_rights_changed", fault=history.faults[0]))
    count, left_out = sum(verified.values()), sum(len(outline.left_out) for outline in outlines)
    return sentence("logs_unchanged", days=count, revisions=revisions.count, skipped=left_out)


async def _verify_revisions(
    database: Database, settings: Oplog, hashes: Mapping[int, str], today: date
) -> RevisionAudit:
    def has_turn(revision: int, time: datetime) -> bool:
        return time.date() >= today - LATEST or revision % _TURNS == today.toordinal() % _TURNS

    audit = await audit_revisions(database, seals_of(settings), hashes, has_turn)
    if audit.faults:
        _log.error(
            "policy revisions are not as they were published", event_type="security", faults=audit.faults
        )
    return audit
