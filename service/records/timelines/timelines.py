"""``sys.timeline``: the beginning of this database, and its restores."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.schema import timeline


async def current(connection: AsyncConnection) -> str | None:
    """Return the name of the newest timeline; None in a database that has lost its rows."""
    newest = select(timeline.c.name).order_by(timeline.c.number.desc()).limit(1)
    return (await connection.execute(newest)).scalar_one_or_none()
