"""``portcullis db check``: what a migration would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from service import __version__
from service.cli.output import aligned
from service.kernel.extension import Extension
from service.records.pending_steps import PendingMigration, PendingStep, TableLock, pending_migration

PENDING: Final = 3
"""The exit status when there is something to migrate."""


def check_database(url: str, extensions: Sequence[Extension]) -> tuple[list[str], int]:
    """Return what a migration of the database at ``url`` would do, in lines, and the exit status.

    Raises SchemaError if this version is too old for the schema, and Unavailable.
    """
    pending = pending_migration(url, extensions)
    return list(_described(pending)), PENDING if pending.steps or pending.extensions else 0


def _described(pending: PendingMigration) -> Iterator[str]:
    standing = pending.standing
    if standing.is_newer:
        yield (
            f"The database has schema {standing.stored}, made by version {standing.migrated_by}; it needs "
            f"version {standing.least_version} or later, and this is {__version__}: nothing to migrate."
        )
    elif not pending.steps:
        yield f"The database has this version's schema, {standing.stored}: nothing to migrate."
    else:
        yield f"From schema {standing.stored or '(none)'} to {standing.expected}:"
        for step in pending.steps:
            yield _line(step)
            if standing.stored is not None and step.locks:
                yield from aligned(_cells(step.locks), indent="    ")
    for name in pending.extensions:
        yield f"The extension {name} has tables to migrate."


def _line(step: PendingStep) -> str:
    kind = step.kind or "undeclared"
    needs = f", version {step.least_version} or later can work with it" if step.least_version else ""
    return f"  {step.revision} ({kind}{needs}): {step.what}"


def _cells(locks: Iterable[TableLock]) -> Iterator[tuple[str, str, str, str]]:
    for table_lock in locks:
        yield table_lock.table, table_lock.lock, f"about {table_lock.rows} rows", table_lock.size
