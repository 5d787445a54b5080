"""Migrates the tables of extensions, each in a schema of its own."""

from collections.abc import Iterable
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from service.kernel.extension import Extension, ExtensionError
from service.records.installation.schema_revision import stored_schema
from service.records.migrations.running import configured

# All that a migration can create, change or drop: relations with their columns, constraints, triggers and
# rules, functions, types, schemas, and their privileges.
_REST: Final = text(r"""
SELECT md5(coalesce(string_agg(line, E'\n' ORDER BY line), '')) FROM (
    SELECT 'relation ' || concat_ws(' ', c.oid, c.relfilenode, c.relname, c.relkind, c.relowner, c.relacl,
        c.relchecks, c.relhasrules, c.relrowsecurity, a.attname, a.atttypid, a.atttypmod, a.attnotnull,
        a.attisdropped, a.atthasdef) AS line, c.relnamespace AS namespace
    FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
    UNION ALL SELECT 'default ' || pg_get_expr(d.adbin, d.adrelid), c.relnamespace
    FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
    UNION ALL SELECT 'constraint ' || conname || ' ' || pg_get_constraintdef(oid), connamespace
    FROM pg_constraint
    UNION ALL SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid), t.tgenabled), c.relnamespace
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal
    UNION ALL SELECT 'function ' || concat_ws(' ', oid, proname, prosrc, proowner, proacl), pronamespace
    FROM pg_proc
    UNION ALL SELECT 'type ' || concat_ws(' ', oid, typname, typtype), typnamespace FROM pg_type
    UNION ALL SELECT 'schema ' || concat_ws(' ', nspname, nspowner, nspacl), oid FROM pg_namespace
) every (line, namespace)
JOIN pg_namespace n ON n.oid = namespace
WHERE n.nspname <> :schema AND NOT starts_with(n.nspname, 'pg_') AND n.nspname <> 'information_schema'
""")
_ROWS: Final = text("""
SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_xact_user_tables
WHERE schemaname <> :schema
""")


def migrate_extensions(connection: Connection, extensions: Iterable[Extension]) -> bool:
    """Bring the tables of ``extensions`` to their newest revision; return True if anything changed.

    Raises ExtensionError, for the caller to roll back, if a migration changes anything outside the schema of
    its extension. The same if the database has a revision that the extension does not know.
    """
    migrated = [
        _migrate(connection, extension) for extension in extensions if extension.migrations is not None
    ]
    return any(migrated)


def is_migrated(connection: Connection, extension: Extension) -> bool:
    """True if the tables of ``extension`` are those of its newest revision, or if it has none."""
    if extension.migrations is None:
        return True
    _, steps = _steps(connection, extension)
    return stored_schema(connection, extension.schema) == steps.get_current_head()


def _migrate(connection: Connection, extension: Extension) -> bool:
    config, steps = _steps(connection, extension)
    connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{extension.schema}"'))
    stored = stored_schema(connection, extension.schema)
    if stored is not None and stored not in {step.revision for step in steps.walk_revisions()}:
        raise ExtensionError(
            [f"the tables of the extension {extension.name} have revision {stored}, which it does not know"]
        )
    if stored == steps.get_current_head():
        return False
    before = _rest(connection, extension)
    command.upgrade(config, "head")
    if _rest(connection, extension) != before:
        fault = f"a migration of the extension {extension.name} changes objects outside its schema"
        raise ExtensionError([f"{fault} {extension.schema}"])
    return True


def _rest(connection: Connection, extension: Extension) -> tuple[object, object]:
    """Return a digest of definitions, and the number of written rows, outside the extension's schema."""
    named = {"schema": extension.schema}
    return (
        connection.execute(_REST, named).scalar_one(),
        connection.execute(_ROWS, named).scalar_one(),
    )


def _steps(connection: Connection, extension: Extension) -> tuple[Config, ScriptDirectory]:
    assert extension.migrations is not None  # noqa: S101 - its callers have asked
    config = configured([extension.migrations], connection=connection, schema=extension.schema)
    return config, ScriptDirectory.from_config(config)
