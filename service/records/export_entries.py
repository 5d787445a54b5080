"""Entries of the logs after a position, in the order in which they were committed.

The ids of a log rise in that order: who writes to it holds a lock until the commit (``inserts.lock`` and
``export_decisions.add``), and an id is drawn under that lock. So no entry becomes visible below one that
was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Select, Table, Text, cast, exists, func, select
from sqlalchemy.dialects.postgresql import INET, JSONB

from service.records.database.transactions import Connection
from service.records.schema import export_dead_letter, export_decision, login_log, operation_log
from service.settings import ExportLog

_TABLES: Final[dict[ExportLog, Table]] = {
    "operations": operation_log,
    "logins": login_log,
    "decisions": export_decision,
}


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry of a log: ``columns`` are all others, by name, JSON as ``msgspec.Raw``; None is left out."""

    id: int
    event_id: UUID
    create_time: datetime
    columns: Mapping[str, Any]


async def after(connection: Connection, log: ExportLog, position: int, most: int) -> list[StoredEntry]:
    """Return up to ``most`` entries of ``log`` whose id is above ``position``, by id."""
    return [_entry(dict(row._mapping)) for row in await connection.execute(_statement(log, position, most))]  # noqa: SLF001 - SQLAlchemy's public name


async def last_taken(
    connection: Connection, log: ExportLog, position: int, destination: str
) -> StoredEntry | None:
    """Return the last entry of ``log`` up to ``position`` that is no dead letter of ``destination``, or None.

    Events of the decision log are deleted once they were sent: there is none of them.
    """
    table, letters = _TABLES[log], export_dead_letter.c
    is_dead = exists().where(letters.destination == destination, letters.event_id == table.c.event_id)
    chosen = select(*map(_readable, table.columns)).where(table.c.id <= position, ~is_dead)
    row = (await connection.execute(chosen.order_by(table.c.id.desc()).limit(1))).first()
    return None if row is None else _entry(dict(row._mapping))  # noqa: SLF001 - as above


async def last(connection: Connection, log: ExportLog) -> int:
    """Return the id of the entry of ``log`` that was committed last; 0 if there is none."""
    column = _TABLES[log].c.id
    last_id: int = (await connection.execute(select(func.coalesce(func.max(column), 0)))).scalar_one()
    return last_id


def _statement(log: ExportLog, position: int, most: int) -> Select[*tuple[Any, ...]]:
    table = _TABLES[log]
    chosen = select(*map(_readable, table.columns)).where(table.c.id > position)
    return chosen.order_by(table.c.id).limit(most)


def _readable(column: ColumnElement[Any]) -> ColumnElement[Any]:
    if isinstance(column.type, INET):
        return func.host(column).label(column.key)
    return cast(column, Text).label(column.key) if isinstance(column.type, JSONB) else column


def _entry(row: dict[str, Any]) -> StoredEntry:
    entry_id, event_id, create_time = (row.pop(name) for name in ("id", "event_id", "create_time"))
    columns = {name: value for name, value in row.items() if value is not None}
    for name in _JSON & columns.keys():
        columns[name] = msgspec.Raw(columns[name].encode())
    return StoredEntry(entry_id, event_id, create_time, columns)


_JSON: Final = {
    column.name for table in _TABLES.values() for column in table.columns if isinstance(column.type, JSONB)
}
