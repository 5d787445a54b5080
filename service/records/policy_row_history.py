"""The services, resources, Buttons, bindings and openings from which each revision of the policy was derived.

Lines tell what a revision opened, and not the names of resources and Buttons, which of them were disabled,
and to which disabled Buttons a resource was bound. Those rows are kept here, once for each time that they
change: a row was as it stands here in the revisions with ``since <= revision < until``. When a row changes
while a revision is in force, its last state counts for that revision.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.elements import TextClause

_TABLES: Final = tuple(f"{row}_history" for row in ("service", "resource", "button", "binding", "opening"))


def _record(history: str, source: str, key: tuple[str, ...], *values: str) -> TextClause:
    """Return what keeps in ``history`` how the rows of ``source`` differ from those kept last."""
    columns = ", ".join((*key, *values))
    same = " AND ".join(f"stored.{name} = kept.{name}" for name in key)
    stored = ", ".join(f"stored.{name}" for name in (*key, *values))
    kept = ", ".join(f"kept.{name}" for name in (*key, *values))
    # A full join for the same reason as in ``history``.
    return text(
        f"""
WITH changed AS MATERIALIZED (
    SELECT kept.id AS kept_id, kept.since AS kept_since, {stored}
    FROM (SELECT * FROM sys.{history} WHERE until IS NULL) kept
    FULL JOIN ({source}) stored ON {same}
    WHERE ROW({stored}) IS DISTINCT FROM ROW({kept})
),
replaced AS (
    DELETE FROM sys.{history} WHERE id IN (SELECT kept_id FROM changed WHERE kept_since = :revision)
),
ended AS (
    UPDATE sys.{history} SET until = :revision
    WHERE id IN (SELECT kept_id FROM changed WHERE kept_since < :revision)
)
INSERT INTO sys.{history} ({columns}, since)
SELECT {columns}, :revision FROM changed WHERE {key[0]} IS NOT NULL
"""  # noqa: S608 - of constants
    )


_RECORDS: Final = (
    _record(
        "resource_history",
        "SELECT id AS resource_id, * FROM sys.resource",
        ("resource_id",),
        *("resource_name", "resource_code", "method", "path", "description", "enabled", "service"),
    ),
    _record(
        "button_history",
        "SELECT id AS menu_id, * FROM sys.menu WHERE menu_type = 'Button'",
        ("menu_id",),
        *("parent_id", "title", "name", "icon", "sort", "auth_mark", "enabled"),
    ),
    _record(
        "binding_history", "SELECT resource_id, menu_id FROM sys.action_resource", ("resource_id", "menu_id")
    ),
    _record(
        "service_history",
        "SELECT id AS service_id, * FROM sys.service",
        ("service_id",),
        *("name", "description", "ignore_case", "ignore_trailing_slash", "allow_preflight"),
    ),
    _record(
        "opening_history",
        "SELECT id AS opening_id, * FROM sys.opening",
        ("opening_id",),
        *("service", "resource_id", "code"),
    ),
)


def _forget(table: str) -> str:
    # A row is in one of the two parts: a statement must not change it twice.
    return f"""
later_{table} AS (DELETE FROM sys.{table} WHERE since >= :revision),
again_{table} AS (UPDATE sys.{table} SET until = NULL WHERE since < :revision AND until >= :revision)
"""  # noqa: S608 - of constants


# One statement for all: there is almost never anything to forget.
_FORGET: Final = text(f"WITH {','.join(map(_forget, _TABLES))} SELECT")
_KEPT: Final = text(
    "UPDATE sys.policy_revision SET rows_kept = true WHERE revision = :revision AND NOT rows_kept"
)


async def record(connection: AsyncConnection, revision: int) -> None:
    """Keep the stored rows, from which ``revision`` is derived; the caller holds ``revisions.lock``."""
    for statement in (*_RECORDS, _KEPT):
        await connection.execute(statement, {"revision": revision})


async def forget_from(connection: AsyncConnection, revision: int) -> None:
    """Forget what is kept of ``revision`` and later ones, which somebody has deleted from the database."""
    await connection.execute(_FORGET, {"revision": revision})
