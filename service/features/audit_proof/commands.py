"""``portcullis audit verify``: verify logs, policy revisions, past rights and evidence."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Final

from service.audit.key_chain import Chain
from service.audit.seals import RevisionSeals
from service.cli.lazy_commands import add_data
from service.cli.output import say
from service.errors import Unavailable
from service.features.audit_proof import store_chain as chain
from service.features.audit_proof.days import Audit, Day
from service.features.audit_proof.history import HistoryAudit, audit_history
from service.features.audit_proof.lineage import checkpoints_in
from service.features.audit_proof.verification import (
    Anchors,
    RevisionAudit,
    anchored_revisions,
    anchors_of,
    audit_revisions,
)
from service.kernel.feature import provided
from service.operator.errors import LaunchError
from service.operator.stores import reachable
from service.records.database.transactions import Database
from service.records.installation import restore_epochs
from service.records.installation.schema_revision import require_current
from service.settings import Settings, load

_NO_KEY: Final = (
    "logs and policy revisions: no key (oplog.chain_key is not set): anyone with write access to the "
    "database could have forged them, except for entries before a head that is stored elsewhere"
)


class TamperingError(LaunchError):
    """The logs or policy revisions were changed."""


class InputError(LaunchError):
    """An input file can't be read."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    add_data(parser)
    day = date.fromisoformat
    parser.add_argument("--from", dest="begin", type=day, metavar="DAY", help="the first day, as 2026-11-21")
    parser.add_argument("--to", dest="end", type=day, metavar="DAY", help="the last day")
    parser.add_argument(
        "--evidence", metavar="FILE", help="verify an evidence archive instead, without a database"
    )
    parser.add_argument("--heads", metavar="FILE", help="log lines of the service that are stored elsewhere")
    parser.add_argument(
        "--old-keys", metavar="FILE", help="a file with earlier keys of the chains, one per line"
    )
    parser.add_argument(
        "--unauthenticated",
        action="store_true",
        help="accept evidence without a key although a key is set: anyone could have forged it",
    )


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Verify policy revisions, past rights, and the logs from day ``--from`` to ``--to``; print the results.

    Also compares with heads kept by the session store, and with heads in the service's log lines in the file
    ``--heads``. Losses explained by a restore are reported, and are no fault. ``--old-keys`` names a file
    with former keys of the chain, one per line. Kept lines of revisions outside the days are not compared.

    With ``--evidence``, only that archive is verified. If there is a key, the archive must be sealed with a
    key, unless ``--unauthenticated`` is set.

    Raises ``TamperingError`` for any fault, ``InputError``, ``SchemaError`` and ``Unavailable``.
    """
    if options.evidence is not None:
        _verify_evidence(options, load(environ))
        return
    with reachable(load(environ)) as settings:
        require_current(settings.database.url)
        head_lines, earlier = list(_lines(options.heads)), list(_lines(options.old_keys))
        keys = (settings.oplog.chain_key, settings.oplog.chain_previous_key, *earlier)
        audit = Audit(
            database=Database(settings.database.url, pool_size=1, timeout=settings.database.timeout),
            keys=[Chain(keys[0]), Chain(), *map(Chain, filter(None, keys[1:]))],
            checkpoints=checkpoints_in(head_lines),
            begin=options.begin or date.min,
            end=options.end or date.max,
        )
        seals, hashes = RevisionSeals(*keys), anchored_revisions(head_lines)
        if not settings.oplog.chain_key:
            say(_NO_KEY)
        fault_count = asyncio.run(_verify(settings, audit, seals, hashes))
    if fault_count:
        raise TamperingError(
            "days, restores, revisions and past rights that were changed after they were written: "
            f"{fault_count}"
        )


def _verify_evidence(options: Namespace, settings: Settings) -> None:
    # The import loads all records of an archive, which the verification of logs does not need.
    verifies = provided("evidence").values()
    if not verifies:
        raise InputError("no installed feature can verify evidence")
    (verify,) = verifies
    try:
        data = Path(options.evidence).read_bytes()
    except OSError as error:
        raise InputError(f"{options.evidence} can't be read: {error}") from error
    heads, earlier = checkpoints_in(_lines(options.heads)), _lines(options.old_keys)
    keys = [settings.oplog.chain_key, settings.oplog.chain_previous_key, *earlier]
    chains = [Chain(), *map(Chain, filter(None, keys))]
    verified = verify(data, chains, heads, unauthenticated=options.unauthenticated)
    for line in (*verified.notes, *(f"  {fault}" for fault in verified.faults)):
        say(line)
    if verified.faults:
        raise TamperingError(
            f"{options.evidence} was CHANGED after it was created: {len(verified.faults)} faults"
        )
    say(f"{options.evidence} is unchanged")


async def _kept(settings: Settings, audit: Audit) -> Anchors:
    """Return the contents of the session store; print a message if the store is unavailable."""
    async with audit.database.snapshot() as connection:
        names = [restore_epoch.name for restore_epoch in await restore_epochs.every(connection)]
    try:
        return await anchors_of(settings, names)
    except Unavailable:
        say(
            "the session store is unavailable: removed entries whose heads were also removed are not detected"
        )
        return Anchors([], {}, {})


async def _verify(settings: Settings, given: Audit, seals: RevisionSeals, hashes: Mapping[int, str]) -> int:
    fault_count = 0
    async with given.database:
        kept = await _kept(settings, given)
        audit = replace(given, checkpoints=[*given.checkpoints, *kept.heads])
        hashes = {**hashes, **kept.revisions}
        revisions = await audit_revisions(
            audit.database, seals, hashes, lambda _, time: audit.begin <= time.date() <= audit.end
        )
        _report_revisions(revisions)
        history = await audit_history(audit.database, audit.keys, kept.history)
        _report_history(history)
        fault_count += revisions.fault_count + history.fault_count
        lineage, outlines = await audit.survey()
        for line in (*lineage.notes, *lineage.faults):
            say(line)
        fault_count += len(lineage.faults)
        async for log_day in audit.days(outlines):
            _report(log_day)
            fault_count += bool(log_day.faults)
        async with audit.database.transaction() as connection:
            aside = await chain.set_aside_count(connection)
    if aside:
        say(f"sys.log_set_aside has {aside} rejected entries")
    return fault_count


def _report_revisions(audit: RevisionAudit) -> None:
    state = "CHANGED after publishing" if audit.faults else "unchanged"
    unsealed = f", {audit.unsealed} without a seal" if audit.unsealed else ""
    say(f"policy revisions: {audit.count}, {state}{unsealed}", *audit.notes)
    _report_faults(audit)


def _report_history(audit: HistoryAudit) -> None:
    state = "CHANGED after sealing" if audit.faults else "unchanged" if audit.count else "not sealed yet"
    say(f"past rights: {state}{f', up to {audit.until}' if audit.until else ''}", *audit.notes)
    _report_faults(audit)


def _report(log_day: Day) -> None:
    state = "dropped" if log_day.dropped else f"{log_day.entries} entries"
    verdict = "CHANGED after writing" if log_day.faults else "unchanged"
    say(f"{log_day.log} {log_day.day}: {state}, {verdict}{', without a key' if log_day.keyless else ''}")
    _report_faults(log_day)


def _report_faults(audit: RevisionAudit | HistoryAudit | Day) -> None:
    say(*(f"  {fault}" for fault in audit.faults))
    if more := audit.fault_count - len(audit.faults):
        say(f"  and {more} more")


def _lines(path: str | None) -> Iterator[str]:
    if path is None:
        return
    try:
        with Path(path).open(encoding="utf-8") as file:
            yield from (line.rstrip("\n") for line in file if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}") from error
