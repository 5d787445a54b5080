"""The rows of tables, kept to be put back: only tables that were written meanwhile are touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import psycopg

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
