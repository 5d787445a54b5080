"""Locks on tables: those that SQL statements take, and the current holders."""

import re
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Engine, text

from service.records.database.failures import out_of_reach

EXCLUSIVE: Final = "ACCESS EXCLUSIVE"
"""The lock that makes even readers wait (PostgreSQL manual, §13.3.1)."""

# PostgreSQL manual, §13.3.1: which statement takes which lock. The strongest comes first.
_LOCKS: Final = (
    (EXCLUSIVE, r"ALTER TABLE (?:IF EXISTS )?(?:ONLY )?(\S+)"),
    (EXCLUSIVE, r"DROP TABLE (?:IF EXISTS )?(\S+)"),
    (EXCLUSIVE, r"TRUNCATE (?:TABLE )?(\S+)"),
    (EXCLUSIVE, r"LOCK TABLE (\S+) IN ACCESS EXCLUSIVE MODE"),
    ("SHARE ROW EXCLUSIVE", r"LOCK TABLE (\S+) IN SHARE ROW EXCLUSIVE MODE"),
    ("SHARE", r"LOCK TABLE (\S+) IN SHARE MODE"),
    ("ROW EXCLUSIVE", r"LOCK TABLE (\S+) IN ROW EXCLUSIVE MODE"),
    ("SHARE ROW EXCLUSIVE", r"REFERENCES (\S+)"),
    ("SHARE ROW EXCLUSIVE", r"CREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER .+? ON (\S+)"),
    ("SHARE", r"CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?(?:\S+ )?ON (?:ONLY )?(\S+)"),
    ("ROW EXCLUSIVE", r"(?:INSERT INTO|DELETE FROM) (\S+)"),
    ("ROW EXCLUSIVE", r"UPDATE (?:ONLY )?(sys\.\S+)"),
)


def locks_of(statements: str) -> dict[str, str]:
    """Return the strongest lock that SQL ``statements`` take on each table that they name."""
    line = " ".join(re.sub(r"--.*", "", statements).split())
    locks: dict[str, str] = {}
    for lock, pattern in _LOCKS:
        for match in re.finditer(pattern, line, re.IGNORECASE):
            locks.setdefault(match[1].strip("(),;"), lock)
    return locks


_HELD: Final = text("""
SELECT held.name, pid, usename, application_name, host(client_addr) AS address,
    round(extract(epoch FROM now() - xact_start)) AS seconds
FROM (
    SELECT relation::regclass::text AS name, pid FROM pg_locks
    WHERE granted AND relation IS NOT NULL AND database = (
        SELECT oid FROM pg_database WHERE datname = current_database()
    )
    GROUP BY relation, pid
) AS held JOIN pg_stat_activity USING (pid)
WHERE held.name = ANY(:tables) AND pid <> pg_backend_pid()
ORDER BY xact_start, pid
""")


def holders_of(bind: Engine, tables: Sequence[str]) -> list[str]:
    """Describe the server processes that hold locks on ``tables`` now, the longest first.

    The description has the database user, program, address and seconds, as far as the server reports them.
    Raises ``Unavailable``.
    """
    with out_of_reach(in_words=True), bind.connect() as connection:
        rows = connection.execute(_HELD, {"tables": list(tables)}).all()
    words = []
    for name, pid, user, program, address, seconds in rows:
        facts = [f"user {user}", program, address, None if seconds is None else f"for {seconds:.0f} s"]
        words.append(f"process {pid} ({', '.join(filter(None, facts))}) holds {name}")
    return words
