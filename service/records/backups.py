"""``sys.backup``: the backups that ``portcullis backup`` has made of this database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.database.row_mapper import RowMapper
from service.records.schema import backup
from service.records.user_overview import oldest_user

_KEPT: Final = 20
"""How many backups are remembered, the newest ones."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A complete backup, by the id in its manifest; ``snapshot_time`` is the moment that it holds."""

    id: str
    make_time: datetime
    snapshot_time: datetime
    user_name: str
    with_files: bool


_BACKUP: Final = RowMapper(Backup, backup)


@dataclass(frozen=True, slots=True)
class Standing:
    """The moment that the newest backup holds, and the seconds since the next one was due; 0: none is."""

    snapshot_time: datetime | None
    overdue: float


async def note(
    connection: AsyncConnection, name: str, snapshot_time: datetime, user_name: str, *, with_files: bool
) -> None:
    """Remember that the backup ``name`` is complete."""
    values = {"id": name, "snapshot_time": snapshot_time, "user_name": user_name, "with_files": with_files}
    await connection.execute(insert(backup).values(values))
    newest = select(backup.c.id).order_by(backup.c.make_time.desc()).limit(_KEPT)
    await connection.execute(delete(backup).where(backup.c.id.not_in(newest)))


async def latest(connection: AsyncConnection) -> Backup | None:
    """Return the newest backup, None if none is known."""
    statement = select(*_BACKUP.columns).order_by(backup.c.make_time.desc()).limit(1)
    backups = await _BACKUP.all(connection, statement)
    return backups[0] if backups else None


async def standing(connection: AsyncConnection, days: int) -> Standing:
    """Return how backups stand when each may be ``days`` old, 0: of any age.

    The first one is due that many days after the first user was created.
    """
    last = await latest(connection)
    moment = None if last is None else last.snapshot_time
    since = moment or await oldest_user(connection)
    if not days or since is None:
        return Standing(moment, 0.0)
    overdue = datetime.now(UTC) - since - timedelta(days=days)
    return Standing(moment, max(0.0, overdue.total_seconds()))
