"""Which destinations of the export have not got all of a month of a log."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from sqlalchemy import func, select

from service.records.database.transactions import Connection
from service.records.logs.inserts import TABLES, Log
from service.records.schema import export_destination

_POSITIONS: Final = {
    "operation_log": export_destination.c.operation_id,
    "login_log": export_destination.c.login_id,
}


async def lagging(connection: Connection, log: Log, month: date) -> list[str]:
    """Return the names of the destinations that export ``log`` and lack entries of ``month``."""
    table, position = TABLES[log], _POSITIONS[log]
    begin = datetime.combine(month, time(), UTC)
    end = datetime.combine((month + timedelta(days=31)).replace(day=1), time(), UTC)
    last = (
        select(func.max(table.c.id))
        .where(table.c.create_time >= begin, table.c.create_time < end)
        .scalar_subquery()
    )
    statement = select(export_destination.c.name).where(position < last).order_by(export_destination.c.name)
    return list((await connection.execute(statement)).scalars())
