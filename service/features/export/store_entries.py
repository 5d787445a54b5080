"""Entries of the logs after a position, in order of commit.

Ids rise in order of commit: writers hold a lock until the commit (``inserts.lock`` and ``add_decisions``),
and draw ids under that lock. An entry thus never becomes visible below an entry that was read. The module
also reads waiting events of the decision log, and refused entries.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Select, Table, Text, cast, delete, exists, func, select, text
from sqlalchemy.dialects.postgresql import INET, JSONB, insert

from service.features.export.schema import (
    DeadLetter,
    NewDeadLetter,
    export_dead_letter,
    export_decision,
    export_destination,
)
from service.kernel.fields import values_of
from service.records.database.portions import delete_some
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema import logs
from service.records.schema.base import SCHEMA
from service.settings import ExportLog

_TABLES: Final[dict[ExportLog, Table]] = {
    "operations": logs.operation_log,
    "logins": logs.login_log,
    "decisions": export_decision,
}


class StoredEntry(Struct, frozen=True):
    """An entry of a log: ``columns`` are the other columns, JSON as ``msgspec.Raw``; None is omitted."""

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

    Events of the decision log are deleted after sending, so there is none.
    """
    table, letters = _TABLES[log], export_dead_letter.c
    is_dead = exists().where(letters.destination == destination, letters.event_id == table.c.event_id)
    chosen = select(*map(_readable, table.columns)).where(table.c.id <= position, ~is_dead)
    row = (await connection.execute(chosen.order_by(table.c.id.desc()).limit(1))).first()
    return None if row is None else _entry(dict(row._mapping))  # noqa: SLF001 - a public name


async def last(connection: Connection, log: ExportLog) -> int:
    """Return the id of the last committed entry of ``log``; 0 without one."""
    column = _TABLES[log].c.id
    return int((await connection.execute(select(func.coalesce(func.max(column), 0)))).scalar_one())


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


_LOCK: Final = 0x657870_646563  # the same number for all workers of all nodes
_SILENCE: Final = "10s"
_INSERTION: Final = text(
    f"INSERT INTO {SCHEMA}.export_decision (event_id, event)"  # noqa: S608 - internal names only
    " SELECT event_id, event FROM json_to_recordset(CAST(:rows AS json)) AS given (event_id UUID, event TEXT)"
)


async def add_decisions(connection: Connection, events: Sequence[tuple[UUID, str]], most: int) -> bool:
    """Add ``events`` in order, without those of other workers in between; return false if ``most`` wait.

    The number of waiting events is derived from their ids. The server ends the transaction of a worker that
    stays silent.
    """
    bounded = func.set_config("idle_in_transaction_session_timeout", _SILENCE, True)
    await connection.execute(select(bounded, func.pg_advisory_xact_lock(_LOCK)))
    ids = export_decision.c.id
    waiting: int = (
        await connection.execute(select(func.coalesce(func.max(ids) - func.min(ids) + 1, 0)))
    ).scalar_one()
    if waiting + len(events) > most:
        return False
    rows = [{"event_id": str(event_id), "event": event} for event_id, event in events]
    await connection.execute(_INSERTION, {"rows": json.dumps(rows)})
    return True


async def forget_sent_decisions(connection: Connection) -> int:
    """Delete the events that all exporting destinations have, or all without one; return their number."""
    sent = select(func.min(export_destination.c.decision_id)).scalar_subquery()
    done = delete(export_decision).where(export_decision.c.id <= func.coalesce(sent, 2**63 - 1))
    return (await connection.execute(done)).rowcount


_ROW: Final = RowMapper(DeadLetter, export_dead_letter)


async def add_dead_letter(connection: Connection, letter: NewDeadLetter) -> None:
    """Store a refused entry, once per destination."""
    row = insert(export_dead_letter).values(values_of(letter))
    await connection.execute(row.on_conflict_do_nothing())


async def dead_letters_after(
    connection: Connection, destination: str | None, position: int, most: int
) -> list[DeadLetter]:
    """Return up to ``most`` dead letters of one or all destinations with an id above ``position``, by id."""
    statement = _ROW.select.where(export_dead_letter.c.id > position)
    if destination is not None:
        statement = statement.where(export_dead_letter.c.destination == destination)
    return await _ROW.all(connection, statement.order_by(export_dead_letter.c.id).limit(most))


async def delete_dead_letters(connection: Connection, ids: Collection[int]) -> None:
    await connection.execute(delete(export_dead_letter).where(export_dead_letter.c.id.in_(ids)))


async def forget_dead_letters(connection: Connection, kept: timedelta, most: int) -> int:
    """Delete up to ``most`` dead letters older than ``kept``; return their number."""
    old = export_dead_letter.c.dead_time < func.now() - kept
    return await delete_some(connection, export_dead_letter, old, most)
