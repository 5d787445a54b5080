"""``sys.file`` before and after users see a file: pending uploads and discarded files.

The row is created before the object and deleted after it. So an object without a row is an orphan, and an
object with a row never is.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import ColumnElement, func, insert, select
from sqlalchemy import delete as delete_from
from sqlalchemy import update as change
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import QuotaExceeded
from service.records.schema import file, object_space

LEASE: Final = timedelta(minutes=10)
"""How long a pending file is kept unless its upload renews the lease."""

PENDING: Final = "pending"
STORED: Final = "stored"
DISCARDED: Final = "discarded"


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of one user: total bytes and number of files; 0 for no limit."""

    total_bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class Reservation:
    """A pending file: its id, the key of its object, and how many bytes it may have."""

    file_id: int
    key: str
    size: int


async def reserve(
    connection: AsyncConnection,
    owner_id: int,
    name: str,
    content_type: str,
    *,
    least: int,
    most: int,
    quota: Quota,
) -> Reservation:
    """Create a pending file of ``most`` bytes, or of the bytes that the owner has left, at least ``least``.

    QuotaExceeded if fewer than ``least`` are left, or no file. Reservations of one owner wait for one
    another, so that together they never exceed the quota.
    """
    await connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"file:{owner_id}", 0))))
    left = await _left(connection, owner_id, quota)
    if left is not None and left < least:
        raise QuotaExceeded("The files of this user together would be too large")
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


async def _left(connection: AsyncConnection, owner_id: int, quota: Quota) -> int | None:
    """Return the bytes that the owner may still upload, None for no limit; QuotaExceeded if no file is."""
    used = select(func.coalesce(func.sum(file.c.size), 0), func.count()).where(
        file.c.owner_id == owner_id, (file.c.state == STORED) | _under_way()
    )
    total, files = (await connection.execute(used)).one()
    if quota.files and files >= quota.files:
        raise QuotaExceeded("This user has as many files as one may have")
    return max(0, quota.total_bytes - int(total)) if quota.total_bytes else None


async def renew(connection: AsyncConnection, file_id: int) -> bool:
    """Renew the lease of a pending file; returns False if the lease has ended."""
    written = change(file).where(file.c.id == file_id, _under_way())
    return (await connection.execute(written.values(lease_time=func.now() + LEASE))).rowcount == 1


async def settle(connection: AsyncConnection, file_id: int, size: int, sha256: str) -> bool:
    """Turn a pending file whose object exists into a stored one; returns False if the lease has ended."""
    written = change(file).where(file.c.id == file_id, _under_way())
    settled = written.values(state=STORED, lease_time=None, size=size, sha256=sha256, create_time=func.now())
    return (await connection.execute(settled)).rowcount == 1


async def discard(connection: AsyncConnection, file_id: int) -> None:
    """Discard a file, whatever its state: it is invisible from the commit on."""
    gone = {"state": DISCARDED, "lease_time": None, "token_hash": None, "token_expire_time": None}
    await connection.execute(change(file).where(file.c.id == file_id).values(gone))


async def forget(connection: AsyncConnection, file_id: int) -> None:
    """Delete the row of a discarded file whose object is deleted."""
    await connection.execute(delete_from(file).where(file.c.id == file_id, file.c.state == DISCARDED))


def _under_way() -> ColumnElement[bool]:
    """Return the condition of pending files with a lease; without one they are abandoned, swept or not."""
    return (file.c.state == PENDING) & (file.c.lease_time > func.now())
