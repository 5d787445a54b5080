"""``sys.file``: stored files and their public links, pending uploads, and the input of cleanups.

The row is created before the object and deleted after it. So an object without a row is an orphan, and an
object with a row never is.
"""

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from msgspec import Meta, Struct
from sqlalchemy import ColumnElement, Select, func, insert, select, text
from sqlalchemy import delete as delete_from
from sqlalchemy import update as change

from service.errors import NotFound, QuotaExceeded
from service.features.files.sentences import sentence
from service.kernel.value_rules import ID, Id
from service.records.database.filters import contains_folded, equals
from service.records.database.paging import RecordList, sorts_of
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.of_users import file, object_space
from service.records.schema.rights import user


class File(Struct, frozen=True):
    """A stored file; ``link_expire_time`` is None if it has no public link, or an expired one.

    ``owner_id`` and ``owner_name`` are None if its owner has been deleted.
    """

    id: Id
    name: Annotated[str, Meta(examples=["report.pdf"])]
    size: Annotated[int, Meta(ge=0, description="Bytes.", examples=[48213])]
    content_type: Annotated[str, Meta(description="Detected from the content.", examples=["application/pdf"])]
    sha256: Annotated[str, Meta(description="In hexadecimal.")]
    owner_id: Annotated[int | None, Meta(description="The uploading user; null after that user is deleted.")]
    owner_name: str | None
    link_expire_time: Annotated[datetime | None, Meta(description="Null without a public link.")]
    create_time: datetime
    key: str


@dataclass(frozen=True, slots=True)
class FileFilter:
    """A filter of files: part of the name in any case, the type, the owner; None matches all."""

    name: Annotated[str | None, contains_folded(file.c.name_folded), Meta(max_length=255)] = None
    content_type: Annotated[str | None, equals(file.c.content_type), Meta(max_length=128)] = None
    owner_id: Annotated[int | None, equals(file.c.owner_id), ID] = None


SORTS: Final = sorts_of(file, "id", "name", "size", "content_type", "create_time")
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
    return _FILE.select.select_from(joined).where(file.c.state == "stored")


page = RecordList[File, FileFilter]("file", _FILE, _stored(), SORTS).page


async def read(connection: Connection, file_id: int, *, lock: bool = False) -> File:
    """Return the stored file with that id, with ``lock`` locked for update; NotFound if unknown."""
    statement = _stored().where(file.c.id == file_id)
    stored = await _FILE.one_or_none(connection, statement.with_for_update(of=file) if lock else statement)
    if stored is None:
        raise NotFound(sentence("no_such_file"))
    return stored


async def of_link(connection: Connection, token_hash: str) -> File | None:
    """Return the file whose public link has that hash and has not expired, or None."""
    live = (file.c.token_hash == token_hash) & (file.c.token_expire_time > func.now())
    return await _FILE.one_or_none(connection, _stored().where(live))


async def link(connection: Connection, file_id: int, token_hash: str, life: timedelta) -> datetime:
    """Replace the public link of a stored file; return its expiry. NotFound if the file does not exist."""
    linked = {"token_hash": token_hash, "token_expire_time": func.now() + life}
    written = change(file).where(file.c.id == file_id, file.c.state == "stored").values(linked)
    rows = await connection.execute(written.returning(file.c.token_expire_time))
    expires: datetime | None = rows.scalar_one_or_none()
    if expires is None:
        raise NotFound(sentence("no_such_file"))
    return expires


async def unlink(connection: Connection, file_id: int) -> None:
    """Remove the public link of a stored file, if it has one. NotFound if the file does not exist."""
    unlinked = {"token_hash": None, "token_expire_time": None}
    written = change(file).where(file.c.id == file_id, file.c.state == "stored").values(unlinked)
    if (await connection.execute(written)).rowcount == 0:
        raise NotFound(sentence("no_such_file"))


LEASE: Final = timedelta(minutes=10)
"""Time for which a pending file is kept unless its upload renews the lease."""

PENDING: Final = "pending"
STORED: Final = "stored"
DISCARDED: Final = "discarded"


class Quota(Struct, frozen=True):
    """The limits of one user: total bytes and number of files; 0 for no limit."""

    total_bytes: int
    files: int


class Reservation(Struct, frozen=True):
    """A pending file: its id, the key of its object, and its maximum size in bytes."""

    file_id: int
    key: str
    size: int


async def reserve(
    connection: Connection,
    owner_id: int,
    name: str,
    content_type: str,
    *,
    least: int,
    most: int,
    quota: Quota,
) -> Reservation:
    """Create a pending file of ``most`` bytes, or of the owner's remaining bytes, at least ``least``.

    Raises QuotaExceeded if fewer than ``least`` bytes, or no file, are left. Reservations of one owner wait
    for one another, so that together they never exceed the quota.
    """
    await connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"file:{owner_id}", 0))))
    left = await _left(connection, owner_id, quota)
    if left is not None and left < least:
        raise QuotaExceeded(sentence("files_too_large_together"))
    size = most if left is None else min(most, left)
    prefix = (await connection.execute(select(object_space.c.prefix))).scalar_one()
    key = f"{prefix}/{secrets.token_hex(16)}"
    written = insert(file).values(
        key=key,
        name=name,
        size=size,
        content_type=content_type,
        owner_id=owner_id,
        state=PENDING,
        lease_time=func.now() + LEASE,
    )
    file_id = (await connection.execute(written.returning(file.c.id))).scalar_one()
    return Reservation(file_id, key, size)


async def _left(connection: Connection, owner_id: int, quota: Quota) -> int | None:
    """Return the bytes that the owner may still upload; None for no limit. QuotaExceeded for no file."""
    used = select(func.coalesce(func.sum(file.c.size), 0), func.count()).where(
        file.c.owner_id == owner_id, (file.c.state == STORED) | _under_way()
    )
    total, files = (await connection.execute(used)).one()
    if quota.files and files >= quota.files:
        raise QuotaExceeded(sentence("too_many_files"))
    return max(0, quota.total_bytes - int(total)) if quota.total_bytes else None


async def renew(connection: Connection, file_id: int) -> bool:
    """Renew the lease of a pending file; returns False if the lease has ended."""
    written = change(file).where(file.c.id == file_id, _under_way())
    return (await connection.execute(written.values(lease_time=func.now() + LEASE))).rowcount == 1


async def settle(connection: Connection, file_id: int, size: int, sha256: str) -> bool:
    """Turn a pending file whose object exists into a stored one; returns False if the lease has ended."""
    written = change(file).where(file.c.id == file_id, _under_way())
    settled = written.values(state=STORED, lease_time=None, size=size, sha256=sha256, create_time=func.now())
    return (await connection.execute(settled)).rowcount == 1


async def discard(connection: Connection, file_id: int) -> None:
    """Discard a file, whatever its state: it is invisible from the commit on."""
    gone = {"state": DISCARDED, "lease_time": None, "token_hash": None, "token_expire_time": None}
    await connection.execute(change(file).where(file.c.id == file_id).values(gone))


async def forget(connection: Connection, *file_ids: int) -> None:
    """Delete the rows of discarded files whose objects are deleted."""
    await connection.execute(delete_from(file).where(file.c.id.in_(file_ids), file.c.state == DISCARDED))


async def end_leases(connection: Connection) -> None:
    """Discard the pending files whose lease has ended.

    A lease that ends later than one from now would was given while the database's clock was ahead: it ends
    when one from now does.
    """
    longest = func.now() + LEASE
    ahead = (file.c.state == PENDING) & (file.c.lease_time > longest)
    await connection.execute(change(file).where(ahead).values(lease_time=longest))
    over = (file.c.state == PENDING) & (file.c.lease_time <= func.now())
    await connection.execute(change(file).where(over).values(state=DISCARDED, lease_time=None))


def _under_way() -> ColumnElement[bool]:
    """Return the condition of pending files with a lease; without one they are abandoned, swept or not."""
    return (file.c.state == PENDING) & (file.c.lease_time > func.now())


_CLEANUP: Final = 7_295_218_113
"""The advisory lock of a cleanup; an arbitrary number."""


class Discarded(Struct, frozen=True):
    """A discarded file whose object may still exist."""

    file_id: int
    key: str


# ``keep_objects`` shares the lock of cleanups; its number is in two halves there (PostgreSQL manual §53.13).
_KEPT: Final = """
EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND objsubid = 1
    AND ((classid::bigint << 32) | objid::bigint) = :sweeping
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""

_DISCARDED: Final = RowMapper(Discarded, file, file_id=file.c.id)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Orphans:
    """One cleanup, which lasts as long as its transaction: a lost one ends it at the next question.

    That transaction locks no row before ``finish``. ``prefix`` starts the keys of all objects of this
    database.
    """

    connection: Connection
    prefix: str

    def owns(self, key: str) -> bool:
        """Return whether the object ``key`` is of this database, and not of one that it was restored from."""
        return key.startswith(f"{self.prefix}/")

    async def discarded(self, most: int) -> list[Discarded]:
        """Return up to ``most`` of all discarded files."""
        statement = _DISCARDED.select.where(file.c.state == DISCARDED)
        return await _DISCARDED.all(self.connection, statement.order_by(file.c.id).limit(most))

    async def without_file(self, keys: Collection[str]) -> set[str]:
        """Return the keys without a row."""
        known = await self.connection.execute(select(file.c.key).where(file.c.key.in_(keys)))
        return set(keys) - {row.key for row in known}

    async def finish(self) -> None:
        """Record the time of a complete cleanup."""
        await self.connection.execute(change(object_space).values(swept_time=func.now()))


async def keep_objects(connection: Connection) -> None:
    """Keep all objects until the transaction ends: no cleanup begins, and ``may_delete`` reports ``kept``.

    Waits for the end of a cleanup under way.
    """
    await connection.execute(select(func.pg_advisory_xact_lock_shared(_CLEANUP)))


class Deletion(Struct, frozen=True):
    """Flags of the object of a discarded file: it is this database's own; it must be kept for now."""

    own: bool
    kept: bool


async def may_delete(connection: Connection, key: str) -> Deletion:
    """Return whether the object ``key`` may be deleted.

    An object of another prefix belongs to the installation that this database was restored from.
    """
    own = func.starts_with(key, func.concat(object_space.c.prefix, "/"))
    asked = select(own, text(_KEPT)).select_from(object_space)
    row = (await connection.execute(asked, {"sweeping": _CLEANUP})).one()
    return Deletion(*row)


async def begin_cleanup(connection: Connection) -> Orphans | None:
    """Begin a cleanup if no other is running, else return None; none can begin until the transaction ends.

    The transaction may then be idle for as long as the cleanup takes.
    """
    await connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
    if not (await connection.execute(select(func.pg_try_advisory_xact_lock(_CLEANUP)))).scalar_one():
        return None
    prefix: str | None = (await connection.execute(select(object_space.c.prefix))).scalar_one_or_none()
    return None if prefix is None else Orphans(connection, prefix)
