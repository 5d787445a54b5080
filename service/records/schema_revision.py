"""Which revision of the schema a database has, and which one this version needs; without Alembic.

Alembic takes a fifth of a second and nine megabytes, and is needed only where something has to be migrated.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, text

from service.kernel.operator_error import OperatorError
from service.records.database.failures import out_of_reach
from service.records.database.transactions import engine
from service.records.schema import SCHEMA

_VERSIONS: Final = Path(__file__).parent / "migrations" / "versions"
_EXISTS: Final = text("SELECT to_regclass(:name) IS NOT NULL")


class SchemaError(OperatorError):
    """This version of the program can't work with the database; the message tells the operator why."""


@cache
def known_schemas() -> tuple[str, ...]:
    """Return the revisions of this version's migrations, the newest last; the names of files begin so."""
    return tuple(sorted(path.name.partition("_")[0] for path in _VERSIONS.glob("v*_*.py")))


def expected_schema() -> str:
    """Return the revision of this version's schema."""
    return known_schemas()[-1]


def stored_schema(connection: Connection, schema: str = SCHEMA) -> str | None:
    """Return the revision of the tables in ``schema``; None before the first migration."""
    table = f'"{schema}".alembic_version'
    if not connection.execute(_EXISTS, {"name": table}).scalar_one():
        return None
    return connection.execute(text(f"SELECT version_num FROM {table}")).scalar_one_or_none()  # noqa: S608 - a name of the service


def require_current(url: str) -> None:
    """Raise SchemaError unless the database at ``url`` has this version's schema; changes nothing."""
    with out_of_reach(in_words=True), engine(url).connect() as connection:
        if stored_schema(connection) != expected_schema():
            raise SchemaError("The database does not have this version's schema: start the service once")
