"""Makes or migrates the schema of the database and seeds a new one; safe in several processes at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import sleep
from typing import Final, TypeVar

import structlog
from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from service import __version__
from service.kernel.extension import Extension
from service.records import role_rights
from service.records.database.failures import out_of_reach, words_of
from service.records.database.transactions import engine
from service.records.installation.schema_revision import (
    LEAST_VERSION,
    SchemaError,
    record_support,
    schema_standing,
)
from service.records.installation.seed import is_new, seed
from service.records.installation.seed_catalogue import Additions, Covered, bring, is_complete, pending
from service.records.installation.table_locks import holders_of, locks_of
from service.records.published import policy_revisions

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


def migrate(url: str, extensions: Sequence[Extension]) -> bool:
    """Migrate the database at ``url`` to this version's schema; return True if anything changed.

    This includes the tables of ``extensions``.

    Everything happens in one transaction under an advisory lock: one process does the work and the others
    wait for it. A newer schema that this version can work with stays unchanged. Raises SchemaError if the
    server is read-only, it or this version is too old, or a table stays locked. Raises ExtensionError for a
    faulty migration of an extension, and Unavailable if the database is out of reach.
    """
    return _in_turn(url, partial(_upgrade, extensions=extensions))


def unmigrated(connection: Connection, extensions: Sequence[Extension]) -> list[str]:
    """Return the names of the ``extensions`` whose tables are not those of their newest revision."""
    if not _with_tables(extensions):
        return []
    from service.records.installation.extension_tables import is_migrated

    return [extension.name for extension in extensions if not is_migrated(connection, extension)]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Result: whether the database was new, and this version's additions to an existing one."""

    new: bool
    additions: Additions


def prepare(
    url: str,
    administrator_hash: Callable[[], str],
    covered: Covered,
    extensions: Sequence[Extension],
    *,
    migrates: bool = True,
) -> Prepared:
    """Migrate the database at ``url``; seed a new one, else add the additions of this version.

    The same for ``extensions``.

    A new database is migrated and seeded in one transaction; raises the errors of ``migrate``.
    ``administrator_hash`` is called only to seed: it returns the Argon2 hash of the first administrator's
    password. ``covered`` returns the codes covered by other codes. Without ``migrates`` nothing is migrated:
    SchemaError if a migration is pending.
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


def additions(url: str, covered: Covered, extensions: Sequence[Extension]) -> Additions:
    """Return the additions of the next start to the database at ``url``; empty if it was never seeded.

    Only reads; the schema must be this version's. Raises Unavailable.
    """
    with out_of_reach(in_words=True), engine(url).connect() as connection:
        return Additions() if is_new(connection) else pending(connection, covered, extensions)


def _in_turn(url: str, work: Callable[[Connection], T]) -> T:
    """Do ``work`` in one transaction under the lock of migrations; again while others hold its tables."""
    bind = engine(url)
    locks: Mapping[str, str] = {}
    missed_tables: Sequence[str] = ()
    held: Sequence[str] = ()
    for attempt in range(1, LOCK_ATTEMPTS + 1):
        try:
            with out_of_reach(in_words=True), bind.begin() as connection, _lock_missed():
                if connection.execute(text("SHOW transaction_read_only")).scalar_one() == "on":
                    raise SchemaError(_READ_ONLY)
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
                _lock_first(connection, locks)
                return work(connection)
        except _LockMissedError as missed:
            missed_tables, held = [*missed.locks], holders_of(bind, [*missed.locks])
            locks = _in_order(locks, missed.locks)
            _log.warning(
                "a migration waits for a lock",
                reason=str(missed),
                tables=missed_tables,
                held=held,
                attempt=attempt,
            )
            sleep(LOCK_PAUSE)
    what = " and ".join(missed_tables) or "what it changes"
    why = "; ".join(held) or "another transaction holds it, perhaps a backup or a long report"
    raise SchemaError(
        f"The migration could not lock {what} in {LOCK_ATTEMPTS} attempts: {why}. Nothing was changed: try "
        "again when that has ended."
    )


def _lock_first(connection: Connection, locks: Mapping[str, str]) -> None:
    """Take the locks that attempts before have missed, one after another, before the work begins."""
    connection.execute(text(f"SET LOCAL lock_timeout = {round(LOCK_WITHIN * 1000):d}"))
    for table, lock in locks.items():
        if connection.execute(text("SELECT to_regclass(:table)"), {"table": table}).scalar_one() is not None:
            connection.execute(text(f"LOCK TABLE {table} IN {lock} MODE"))
    connection.execute(text("SET LOCAL lock_timeout = DEFAULT"))


def _in_order(locks: Mapping[str, str], missed: Mapping[str, str]) -> dict[str, str]:
    """Return the locks that the next attempt takes, in their order.

    A request that has locked one table and waits for another one, held by the migration, waits as long as the
    migration waits for the first. So the next attempt locks the missed table before all others. Such requests
    then wait without holding a lock.
    """
    if len(missed) > 1:  # a statement that locks several: the next attempt finds the missed table
        return {**locks, **{table: lock for table, lock in missed.items() if table not in locks}}
    first = {table: locks.get(table, lock) for table, lock in missed.items()}
    return first | {table: lock for table, lock in locks.items() if table not in first}


class _LockMissedError(Exception):
    """One of ``locks`` on tables was not free within ``LOCK_WITHIN``."""

    def __init__(self, words: str, locks: Mapping[str, str]) -> None:
        super().__init__(words)
        self.locks: Final = locks


@contextmanager
def _lock_missed() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if isinstance(error.orig, LockNotAvailable):
            raise _LockMissedError(words_of(error.orig), locks_of(error.statement or "")) from error
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
    if standing.stored is None:
        from service.records.installation.new_database import make_schema

        make_schema(connection)
        record_support(connection, LEAST_VERSION)
        return True
    from service.records.migrations.running import upgrade

    record_support(connection, upgrade(connection))
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
    from service.records.installation.extension_tables import migrate_extensions

    return migrate_extensions(connection, extensions)


def _with_tables(extensions: Sequence[Extension]) -> bool:
    return any(extension.migrations is not None for extension in extensions)
