"""``sys.timeline``: the beginning of this database, and its restores."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.database.row_mapper import RowMapper
from service.records.schema import timeline


@dataclass(frozen=True, slots=True)
class Timeline:
    """A timeline: its number from 1, its name, and when it began."""

    number: int
    name: str
    begin_time: datetime


_TIMELINE: Final = RowMapper(Timeline, timeline)


async def current(connection: AsyncConnection) -> str | None:
    """Return the name of the newest timeline; None in a database that has lost its rows."""
    newest = select(timeline.c.name).order_by(timeline.c.number.desc()).limit(1)
    return (await connection.execute(newest)).scalar_one_or_none()


async def every(connection: AsyncConnection) -> list[Timeline]:
    """Return all timelines of this database, the first one first."""
    return await _TIMELINE.all(connection, select(*_TIMELINE.columns).order_by(timeline.c.number))
