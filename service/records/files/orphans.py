"""What a sweep reads and writes: discarded files, uploads that were given up, keys that no file has."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import func, or_, select
from sqlalchemy import update as change
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.database.row_mapper import RowMapper
from service.records.files import uploads
from service.records.files.uploads import DISCARDED, PENDING
from service.records.schema import file, object_space

_SWEEPING: Final = 7_295_218_113
"""The advisory lock of whoever sweeps; the number means nothing."""


@dataclass(frozen=True, slots=True)
class Discarded:
    """A file that is no more, and whose object may still be there."""

    file_id: int
    key: str


_DISCARDED: Final = RowMapper(Discarded, file, file_id=file.c.id)


class Orphans:
    """One sweep, in one transaction; ``prefix`` is what the keys of this database's objects start with."""

    def __init__(self, connection: AsyncConnection, prefix: str) -> None:
        self._connection = connection
        self.prefix = prefix

    async def discarded(self, most: int) -> list[Discarded]:
        """Discard the pending files whose lease is over; return up to ``most`` of all discarded ones."""
        over = (file.c.state == PENDING) & (file.c.lease_time <= func.now())
        await self._connection.execute(change(file).where(over).values(state=DISCARDED, lease_time=None))
        found = select(*_DISCARDED.columns).where(file.c.state == DISCARDED)
        return await _DISCARDED.all(self._connection, found.order_by(file.c.id).limit(most))

    async def forget(self, file_id: int) -> None:
        """Delete the row of a discarded file, whose object is gone."""
        await uploads.forget(self._connection, file_id)

    async def without_file(self, keys: Collection[str]) -> set[str]:
        """Return those of ``keys`` that no row has."""
        known = await self._connection.execute(select(file.c.key).where(file.c.key.in_(keys)))
        return set(keys) - {row.key for row in known}

    async def finish(self) -> None:
        """Note that all has been swept."""
        await self._connection.execute(change(object_space).values(swept_time=func.now()))


async def begin_sweep(connection: AsyncConnection, every: timedelta) -> Orphans | None:
    """Begin a sweep if one is due and nobody else is at it; ``every`` is the time between two of them.

    Nobody else can begin until the transaction ends.
    """
    if not (await connection.execute(select(func.pg_try_advisory_xact_lock(_SWEEPING)))).scalar_one():
        return None
    due = or_(object_space.c.swept_time.is_(None), object_space.c.swept_time <= func.now() - every)
    found = await connection.execute(select(object_space.c.prefix).where(due))
    prefix: str | None = found.scalar_one_or_none()
    return None if prefix is None else Orphans(connection, prefix)
