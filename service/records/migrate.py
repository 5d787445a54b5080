"""Migrates the database to this version's schema and seeds a new one; safe in several processes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, text

from service.kernel.extension import Extension
from service.records.database.failures import out_of_reach
from service.records.database.transactions import engine
from service.records.policy import revisions
from service.records.roles import rights
from service.records.schema import SCHEMA
from service.records.schema_revision import SchemaError, expected_schema, known_schemas, stored_schema
from service.records.seed.catalogue import Additions, Covered, bring, is_complete, pending
from service.records.seed.seed import is_new, seed

_MIGRATIONS: Final = Path(__file__).parent / "migrations"
_SCRIPTS: Final = str(_MIGRATIONS).replace("%", "%%")
_LOCK: Final = 0x706F7274_63756C6C  # "portcull": one number for all processes of the service
LEAST_SERVER: Final = 17_00_00
"""The oldest supported PostgreSQL, as its version number: it has identity columns in partitioned tables."""
_READ_ONLY: Final = (
    "The database is read-only: it is a standby, or default_transaction_read_only is on. Name the primary in "
    "database.url, or all servers: postgresql://user@host1:5432,host2:5432/name"
)


def migrate(url: str, extensions: Sequence[Extension] = ()) -> bool:
    """Migrate the database at ``url`` to this version's schema; True if there was anything to do.

    The tables of ``extensions`` as well.

    Everything happens in one transaction under an advisory lock: of several processes one does the work
    and the others wait for it. Raises SchemaError if the server is too old or read-only, or the schema
    too new, ExtensionError for a faulty migration of an extension, and Unavailable if the database is out of
    reach.
    """
    with _exclusively(url) as connection:
        upgraded = _upgrade(connection)
        return _migrate_extensions(connection, extensions) or upgraded


def unmigrated(connection: Connection, extensions: Sequence[Extension]) -> list[str]:
    """Return the names of the ``extensions`` whose tables are not those of their newest revision."""
    if not _with_tables(extensions):
        return []
    from service.records.extension_tables import is_migrated

    return [one.name for one in extensions if not is_migrated(connection, one, _SCRIPTS)]


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
) -> Prepared:
    """Migrate the database at ``url``; seed it if it is new, else add what is new in this version.

    The same for ``extensions``.

    All in one transaction; raises as ``migrate``. ``administrator_hash`` is called only to seed: it returns
    the Argon2 hash of the first administrator's password. ``covered`` tells which codes other codes cover.
    """
    with _exclusively(url) as connection:
        _upgrade(connection)
        _migrate_extensions(connection, extensions)
        if is_new(connection):
            seed(connection, administrator_hash, extensions)
            return Prepared(new=True, additions=Additions())
        if is_complete(connection, extensions):
            return Prepared(new=False, additions=Additions())
        # No other transaction may change menus or rights meanwhile.
        for key in (revisions.LOCK, rights.LOCK):
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
        return Prepared(new=False, additions=bring(connection, covered, extensions))


def additions(url: str, covered: Covered, extensions: Sequence[Extension] = ()) -> Additions:
    """Return what the next start will add to the database at ``url``; nothing if it was never seeded.

    Only reads; the schema must be this version's. Raises Unavailable.
    """
    with out_of_reach(in_words=True), engine(url).connect() as connection:
        return Additions() if is_new(connection) else pending(connection, covered, extensions)


@contextmanager
def _exclusively(url: str) -> Iterator[Connection]:
    bind = engine(url)
    with out_of_reach(in_words=True), bind.begin() as connection:
        if connection.execute(text("SHOW transaction_read_only")).scalar_one() == "on":
            raise SchemaError(_READ_ONLY)
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        yield connection


def _upgrade(connection: Connection) -> bool:
    server = connection.execute(text("SHOW server_version_num")).scalar_one()
    if int(server) < LEAST_SERVER:
        raise SchemaError(
            f"PostgreSQL {LEAST_SERVER // 10000} or later is needed; this is {int(server) // 10000}"
        )
    connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
    stored = stored_schema(connection)
    if stored is not None and stored not in known_schemas():
        raise SchemaError(
            f"The database has schema {stored}, which this version of the program does not know: a newer "
            "version has migrated it. Start that version, or restore an older backup."
        )
    if stored == expected_schema():
        return False
    from service.records.migrations.running import upgrade

    upgrade(connection, _SCRIPTS)
    return True


def _migrate_extensions(connection: Connection, extensions: Sequence[Extension]) -> bool:
    if not _with_tables(extensions):
        return False
    from service.records.extension_tables import migrate_extensions

    return migrate_extensions(connection, extensions, _SCRIPTS)


def _with_tables(extensions: Sequence[Extension]) -> bool:
    return any(one.migrations is not None for one in extensions)
