"""``portcullis db …``: preview of a migration, and the migration."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from service import __version__
from service.authz.publishing.derive import covered_by
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import Parts, add_data
from service.cli.output import aligned, say
from service.operator.stores import reachable
from service.records.installation.migrate import additions, migrate
from service.records.installation.seed_catalogue import describe_additions
from service.settings import load

if TYPE_CHECKING:
    from service.features.command_line.store_pending_steps import PendingMigration, PendingStep, TableLock

PENDING: Final = 3
"""Exit status if a migration is pending."""
_LEAST_VERSION_KEPT: Final = "v0021"
"""The first schema that stores the least version that can use it, for programs that read it."""


def _migrate(_options: Namespace, environ: Mapping[str, str]) -> None:
    """Migrate the database, and print the result; raises SchemaError and Unavailable."""
    with reachable(load(environ), create=True) as settings:
        shipped = configured(settings)
        changed = migrate(settings.database.url, shipped.extensions)
        pending = additions(settings.database.url, covered_by(shipped.model_text), shipped.extensions)
    say("The database has been migrated." if changed else "The database has this version's schema already.")
    say(*describe_additions(pending))


def _check(_options: Namespace, environ: Mapping[str, str]) -> int:
    """Print the steps of a migration; return the exit status.

    Raises SchemaError if this version is too old for the schema, and Unavailable.
    """
    from service.features.command_line.store_pending_steps import pending_migration  # noqa: PLC0415 - it imports Alembic

    with reachable(load(environ)) as settings:
        pending = pending_migration(settings.database.url, configured(settings).extensions)
    say(*_described(pending))
    return PENDING if pending.steps or pending.extensions else 0


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
        if standing.stored is not None and standing.stored < _LEAST_VERSION_KEPT:
            yield (
                "The version that made this database, such as 0.2.0, starts on its own schema alone: change "
                "all nodes at once (docs/guides/upgrade.md, From 0.2.0)."
            )
    if standing.forms:
        yield f"Rows that need version {standing.least_version} or later: {', '.join(standing.forms)}."
    for name in pending.extensions:
        yield f"The extension {name} has tables to migrate."


def _line(step: PendingStep) -> str:
    kind = step.kind or "undeclared"
    needs = f", version {step.least_version} or later can work with it" if step.least_version else ""
    return f"  {step.revision} ({kind}{needs}): {step.what}"


def _cells(locks: Iterable[TableLock]) -> Iterator[tuple[str, str, str, str]]:
    for table_lock in locks:
        rows = table_lock.rows
        known = "rows not known: never analysed (ANALYZE)" if rows is None else f"about {rows} rows"
        yield table_lock.table, table_lock.lock, known, table_lock.size


COMMANDS: Final[Parts] = {"migrate": (add_data, _migrate), "check": (add_data, _check)}
