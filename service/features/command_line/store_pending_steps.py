"""Preview of a migration: its steps, their locks, and the sizes of the tables."""

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import Final

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import Script
from msgspec import Struct
from sqlalchemy import Connection, text

from service.kernel.extension import Extension
from service.records.database.failures import out_of_reach
from service.records.database.transactions import engine
from service.records.installation.migrate import unmigrated
from service.records.installation.new_database import functions
from service.records.installation.schema_revision import LEAST_VERSION, SchemaStanding, schema_standing
from service.records.installation.table_locks import locks_of
from service.records.migrations.running import Kind, declared_kind, declared_least, lacks_functions
from service.records.migrations.running import steps as migration_steps

_SIZES: Final = text("""
SELECT c.oid::regclass::text AS name,
    CASE WHEN min(coalesce(leaf.reltuples, c.reltuples)) >= 0
        OR sum(pg_relation_size(coalesce(leaf.oid, c.oid))) = 0
        THEN greatest(0, sum(coalesce(leaf.reltuples, c.reltuples)))::bigint END AS rows,
    pg_size_pretty(sum(pg_total_relation_size(coalesce(leaf.oid, c.oid)))) AS size
FROM pg_class c
LEFT JOIN LATERAL pg_partition_tree(c.oid) part ON c.relkind = 'p' AND part.isleaf
LEFT JOIN pg_class leaf ON leaf.oid = part.relid
WHERE c.relnamespace = to_regnamespace('sys') AND c.relkind IN ('r', 'p')
GROUP BY c.oid
""")


class TableLock(Struct, frozen=True):
    """A lock on an existing table; ``size`` includes its unit.

    ``rows`` is PostgreSQL's estimate; None for a table with content that was never analysed.
    """

    table: str
    lock: str
    rows: int | None
    size: str


class PendingStep(Struct, frozen=True):
    """A pending migration; ``kind`` and ``least_version`` are None if it declares none."""

    revision: str
    what: str
    kind: Kind | None
    least_version: str | None
    locks: tuple[TableLock, ...]


class PendingMigration(Struct, frozen=True):
    """The schema of a database, the pending steps to this version, and extensions with pending steps."""

    standing: SchemaStanding
    steps: tuple[PendingStep, ...]
    extensions: tuple[str, ...] = ()


def pending_migration(url: str, extensions: Sequence[Extension]) -> PendingMigration:
    """Return the steps of ``migrate`` for the database at ``url``, without changes and locks.

    Raises SchemaError if this version is too old for the schema, and Unavailable.
    """
    with out_of_reach(), engine(url).connect() as connection:
        standing = schema_standing(connection)
        standing.require_supported()
        behind = tuple(unmigrated(connection, extensions))
        if standing.is_usable:
            return PendingMigration(standing, (), behind)
        if standing.stored is None:
            what = "All tables of a new database"
            step = PendingStep(standing.expected, what, "expand", LEAST_VERSION, ())
            return PendingMigration(standing, (step,), behind)
        sizes = _sizes(connection)
    revisions = migration_steps().iterate_revisions(standing.expected, standing.stored)
    steps = [_described(step, sizes) for step in reversed([*revisions])]
    if lacks_functions(standing.stored):
        locks = tuple(_locks(functions(), sizes))
        steps.append(PendingStep("functions.sql", "Functions and triggers", "expand", LEAST_VERSION, locks))
    return PendingMigration(standing, tuple(steps), behind)


def statements_of(step: Script) -> str:
    """Return the SQL of a migration."""
    output = StringIO()
    context = MigrationContext.configure(
        dialect_name="postgresql", opts={"as_sql": True, "output_buffer": output}
    )
    with Operations.context(context):
        step.module.upgrade()
    return output.getvalue()


def _described(step: Script, sizes: Mapping[str, tuple[int | None, str]]) -> PendingStep:
    locks = tuple(_locks(statements_of(step), sizes))
    what = (step.doc or "").strip().partition("\n")[0]
    return PendingStep(step.revision, what, declared_kind(step), declared_least(step), locks)


def _locks(statements: str, sizes: Mapping[str, tuple[int | None, str]]) -> Iterator[TableLock]:
    for table, lock in sorted(locks_of(statements).items()):
        if table in sizes:  # tables created by the migration have no other users
            yield TableLock(table, lock, *sizes[table])


def _sizes(connection: Connection) -> dict[str, tuple[int | None, str]]:
    return {row.name: (row.rows, row.size) for row in connection.execute(_SIZES)}
