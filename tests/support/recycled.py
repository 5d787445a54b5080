"""Databases used again: the rows of a template are put back into a copy of it that a test has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from service.features.embedded.stores import EmbeddedStores

_TABLES = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.oid >= 16384 AND n.nspname NOT LIKE 'pg\\_%' ORDER BY c.oid
"""
_SEQUENCES = """
SELECT format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value), last_value IS NOT NULL
FROM pg_sequences ORDER BY 1
"""
# Every row of the catalog that tells of a schema, by the transaction that wrote it; and what planners know.
_SHAPE = """
SELECT md5(string_agg(fact, ' ' ORDER BY fact)) FROM (
    SELECT concat('class ', oid, ' ', xmin) AS fact FROM pg_class WHERE oid >= 16384
    UNION ALL SELECT concat('column ', attrelid, ' ', attnum, ' ', xmin) FROM pg_attribute
        WHERE attrelid >= 16384
    UNION ALL SELECT concat('constraint ', oid, ' ', xmin) FROM pg_constraint WHERE oid >= 16384
    UNION ALL SELECT concat('trigger ', oid, ' ', xmin) FROM pg_trigger
    UNION ALL SELECT concat('function ', oid, ' ', xmin) FROM pg_proc WHERE oid >= 16384
    UNION ALL SELECT concat('schema ', oid, ' ', xmin) FROM pg_namespace
    UNION ALL SELECT concat('rule ', oid, ' ', xmin) FROM pg_rewrite WHERE oid >= 16384
    UNION ALL SELECT concat('policy ', oid, ' ', xmin) FROM pg_policy
    UNION ALL SELECT concat('setting ', setrole, ' ', setconfig) FROM pg_db_role_setting
        WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
    UNION ALL SELECT concat('statistics ', starelid, ' ', staattnum, ' ', xmin) FROM pg_statistic
        WHERE starelid >= 16384
)
"""
# Rows written, by table; of the tables of all databases only the one that belongs to the shape of one.
_WRITTEN = """
SELECT oid::regclass::text, pg_stat_get_tuples_inserted(oid) + pg_stat_get_tuples_updated(oid)
    + pg_stat_get_tuples_deleted(oid)
FROM pg_class WHERE relkind = 'r' AND (NOT relisshared OR relname = 'pg_db_role_setting')
"""
_MOST_WRITTEN = 5_000
"""Rows that may be written to a copy before its bytes are counted again, which takes longer."""
_SIZE = "SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relkind = 'r'"
_GROWTH = 4 * 1024 * 1024
"""Bytes by which the tables may have grown: beyond that, deleted rows would slow the next test down."""


@dataclass(frozen=True)
class Contents:
    """All that a database holds: the shape of its schema, its rows by table, its sequences, its bytes."""

    shape: str
    rows: dict[str, bytes]
    stamps: Stamps
    sequences: tuple[tuple[str, int, bool], ...]
    size: int


class Recycled:
    """Copies of one template that wait to be used again."""

    def __init__(self, stores: EmbeddedStores) -> None:
        self._stores = stores
        self._usual: Connection | None = None
        """One that stays open: most of the time of a short one is its start."""
        self._contents: Contents | None = None
        self._idle: list[str] = []
        self._stamps: dict[str, Stamps] = {}
        """Of each copy, when it last had the rows of the template; of a new one they are the template's."""

        self._written: dict[str, dict[str, int]] = {}
        """Of each copy, the rows that had been written to each table by then."""
        self._measured: dict[str, int] = {}
        """Of each copy, the rows that had been written in all when its bytes were last counted."""

    def take(self, name: str) -> bool:
        """Rename a copy that waits to ``name``, with the rows of the template; False when there is none."""
        while self._idle:
            if self._renamed(self._idle.pop(), name):
                return True
        return False

    def made(self, name: str) -> None:
        """Note what the first copy holds, while nobody has used it."""
        if self._contents is None:
            with self._connected(name) as connection:
                self._contents = _contents(connection)

    def give_back(self, name: str) -> None:
        """Close all connections to a copy and keep it for the next test."""
        self._administrator().execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s", [name]
        )
        self._idle.append(name)

    def drop(self) -> None:
        """Drop all copies that wait."""
        for name in self._idle:
            self._drop(name)
        self._idle.clear()
        self.close()

    def close(self) -> None:
        """Disconnect."""
        if self._usual is not None:
            self._usual.close()

    def restored(self, connection: Connection, stamps: Stamps) -> bool:
        """Put back the rows of tables that no longer have ``stamps``, and update these.

        False when more than rows has changed.
        """
        contents = self._contents
        assert contents is not None
        if not contents.rows:
            connection.execute("DROP OWNED BY portcullis CASCADE")
        if _value(connection, _SHAPE) != contents.shape:
            return False
        if _value(connection, _SIZE) > contents.size + _GROWTH:
            return False
        self._put_back(connection, stamps)
        return True

    def _put_back(self, connection: Connection, stamps: Stamps) -> None:
        contents = self._contents
        assert contents is not None
        with connection.transaction():
            put_back(connection, contents.rows, stamps)
            settings = [f"setval('{name}', {at}, {called})" for name, at, called in contents.sequences]
            if settings:
                connection.execute(f"SELECT {', '.join(settings)}".encode())

    def _restored_quickly(self, connection: Connection, stamps: Stamps, old: str) -> bool:
        """Put back the tables that were written since the last time, if nothing else was, and few rows were.

        Those who wrote have disconnected, so PostgreSQL has counted all that they did. What truncates a table
        or changes a schema writes to the catalog.
        """
        now, before = _written(connection), self._written.pop(old, {})
        written = {table for table in {*now, *before} if now.get(table) != before.get(table)}
        if not written <= {*stamps} or _sum(now, stamps) > self._measured.get(old, 0) + _MOST_WRITTEN:
            return False
        touched = {table: stamps[table] for table in written}
        self._put_back(connection, touched)
        stamps |= touched
        return True

    def _renamed(self, old: str, new: str) -> bool:
        names = sql.Identifier(old), sql.Identifier(new)
        try:
            self._administrator().execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(*names))
        except psycopg.errors.ObjectInUse:  # somebody has not heard that the test is over
            self._drop(old)
            return False
        with self._connected(new) as connection:
            assert self._contents is not None
            stamps = self._stamps.pop(old, dict(self._contents.stamps))
            quickly = self._restored_quickly(connection, stamps, old)
            if quickly or self.restored(connection, stamps):
                connection.execute("SELECT pg_stat_force_next_flush()")
                self._stamps[new], self._written[new] = stamps, _written(connection)
                measured = self._measured.pop(old, 0)
                self._measured[new] = measured if quickly else _sum(self._written[new], stamps)
                return True
        self._drop(new)
        return False

    def _drop(self, name: str) -> None:
        drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        self._administrator().execute(drop)

    def _administrator(self) -> Connection:
        if self._usual is None or self._usual.closed:
            self._usual = self._connected("postgres")
        return self._usual

    def _connected(self, name: str) -> Connection:
        return psycopg.connect(self._stores.url_of(name, administrator=True), autocommit=True)


def _contents(connection: Connection) -> Contents:
    tables = [name for (name,) in connection.execute(_TABLES)]
    sequences = connection.execute(_SEQUENCES).fetchall()
    return Contents(
        shape=_value(connection, _SHAPE),
        rows={table: rows_of(connection, table) for table in tables},
        stamps=stamps_of(connection, tables),
        sequences=tuple((name, at, called) for name, at, called in sequences),
        size=_value(connection, _SIZE),
    )


def _written(connection: Connection) -> dict[str, int]:
    return dict(connection.execute(_WRITTEN.encode()).fetchall())


def _sum(written: dict[str, int], tables: Iterable[str]) -> int:
    return sum(written.get(table, 0) for table in tables)


def _value(connection: Connection, query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


Connection = psycopg.Connection[tuple[Any, ...]]
Stamps = dict[str, tuple[int, str | None]]
"""The number of rows of each table, and what only changes when some of them are written or deleted."""

# The rows of a table by place and by the transaction that wrote them: the same only if it is untouched.
_STAMP = "SELECT '{0}', count(*), sum(hashtextextended(concat(ctid, ' ', xmin), 0))::text FROM ONLY {0}"


def rows_of(connection: Connection, table: str) -> bytes:
    """Return the rows of a table, as ``COPY`` writes them."""
    with connection.cursor().copy(f"COPY {table} TO STDOUT".encode()) as copy:
        return b"".join(bytes(piece) for piece in copy)


def stamps_of(connection: Connection, tables: Iterable[str]) -> Stamps:
    """Return the stamps of tables as they are now."""
    query = " UNION ALL ".join(_STAMP.format(table) for table in tables)
    rows = connection.execute(query.encode()).fetchall() if query else []
    return {table: (count, stamp) for table, count, stamp in rows}


def put_back(connection: Connection, rows: Mapping[str, bytes], stamps: Stamps) -> list[str]:
    """Put ``rows`` back into the tables that no longer have ``stamps``, update these, and name the tables.

    No trigger fires and no foreign key is checked, so ``rows`` must hold all that refer to one another. Only
    an administrator of the database may do this, in a transaction.
    """
    changed = [table for table, stamp in stamps_of(connection, stamps).items() if stamp != stamps[table]]
    if changed:
        deletes = "".join(f"DELETE FROM {table};" for table in changed)
        connection.execute(f"SET LOCAL session_replication_role = replica; {deletes}".encode())
        for table in changed:
            if rows[table]:
                with connection.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
                    copy.write(rows[table])
        stamps |= stamps_of(connection, changed)
    return changed
