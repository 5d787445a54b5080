"""Verification of logs and policy revisions again and again, a few days at a time."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import Final

import structlog

from service.audit.chain.checkpoints import AnchoredCheckpoint
from service.audit.chain.form import Chain
from service.audit.chain.revision_audit import RevisionAudit, audit_revisions
from service.audit.chain.seals import seals_of
from service.audit.chain.verify import Audit
from service.kernel.operator_error import OperatorError
from service.records.database.transactions import Database
from service.records.logs import chain as log_chain
from service.records.logs.inserts import TABLES, Log
from service.settings import Oplog

LATEST: Final = timedelta(days=2)
"""How far back the days lie that are verified each time, beside today."""
_MOST_NAMED: Final = 5
_TURNS: Final = 100  # days in which the lines of each older revision are compared once

_log = structlog.get_logger()


class TamperedError(OperatorError):
    """Days of a log, or policy revisions, are not as they were written."""


async def verify_again(
    database: Database,
    settings: Oplog,
    today: date | None = None,
    *,
    reported: Sequence[AnchoredCheckpoint] = (),
    anchored_revisions: Mapping[int, str] = MappingProxyType({}),
) -> str:
    """Verify the last days of the logs, and one older day: another one each day, so that each has its turn.

    The same of the lines that history keeps of policy revisions; the seals of all of them are verified.
    ``reported`` are heads that were kept elsewhere, and ``anchored_revisions`` hashes by number. Days whose
    chain was made with a key that is no longer set can't be verified, and are left out. Records when each
    log was verified, and with what result. Returns what was verified, in words. Raises TamperedError and
    Unavailable.
    """
    today = today or datetime.now(UTC).date()
    keys = [Chain(settings.chain_key), Chain(), *map(Chain, filter(None, [settings.chain_previous_key]))]
    older, unknown = await _days_before(database, today - LATEST, {key.key_id for key in keys})
    turns = [(today - LATEST, today)]
    if older:
        turn = older[today.toordinal() % len(older)]
        turns.insert(0, (turn, turn))
    verified = dict.fromkeys(TABLES, 0)
    tampered: dict[Log, list[str]] = {log: [] for log in TABLES}
    for begin, end in turns:
        audit = Audit(database=database, keys=keys, checkpoints=reported, begin=begin, end=end)
        async for log_day in audit.days():
            if (log_day.log, log_day.day) not in unknown:
                verified[log_day.log] += 1
                if log_day.faults:
                    tampered[log_day.log].append(f"{log_day.log} {log_day.day}")
    async with database.transaction() as connection:
        await log_chain.save_verification(
            connection, {log: (verified[log], len(tampered[log])) for log in TABLES}
        )
    revisions = await _verify_revisions(database, settings, anchored_revisions, today)
    if days := [day for log in TABLES for day in tampered[log]]:
        _log.error("a log is not as it was written", event_type="security", days=days)
        named = ", ".join(days[:_MOST_NAMED])
        raise TamperedError(
            f"{len(days)} days of the logs are not as they were written: {named}; "
            "'portcullis audit verify' says what is wrong"
        )
    if revisions.faults:
        raise TamperedError(f"policy revisions are not as they were published: {revisions.faults[0]}")
    count = sum(verified.values())
    return f"{count} days of the logs and {revisions.count} policy revisions are as they were written"


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


async def _days_before(
    database: Database, before: date, known: set[str]
) -> tuple[list[date], set[tuple[str, date]]]:
    """Return the days before ``before`` with a chain, and logs and days whose chain has an unknown key."""
    days, unknown = set(), set()
    async with database.snapshot() as connection:
        for log in TABLES:
            for head in await log_chain.heads(connection, log):
                if head.key_id not in known:
                    unknown.add((str(log), head.day))
                elif head.day < before and not head.dropped:
                    days.add(head.day)
    return sorted(days), unknown
