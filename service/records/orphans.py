"""The queries of a cleanup: discarded files, abandoned uploads, keys without a file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, select, text
from sqlalchemy import update as change
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records import uploads
from service.records.database.row_mapper import RowMapper
from service.records.schema import file, object_space
from service.records.uploads import DISCARDED, PENDING

_CLEANUP: Final = 7_295_218_113
"""The advisory lock of a cleanup; an arbitrary number."""


@dataclass(frozen=True, slots=True)
class Discarded:
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


class Orphans:
    """One cleanup, in one transaction; ``prefix`` starts the keys of all objects of this database."""

    def __init__(self, connection: AsyncConnection, prefix: str) -> None:
        self._connection = connection
        self.prefix = prefix

    def owns(self, key: str) -> bool:
        """Return whether the object ``key`` is of this database, and not of one that it was restored from."""
        return key.startswith(f"{self.prefix}/")

    async def discarded(self, most: int) -> list[Discarded]:
        """Discard the pending files whose lease has ended; return up to ``most`` of all discarded files.

        A lease that ends later than one from now would was given while the database's clock was ahead: it
        ends when one from now does.
        """
        longest = func.now() + uploads.LEASE
        ahead = (file.c.state == PENDING) & (file.c.lease_time > longest)
        await self._connection.execute(change(file).where(ahead).values(lease_time=longest))
        over = (file.c.state == PENDING) & (file.c.lease_time <= func.now())
        await self._connection.execute(change(file).where(over).values(state=DISCARDED, lease_time=None))
        statement = select(*_DISCARDED.columns).where(file.c.state == DISCARDED)
        return await _DISCARDED.all(self._connection, statement.order_by(file.c.id).limit(most))

    async def forget(self, file_id: int) -> None:
        """Delete the row of a discarded file whose object is deleted."""
        await uploads.forget(self._connection, file_id)

    async def without_file(self, keys: Collection[str]) -> set[str]:
        """Return the keys for which there is no row."""
        known = await self._connection.execute(select(file.c.key).where(file.c.key.in_(keys)))
        return set(keys) - {row.key for row in known}

    async def finish(self) -> None:
        """Record the time of a complete cleanup."""
        await self._connection.execute(change(object_space).values(swept_time=func.now()))


async def keep_objects(connection: AsyncConnection) -> None:
    """Keep all objects until the transaction ends: no cleanup begins, and ``may_delete`` says no.

    Waits for the end of a cleanup under way.
    """
    await connection.execute(select(func.pg_advisory_xact_lock_shared(_CLEANUP)))


@dataclass(frozen=True, slots=True)
class Deletion:
    """Whether the object of a discarded file is this database's own, and whether it must be kept for now."""

    own: bool
    kept: bool


async def may_delete(connection: AsyncConnection, key: str) -> Deletion:
    """Return whether the object ``key`` may be deleted.

    An object of another prefix belongs to the installation that this database was restored from.
    """
    own = func.starts_with(key, func.concat(object_space.c.prefix, "/"))
    asked = select(own, text(_KEPT)).select_from(object_space)
    row = (await connection.execute(asked, {"sweeping": _CLEANUP})).one()
    return Deletion(*row)


async def begin_cleanup(connection: AsyncConnection) -> Orphans | None:
    """Begin a cleanup if no other is running, else return None; none can begin until the transaction ends."""
    if not (await connection.execute(select(func.pg_try_advisory_xact_lock(_CLEANUP)))).scalar_one():
        return None
    prefix: str | None = (await connection.execute(select(object_space.c.prefix))).scalar_one_or_none()
    return None if prefix is None else Orphans(connection, prefix)
