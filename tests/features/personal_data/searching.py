"""A person with distinctive values, in every table of the schema, and a search of all columns for them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, INET, JSONB

from service.features.personal_data.inventory import inventory
from service.kernel.personal import Kept
from service.records.schema.all_tables import metadata

NUMBER: Final = 4711
OTHER: Final = 4712
NAME: Final = "qivory-näslund"
NICK: Final = "Qivory Näslund"
EMAIL: Final = "Q.Naslund+x@zyxmail.example"
PHONE: Final = "+46 8 555 0199"
ADDRESS: Final = "198.51.100.77"
AGENT: Final = "Zyxbrowser/7 (Qos)"
VALUES: Final = (NAME, NICK, EMAIL, PHONE)
EVERY: Final = (*VALUES, ADDRESS, AGENT)
SENTENCE: Final = f'line\n{NAME}: "{NICK}" wrote from {EMAIL.upper()}, calls {PHONE}.'
"""Has each value in a text: after a line feed, in quotes, and in another case."""

ENDED: Final[dict[str, dict[str, Any]]] = {
    "access_request": {"state": "approved"},
    "review": {"state": "closed"},
    "review_item": {"outcome": "kept"},
}
"""Values by which triggers keep a row as it is."""


@dataclass
class Search:
    """All columns of all tables, as text."""

    connection: psycopg.Connection
    values: tuple[str, ...] = EVERY

    def columns(self) -> set[tuple[str, str]]:
        """Return the columns, with their tables, that have one of the values."""
        # As written in JSON and in the escapes of bytes too.
        forms = {form for value in self.values for form in (value, json.dumps(value)[1:-1], _escaped(value))}
        pattern = "|".join(map(re.escape, sorted(forms)))
        holding: set[tuple[str, str]] = set()
        for table in metadata.sorted_tables:
            asked = ", ".join(f"bool_or({_text_of(column)} ~* %s)" for column in table.columns)
            statement = f'SELECT {asked} FROM sys."{table.name}"'
            row = self.connection.execute(statement.encode(), [pattern] * len(table.columns)).fetchone()
            names = zip(table.columns.keys(), row or (), strict=True)
            holding |= {(table.name, name) for name, has in names if has}
        return holding


def _text_of(column: sa.Column[Any]) -> str:
    if isinstance(column.type, sa.LargeBinary):
        return f"encode(\"{column.name}\", 'escape')"
    return f'"{column.name}"::text'


def _escaped(value: str) -> str:
    return "".join(chr(byte) if byte < 128 else f"\\{byte:o}" for byte in value.encode())


def fill(connection: psycopg.Connection) -> None:
    """Write rows that hold the person to every table of the inventory, past constraints and triggers.

    Rows that are deleted with their account are those of another user. As superuser, on a database of the
    test's own.
    """
    connection.execute("SET session_replication_role = replica")
    checks = connection.execute(
        "SELECT conrelid::regclass::text, quote_ident(conname) FROM pg_constraint"
        " WHERE contype = 'c' AND connamespace = 'sys'::regnamespace AND conislocal"
    ).fetchall()
    for table, name in checks:
        connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}".encode())
    for kept in inventory():
        if kept.table not in ("operation_log", "login_log", "erasure", "user"):
            _insert(connection, kept)
    connection.execute("SET session_replication_role = origin")


def _insert(connection: psycopg.Connection, kept: Kept) -> None:
    table = metadata.tables[f"sys.{kept.table}"]
    kinds = kept.columns
    values = {**ENDED.get(kept.table, {})}
    for column in table.columns:
        kind = kinds.get(column.name)
        if column.computed is not None or column.name in values:
            continue
        if column.name == kept.owner:
            values[column.name] = OTHER if kept.rows == "account" else NUMBER
        elif kind == "names":
            values[column.name] = NAME
        elif kind in ("texts", "sealed"):
            values[column.name] = _text(column)
        elif not column.nullable and column.server_default is None and column.identity is None:
            values[column.name] = _any(column)
    names = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join(["%s"] * len(values))
    statement = f'INSERT INTO sys."{table.name}" ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING'
    connection.execute(statement.encode(), [*values.values()])


def _text(column: sa.Column[Any]) -> Any:
    entry = {"userId": NUMBER, "userName": NAME, "clientIp": ADDRESS, "userAgent": AGENT, "note": SENTENCE}
    entry["targets"] = [f"user:{NAME}"]
    if isinstance(column.type, JSONB):
        return json.dumps({"facts": [entry | {"clientIp": "", "userAgent": ""}], NAME: 1e22})
    if column.name in ("entry", "event"):
        return json.dumps({"entry": entry}, ensure_ascii=False)
    return SENTENCE


def _any(column: sa.Column[Any]) -> Any:  # noqa: PLR0911 - one for each type
    kind = column.type
    if isinstance(kind, ARRAY):
        return []
    if isinstance(kind, JSONB):
        return "{}"
    if isinstance(kind, INET):
        return "192.0.2.1"
    if isinstance(kind, sa.LargeBinary):
        return b"\x01" * 32
    if isinstance(kind, sa.DateTime | sa.Date):
        return "2026-11-01"
    if isinstance(kind, sa.Boolean):
        return False
    if isinstance(kind, sa.Uuid):
        return "00000000-0000-4000-8000-000000000001"
    if isinstance(kind, sa.Integer | sa.Numeric):
        return OTHER
    return f"plain {column.name}"
