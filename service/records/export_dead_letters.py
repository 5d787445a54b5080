"""``sys.export_dead_letter``: entries that a destination refused while it took others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert

from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema import export_dead_letter
from service.settings import ExportLog


@dataclass(frozen=True, slots=True)
class NewDeadLetter:
    """An entry that was refused: ``entry`` is its JSON, as ``service.audit.export.entry`` makes it."""

    destination: str
    log: ExportLog
    event_id: UUID
    reason: str
    entry: str


@dataclass(frozen=True, slots=True)
class DeadLetter(NewDeadLetter):
    """A dead letter that is kept."""

    id: int
    dead_time: datetime


_ROW: Final = RowMapper(DeadLetter, export_dead_letter)


async def add(connection: Connection, letter: NewDeadLetter) -> None:
    """Keep a refused entry, once for each destination."""
    row = insert(export_dead_letter).values(asdict(letter))
    await connection.execute(row.on_conflict_do_nothing())


async def after(
    connection: Connection, destination: str | None, position: int, most: int
) -> list[DeadLetter]:
    """Return up to ``most`` dead letters whose id is above ``position``, by id; None: of all destinations."""
    statement = select(*_ROW.columns).where(export_dead_letter.c.id > position)
    if destination is not None:
        statement = statement.where(export_dead_letter.c.destination == destination)
    return await _ROW.all(connection, statement.order_by(export_dead_letter.c.id).limit(most))


async def delete_all(connection: Connection, ids: Collection[int]) -> None:
    """Delete these dead letters."""
    await connection.execute(delete(export_dead_letter).where(export_dead_letter.c.id.in_(ids)))


async def forget_older(connection: Connection, kept: timedelta, most: int) -> int:
    """Delete up to ``most`` dead letters older than ``kept``; return how many."""
    table = export_dead_letter
    old = select(table.c.id).where(table.c.dead_time < func.now() - kept).limit(most)
    return (await connection.execute(delete(table).where(table.c.id.in_(old)))).rowcount
