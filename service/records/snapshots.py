"""What a backup says about the database, read in the snapshot that pg_dump uses too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import column, func, select, table, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.database.row_mapper import RowMapper
from service.records.schema import SCHEMA, file, object_space

_AT_ONCE: Final = 1000  # rows fetched at a time


@dataclass(frozen=True, slots=True)
class StoredObject:
    """The content of a stored file: where it is in the object store, and what it must be."""

    key: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot: its name for pg_dump, its time, and the version of server and schema."""

    name: str
    time: datetime
    server: int
    schema: str
    prefix: str


_VERSION: Final = table("alembic_version", column("version_num"), schema=SCHEMA)
_OBJECT: Final = RowMapper(StoredObject, file)


async def export(connection: AsyncConnection) -> Snapshot:
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


async def objects(connection: AsyncConnection) -> AsyncIterator[StoredObject]:
    """Yield the contents of all stored files, by id; a few rows at a time are in memory."""
    statement = select(*_OBJECT.columns).where(file.c.state == "stored").order_by(file.c.id)
    async for row in await connection.stream(statement.execution_options(yield_per=_AT_ONCE)):
        yield _OBJECT.of(row)
