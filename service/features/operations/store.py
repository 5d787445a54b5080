"""``sys.backup``: the backups of this database, and the data that a backup records about it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct
from sqlalchemy import column, delete, func, insert, select, table, text

from service.features.operations.schema import Backup, backup
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.base import SCHEMA
from service.records.schema.of_users import file, object_space
from service.records.user_overview import oldest_user

_KEPT: Final = 20
"""The number of remembered backups, the newest first."""


_BACKUP: Final = RowMapper(Backup, backup)


class Standing(Struct, frozen=True):
    """The data time of the newest backup, and by how many seconds the next one is overdue, or 0."""

    snapshot_time: datetime | None
    overdue: float


async def note(
    connection: Connection, name: str, snapshot_time: datetime, user_name: str, *, with_files: bool
) -> None:
    """Record the complete backup ``name``."""
    values = {"id": name, "snapshot_time": snapshot_time, "user_name": user_name, "with_files": with_files}
    await connection.execute(insert(backup).values(values))
    newest = select(backup.c.id).order_by(backup.c.make_time.desc()).limit(_KEPT)
    await connection.execute(delete(backup).where(backup.c.id.not_in(newest)))


async def latest(connection: Connection) -> Backup | None:
    """Return the newest backup, None if none is known."""
    statement = _BACKUP.select.order_by(backup.c.make_time.desc()).limit(1)
    backups = await _BACKUP.all(connection, statement)
    return backups[0] if backups else None


async def standing(connection: Connection, days: int) -> Standing:
    """Return whether a backup is overdue; each may be ``days`` old, 0 for no limit.

    The first backup is due that many days after the first user was created.
    """
    last = await latest(connection)
    moment = None if last is None else last.snapshot_time
    since = moment or await oldest_user(connection)
    if not days or since is None:
        return Standing(moment, 0.0)
    overdue = datetime.now(UTC) - since - timedelta(days=days)
    return Standing(moment, max(0.0, overdue.total_seconds()))


_AT_ONCE: Final = 1000  # rows fetched at a time


class StoredObject(Struct, frozen=True):
    """The content of a stored file: its key in the object store, and its expected size and digest."""

    key: str
    size: int
    sha256: str


class Snapshot(Struct, frozen=True):
    """A snapshot: its name for pg_dump, its time, and the version of server and schema."""

    name: str
    time: datetime
    server: int
    schema: str
    prefix: str


_VERSION: Final = table("alembic_version", column("version_num"), schema=SCHEMA)
_OBJECT: Final = RowMapper(StoredObject, file)


async def export_snapshot(connection: Connection) -> Snapshot:
    """Export the snapshot of ``connection``: others can use it until the transaction ends.

    PostgreSQL manual §9.28.5.
    """
    columns = (
        func.pg_export_snapshot(),
        func.now(),
        text("current_setting('server_version_num')::int"),
        select(_VERSION).scalar_subquery(),
        select(object_space.c.prefix).scalar_subquery(),
    )
    return Snapshot(*(await connection.execute(select(*columns))).one())


async def stored_objects(connection: Connection) -> AsyncIterator[StoredObject]:
    """Yield the contents of all stored files, by id, with a few rows at a time in memory."""
    statement = _OBJECT.select.where(file.c.state == "stored").order_by(file.c.id)
    async with connection.stream(statement.execution_options(yield_per=_AT_ONCE)) as rows:
        async for row in rows:
            yield _OBJECT.of(row)
