"""``portcullis audit verify``: checks that logs and policy revisions are as they were written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from service.audit.chain.form import Chain
from service.audit.chain.reported import ReportedHead, told_lines, told_store
from service.audit.chain.revision_audit import RevisionAudit, audit_revisions, told_revisions
from service.audit.chain.revision_seals import RevisionSeals
from service.audit.chain.verify import Audit, Day
from service.errors import Unavailable
from service.keyspace import SessionStore
from service.operator.errors import LaunchError
from service.records import restore_epochs
from service.records.database.transactions import Database
from service.records.logs import chain
from service.records.schema_revision import require_current
from service.settings import Settings

Say = Callable[[str], None]


class TamperingError(LaunchError):
    """The logs or policy revisions were changed."""


class InputError(LaunchError):
    """An input file can't be read."""


def verify(
    settings: Settings,
    say: Say,
    *,
    begin: date | None = None,
    end: date | None = None,
    heads: str | None = None,
    old_keys: str | None = None,
) -> None:
    """Verify policy revisions, and the logs from day ``begin`` to ``end``; pass the results to ``say``.

    What the session store keeps of heads counts, and what ``heads`` has, a file with lines of the service's
    log that report heads; what a restore accounts for is said and no fault. ``old_keys`` names a file with
    earlier keys of the chain, one per line. Of revisions before ``begin`` and after ``end``, the lines that
    history keeps are not compared. Raises ``TamperingError`` if anything is wrong, ``InputError``,
    ``SchemaError`` and ``Unavailable``.
    """
    require_current(settings.database.url)
    told, earlier = list(_lines(heads)), list(_lines(old_keys))
    keys = (settings.oplog.chain_key, settings.oplog.chain_previous_key, *earlier)
    audit = Audit(
        database=Database(settings.database.url, pool_size=1, timeout=settings.database.timeout),
        keys=[Chain(keys[0]), Chain(), *map(Chain, filter(None, keys[1:]))],
        told=told_lines(told),
        begin=begin or date.min,
        end=end or date.max,
    )
    found = asyncio.run(_verify(settings, audit, RevisionSeals(*keys), told_revisions(told), say))
    if found:
        raise TamperingError(f"days, restores and revisions that are not as they were written: {found}")


async def _kept(settings: Settings, audit: Audit, say: Say) -> tuple[list[ReportedHead], dict[int, str]]:
    """Return the heads that the session store keeps, and the newest revisions; without it, say so."""
    async with audit.database.snapshot() as connection:
        timelines = [one.name for one in await restore_epochs.every(connection)]
    store = SessionStore(settings.redis, settings.auth)
    try:
        return told_store(await store.log.heads()), await store.revision_key.witnesses(timelines)
    except Unavailable:
        say("the session store is out of reach: entries that were removed with their heads are not noticed")
        return [], {}
    finally:
        await store.close()


async def _verify(
    settings: Settings, given: Audit, seals: RevisionSeals, told: Mapping[int, str], say: Say
) -> int:
    found = 0
    try:
        heads, witnesses = await _kept(settings, given, say)
        audit, told = replace(given, told=[*given.told, *heads]), {**told, **witnesses}
        revisions = await audit_revisions(
            audit.database, seals, told, lambda _, time: audit.begin <= time.date() <= audit.end
        )
        _report_revisions(revisions, say)
        found += revisions.fault_count
        lineage = await audit.lineage()
        for line in (*lineage.notes, *lineage.faults):
            say(line)
        found += len(lineage.faults)
        async for one in audit.days():
            _report(one, say)
            found += bool(one.faults)
        async with audit.database.transaction() as connection:
            aside = await chain.set_aside_count(connection)
    finally:
        await given.database.close()
    if aside:
        say(f"{aside} entries that the logs refused are in sys.log_set_aside")
    return found


def _report_revisions(found: RevisionAudit, say: Say) -> None:
    state = "NOT as published" if found.faults else "as published"
    unsealed = f", {found.unsealed} without a seal" if found.unsealed else ""
    say(f"policy revisions: {found.count}, {state}{unsealed}")
    for line in (*found.notes, *(f"  {fault}" for fault in found.faults)):
        say(line)
    if more := found.fault_count - len(found.faults):
        say(f"  and {more} more")


def _report(one: Day, say: Say) -> None:
    state = "dropped" if one.dropped else f"{one.entries} entries"
    found = "NOT as written" if one.faults else "as written"
    say(f"{one.log} {one.day}: {state}, {found}{', without a key' if one.keyless else ''}")
    for fault in one.faults:
        say(f"  {fault}")
    if more := one.fault_count - len(one.faults):
        say(f"  and {more} more")


def _lines(path: str | None) -> Iterator[str]:
    if path is None:
        return
    try:
        with Path(path).open(encoding="utf-8") as file:
            yield from (line.rstrip("\n") for line in file if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}") from error
