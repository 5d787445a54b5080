"""``portcullis audit verify``: checks that the logs are unchanged since they were written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

from service.audit.chain.form import Chain
from service.audit.chain.reported import ReportedHead, told_lines, told_store
from service.audit.chain.verify import Audit, Day
from service.errors import Unavailable
from service.keyspace import SessionStore
from service.operator.errors import LaunchError
from service.records.database.transactions import Database
from service.records.logs import chain
from service.records.schema_revision import require_current
from service.settings import Settings

Say = Callable[[str], None]


class TamperingError(LaunchError):
    """The logs were changed."""


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
    """Verify the logs from day ``begin`` to ``end``, and pass the result of each day to ``say``.

    What the session store keeps of heads counts, and what ``heads`` has, a file with lines of the service's
    log that report heads; what a restore accounts for is said and no fault. ``old_keys`` names a file with
    earlier keys of the chain, one per line. Raises ``TamperingError`` if anything is wrong, ``InputError``,
    ``SchemaError`` and ``Unavailable``.
    """
    require_current(settings.database.url)
    kept = asyncio.run(_kept_heads(settings, say))
    audit = Audit(
        database=Database(settings.database.url, pool_size=1, timeout=settings.database.timeout),
        keys=[Chain(settings.oplog.chain_key), Chain(), *map(Chain, _lines(old_keys))],
        told=[*told_lines(_lines(heads)), *kept],
        begin=begin or date.min,
        end=end or date.max,
    )
    found = asyncio.run(_verify(audit, say))
    if found:
        raise TamperingError(f"days and restores that are not as they were written: {found}")


async def _kept_heads(settings: Settings, say: Say) -> list[ReportedHead]:
    """Return the heads that the session store keeps; without it, say so."""
    store = SessionStore(settings.redis, settings.auth)
    try:
        return told_store(await store.log.heads())
    except Unavailable:
        say("the session store is out of reach: entries that were removed with their heads are not noticed")
        return []
    finally:
        await store.close()


async def _verify(audit: Audit, say: Say) -> int:
    found = 0
    try:
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
        await audit.database.close()
    if aside:
        say(f"{aside} entries that the logs refused are in sys.log_set_aside")
    return found


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
