"""``sys.file`` as users see it: stored files and their public links."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from msgspec import Meta
from sqlalchemy import Select, func, select
from sqlalchemy import update as change
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import NotFound
from service.kernel.value_rules import ID
from service.records.database.filters import contains, equals
from service.records.database.paging import RecordList
from service.records.database.row_mapper import RowMapper
from service.records.schema import file, user


@dataclass(frozen=True, slots=True)
class File:
    """A stored file; ``link_expire_time`` is None if it has no public link, or an expired one.

    ``owner_id`` and ``owner_name`` are None if its owner has been deleted.
    """

    id: int
    name: str
    size: int
    content_type: str
    sha256: str
    owner_id: int | None
    owner_name: str | None
    link_expire_time: datetime | None
    create_time: datetime
    key: str


@dataclass(frozen=True, slots=True)
class FileFilter:
    """A filter of files: part of the name in any case, the type, the owner; None matches all."""

    name: Annotated[str | None, contains(func.lower(file.c.name), str.lower), Meta(max_length=255)] = None
    content_type: Annotated[str | None, equals(file.c.content_type), Meta(max_length=128)] = None
    owner_id: Annotated[int | None, equals(file.c.owner_id), ID] = None


SORTS: Final = {
    "id": file.c.id,
    "name": file.c.name,
    "size": file.c.size,
    "contentType": file.c.content_type,
    "createTime": file.c.create_time,
}
"""The columns by which a list of files can be sorted."""

_FILE: Final = RowMapper(
    File,
    file,
    owner_name=user.c.user_name,
    # An expired link counts as none.
    link_expire_time=func.nullif(func.greatest(file.c.token_expire_time, func.now()), func.now()),
)


def _stored() -> Select[*tuple[Any, ...]]:
    joined = file.outerjoin(user, user.c.id == file.c.owner_id)
    return select(*_FILE.columns).select_from(joined).where(file.c.state == "stored")


page = RecordList[File, FileFilter]("file", _FILE, _stored(), SORTS).page


async def read(connection: AsyncConnection, file_id: int, *, lock: bool = False) -> File:
    """Return the stored file with that id, with ``lock`` locked for update; NotFound if there is none."""
    statement = _stored().where(file.c.id == file_id)
    stored = await _FILE.one_or_none(connection, statement.with_for_update(of=file) if lock else statement)
    if stored is None:
        raise NotFound("There is no such file")
    return stored


async def of_link(connection: AsyncConnection, token_hash: str) -> File | None:
    """Return the file whose public link has that hash and has not expired, or None."""
    live = (file.c.token_hash == token_hash) & (file.c.token_expire_time > func.now())
    return await _FILE.one_or_none(connection, _stored().where(live))


async def link(connection: AsyncConnection, file_id: int, token_hash: str, life: timedelta) -> datetime:
    """Replace the public link of a stored file; return when it expires. NotFound if there is no such file."""
    linked = {"token_hash": token_hash, "token_expire_time": func.now() + life}
    written = change(file).where(file.c.id == file_id, file.c.state == "stored").values(linked)
    rows = await connection.execute(written.returning(file.c.token_expire_time))
    expires: datetime | None = rows.scalar_one_or_none()
    if expires is None:
        raise NotFound("There is no such file")
    return expires


async def unlink(connection: AsyncConnection, file_id: int) -> None:
    """Remove the public link of a stored file, if it has one. NotFound if there is no such file."""
    unlinked = {"token_hash": None, "token_expire_time": None}
    written = change(file).where(file.c.id == file_id, file.c.state == "stored").values(unlinked)
    if (await connection.execute(written)).rowcount == 0:
        raise NotFound("There is no such file")
