"""Migrates the database to this version's schema and seeds a new one; safe in several processes at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import sleep
from typing import Final, TypeVar

import structlog
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from service import __version__
from service.kernel.extension import Extension, ExtensionError
from service.records import policy_revisions, role_rights
from service.records.database.failures import out_of_reach, words_of
from service.records.database.transactions import engine
from service.records.schema.base import SCHEMA
from service.records.schema_revision import SchemaError, record_support, schema_standing, stored_schema
from service.records.seed import is_new, seed
from service.records.seed_catalogue import Additions, Covered, bring, is_complete, pending

# Whatever a migration can make, change or drop: relations with their columns, constraints, triggers and
# rules, functions, types, schemas, and who may use them.
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


def migrate_extensions(connection: Connection, extensions: Iterable[Extension], scripts: str) -> bool:
    """Bring the tables of ``extensions`` to their newest revision; True if there was anything to do.

    ``scripts`` is the folder of Alembic's environment. Raises ExtensionError, for the caller to roll back, if
    a migration changes anything outside the schema of its extension, and if the database has a revision that
    the extension does not know.
    """
    migrated = [
        _migrate(connection, extension, scripts)
        for extension in extensions
        if extension.migrations is not None
    ]
    return any(migrated)


def is_migrated(connection: Connection, extension: Extension, scripts: str) -> bool:
    """True if the tables of ``extension`` are those of its newest revision, or if it has none."""
    if extension.migrations is None:
        return True
    _, steps = _steps(connection, extension, scripts)
    return stored_schema(connection, extension.schema) == steps.get_current_head()


def _migrate(connection: Connection, extension: Extension, scripts: str) -> bool:
    config, steps = _steps(connection, extension, scripts)
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
        fault = f"a migration of the extension {extension.name} changes what is not in its schema"
        raise ExtensionError([f"{fault} {extension.schema}"])
    return True


def _rest(connection: Connection, extension: Extension) -> tuple[object, object]:
    """Return what stands for all definitions and all written rows outside the schema of ``extension``."""
    named = {"schema": extension.schema}
    return (
        connection.execute(_REST, named).scalar_one(),
        connection.execute(_ROWS, named).scalar_one(),
    )


def _steps(connection: Connection, extension: Extension, scripts: str) -> tuple[Config, ScriptDirectory]:
    config = Config(attributes={"connection": connection, "schema": extension.schema})
    config.set_main_option("script_location", scripts)
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", str(extension.migrations).replace("%", "%%"))
    return config, ScriptDirectory.from_config(config)


_MIGRATIONS: Final = Path(__file__).parent / "migrations"
_SCRIPTS: Final = str(_MIGRATIONS).replace("%", "%%")
_LOCK: Final = 0x706F7274_63756C6C  # "portcull": one number for all processes of the service
LEAST_SERVER: Final = 17_00_00
"""The oldest supported PostgreSQL, as its version number: it has identity columns in partitioned tables."""

_READ_ONLY: Final = (
    "The database is read-only: it is a standby, or default_transaction_read_only is on. Name the primary in "
    "database.url, or all servers: postgresql://user@host1:5432,host2:5432/name"
)

LOCK_WITHIN: Final = 0.5
"""Seconds that a migration waits for a table: requests wait behind it, and must not fail for that.

Less than the second after which PostgreSQL looks for deadlocks, and may end the transaction of a request.
"""
LOCK_ATTEMPTS: Final = 30
LOCK_PAUSE: Final = 1.0  # seconds

T = TypeVar("T")

_log = structlog.get_logger()


def migrate(url: str, extensions: Sequence[Extension] = ()) -> bool:
    """Migrate the database at ``url`` to this version's schema; True if there was anything to do.

    The tables of ``extensions`` as well.

    Everything happens in one transaction under an advisory lock: of several processes one does the work
    and the others wait for it. A schema of a newer version that this one can work with is left as it is.
    Raises SchemaError if the server is read-only, it or this version is too old, or a table stays locked,
    ExtensionError for a faulty migration of an extension, and Unavailable if the database is out of reach.
    """
    return _in_turn(url, partial(_upgrade, extensions=extensions))


def unmigrated(connection: Connection, extensions: Sequence[Extension]) -> list[str]:
    """Return the names of the ``extensions`` whose tables are not those of their newest revision."""
    if not _with_tables(extensions):
        return []
    from service.records.migrate import is_migrated

    return [extension.name for extension in extensions if not is_migrated(connection, extension, _SCRIPTS)]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Whether the database was new, and what this version added to one that was not."""

    new: bool
    additions: Additions


def prepare(
    url: str,
    administrator_hash: Callable[[], str],
    covered: Covered,
    extensions: Sequence[Extension] = (),
    *,
    migrates: bool = True,
) -> Prepared:
    """Migrate the database at ``url``; seed it if it is new, else add what is new in this version.

    The same for ``extensions``.

    A new database is migrated and seeded in one transaction; raises as ``migrate``. ``administrator_hash`` is
    called only to seed: it returns the Argon2 hash of the first administrator's password. ``covered`` tells
    which codes other codes cover.
    Without ``migrates`` nothing is migrated: SchemaError if there is anything to migrate.
    """

    def fill(connection: Connection) -> Prepared | None:
        upgraded = migrates and _upgrade(connection, extensions)
        if not migrates:
            _require_migrated(connection, extensions)
        if is_new(connection):
            seed(connection, administrator_hash, extensions)
            return Prepared(new=True, additions=Additions())
        # Not with the locks of a migration, for which requests wait.
        return None if upgraded else add(connection)

    def add(connection: Connection) -> Prepared:
        if is_complete(connection, extensions):
            return Prepared(new=False, additions=Additions())
        # No other transaction may change menus or rights meanwhile.
        for key in (policy_revisions.LOCK, role_rights.LOCK):
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
        return Prepared(new=False, additions=bring(connection, covered, extensions))

    return _in_turn(url, fill) or _in_turn(url, add)


def additions(url: str, covered: Covered, extensions: Sequence[Extension] = ()) -> Additions:
    """Return what the next start will add to the database at ``url``; nothing if it was never seeded.

    Only reads; the schema must be this version's. Raises Unavailable.
    """
    with out_of_reach(in_words=True), engine(url).connect() as connection:
        return Additions() if is_new(connection) else pending(connection, covered, extensions)


def _in_turn(url: str, work: Callable[[Connection], T]) -> T:
    """Do ``work`` in one transaction under the lock of migrations; again while others hold its tables."""
    bind = engine(url)
    for attempt in range(1, LOCK_ATTEMPTS + 1):
        try:
            with out_of_reach(in_words=True), bind.begin() as connection, _lock_missed():
                if connection.execute(text("SHOW transaction_read_only")).scalar_one() == "on":
                    raise SchemaError(_READ_ONLY)
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
                return work(connection)
        except _LockMissedError as missed:
            _log.warning("a migration waits for a lock", reason=str(missed), attempt=attempt)
            sleep(LOCK_PAUSE)
    raise SchemaError(
        f"The migration could not lock what it changes in {LOCK_ATTEMPTS} attempts: another transaction "
        "holds it, perhaps a backup or a long report. Nothing was changed: try again when that has ended."
    )


class _LockMissedError(Exception):
    """A lock was not free within ``LOCK_WITHIN``."""


@contextmanager
def _lock_missed() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if isinstance(error.orig, LockNotAvailable):
            raise _LockMissedError(words_of(error.orig)) from error
        raise


def _upgrade(connection: Connection, extensions: Sequence[Extension]) -> bool:
    """Migrate the tables of the service and of ``extensions``; True if there was anything to do."""
    # While a migration waits for a table, all that comes after it waits too.
    connection.execute(text(f"SET LOCAL lock_timeout = {round(LOCK_WITHIN * 1000):d}"))
    upgraded = _upgrade_own(connection)
    upgraded = _migrate_extensions(connection, extensions) or upgraded
    connection.execute(text("SET LOCAL lock_timeout = DEFAULT"))
    return upgraded


def _upgrade_own(connection: Connection) -> bool:
    _require_server(connection)
    standing = schema_standing(connection)
    standing.require_supported()
    if standing.is_newer or standing.is_usable:
        return False
    from service.records.migrations.running import upgrade

    connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
    record_support(connection, upgrade(connection, _SCRIPTS))
    return True


def _require_migrated(connection: Connection, extensions: Sequence[Extension]) -> None:
    """Raise SchemaError if there is anything to migrate."""
    _require_server(connection)
    standing = schema_standing(connection)
    standing.require_supported()
    if not standing.is_usable:
        raise SchemaError(
            f"The database has schema {standing.stored or '(none)'}, and version {__version__} needs "
            f"{standing.expected}. This start must not migrate it (database.migrate): run 'portcullis db "
            "migrate' first; 'portcullis db check' says what that would do."
        )
    if behind := unmigrated(connection, extensions):
        raise SchemaError(
            f"The tables of the extension {behind[0]} are not those of its newest revision. This start must "
            "not migrate them (database.migrate): run 'portcullis db migrate' first."
        )


def _require_server(connection: Connection) -> None:
    server = connection.execute(text("SHOW server_version_num")).scalar_one()
    if int(server) < LEAST_SERVER:
        raise SchemaError(
            f"PostgreSQL {LEAST_SERVER // 10000} or later is needed; this is {int(server) // 10000}"
        )


def _migrate_extensions(connection: Connection, extensions: Sequence[Extension]) -> bool:
    if not _with_tables(extensions):
        return False
    from service.records.migrate import migrate_extensions

    return migrate_extensions(connection, extensions, _SCRIPTS)


def _with_tables(extensions: Sequence[Extension]) -> bool:
    return any(extension.migrations is not None for extension in extensions)
