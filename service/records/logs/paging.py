"""Reading a long table that is partitioned by time, page by page.

The time of a statement does not depend on the length of the log: entries are read in the order of an index,
without skipping many, and counted only up to ``MOST_COUNTED``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Generic, Protocol, TypeVar

from sqlalchemy import Column, ColumnElement, Select, Table, cast, func, literal, select, text, tuple_
from sqlalchemy.dialects.postgresql import REGCLASS
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import ValidationFailed
from service.records.database.filters import Condition, Conditions, conditions_of
from service.records.database.row_mapper import RowMapper
from service.records.logs.positions import Position

MOST_COUNTED: Final = 10_000
"""Entries are counted up to this number, and reachable by page number up to it."""

# A generic plan can't leave out partitions or use a partial index.
_PLAN_FOR_THESE_VALUES: Final = text("SET LOCAL plan_cache_mode = force_custom_plan")


class Entry(Protocol):
    """A row of a log."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def create_time(self) -> datetime:
        """When it happened."""


@dataclass(frozen=True, slots=True)
class Span:
    """The times from ``since`` (inclusive) to ``until`` (exclusive); None for no bound."""

    since: datetime | None = None
    until: datetime | None = None


E = TypeVar("E", bound=Entry)
F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class LogPage(Generic[E]):
    """A page of entries.

    ``counted`` is the number of matching entries, at most ``MOST_COUNTED + 1``, or None if they were not
    counted; ``following`` is the position of the next page, or None on the last one. ``written`` is the id up
    to which everything that was written was read, None for a page after a position.
    """

    items: tuple[E, ...]
    counted: int | None
    following: Position | None
    written: int | None = None


class Log(Generic[E, F]):
    """One log: its ``table``, the dataclass ``kind`` of its entries, and the type ``wanted`` of its filter.

    The fields of ``kind`` are columns of the table; ``computed`` has expressions in place of some of them.
    """

    def __init__(
        self, table: Table, kind: type[E], filter_kind: type[F], **computed: ColumnElement[Any]
    ) -> None:
        self.entries: Final = RowMapper(kind, table, (), **computed)
        self.filter: Final = filter_kind
        self._time: Column[Any] = table.c.create_time
        self._id: Column[Any] = table.c.id

    async def page(
        self, connection: AsyncConnection, criteria: F, *, page: int, size: int, newest_first: bool = True
    ) -> LogPage[E]:
        """Return page ``page`` (from 1); ValidationFailed for a page that needs a cursor."""
        if (offset := (page - 1) * size) >= MOST_COUNTED:
            raise ValidationFailed(("page", f"Beyond {MOST_COUNTED} entries go on with the cursor"))
        await connection.execute(_PLAN_FOR_THESE_VALUES)
        # Without a filter, nothing else says which table is counted.
        all_of_them = select(literal(1)).select_from(self._id.table).where(*conditions_of(criteria))
        one_each = all_of_them.limit(MOST_COUNTED + 1)
        counting = select(func.count()).select_from(one_each.subquery())
        counted = (await connection.execute(counting)).scalar_one()
        statement = self.statement(criteria, None, size + 1, newest_first=newest_first).offset(offset)
        listed = await self._read(connection, statement, size, counted, newest_first=newest_first)
        return replace(listed, written=await self._last(connection))

    async def written_after(
        self, connection: AsyncConnection, criteria: F, written: int, *, size: int
    ) -> LogPage[E]:
        """Return the first ``size`` entries that were written after that with the id ``written``, in order.

        An entry is written a moment after its event, and later ones may be written before it. But ids rise in
        the order in which entries become visible: a writer holds a lock until its commit (``inserts.lock``).
        So nothing is left out, and nothing comes twice. Raises ValidationFailed for an id that this log has
        not reached: the database was replaced by an older one.
        """
        await connection.execute(_PLAN_FOR_THESE_VALUES)
        statement = select(*self.entries.columns).where(*conditions_of(criteria), self._id > written)
        rows = (await connection.execute(statement.order_by(self._id).limit(size))).all()
        items = tuple(map(self.entries.of, rows))
        if len(items) == size:
            return LogPage(items, None, None, items[-1].id)
        last = await self._last(connection)
        if last < written and await self._numbered(connection) < written:
            raise ValidationFailed(("after", "The log has not come that far: read the list again"))
        return LogPage(items, None, None, max(last, written))

    async def _last(self, connection: AsyncConnection) -> int:
        last_id: int | None = (await connection.execute(select(func.max(self._id)))).scalar_one()
        return last_id or 0

    async def _numbered(self, connection: AsyncConnection) -> int:
        """Return the last id that was given out; entries may have been dropped since."""
        table = self._id.table
        sequence = func.pg_get_serial_sequence(str(table), self._id.name)
        rows = await connection.execute(select(func.pg_sequence_last_value(cast(sequence, REGCLASS))))
        return rows.scalar_one() or 0

    async def after(
        self,
        connection: AsyncConnection,
        criteria: F,
        position: Position | None,
        *,
        size: int,
        newest_first: bool = True,
    ) -> LogPage[E]:
        """Return ``size`` entries after ``position``, or the first ones if it is None."""
        await connection.execute(_PLAN_FOR_THESE_VALUES)
        statement = self.statement(criteria, position, size + 1, newest_first=newest_first)
        return await self._read(connection, statement, size, None, newest_first=newest_first)

    def statement(
        self, criteria: F, position: Position | None, limit: int, *, newest_first: bool
    ) -> Select[*tuple[Any, ...]]:
        """Return the query for ``limit`` entries after ``position``."""
        order = [column.desc() if newest_first else column.asc() for column in (self._time, self._id)]
        beyond = () if position is None else self._beyond(position)
        return (
            select(*self.entries.columns)
            .where(*conditions_of(criteria), *beyond)
            .order_by(*order)
            .limit(limit)
        )

    def _beyond(self, position: Position) -> Conditions:
        row = tuple_(self._time, self._id)
        at = literal(position.create_time, self._time.type)
        place = tuple_(at, literal(position.id, self._id.type))
        # The first condition follows from the second, but only the first one excludes partitions.
        if position.newest_first:
            return self._time <= at, row < place
        return self._time >= at, row > place

    async def _read(
        self,
        connection: AsyncConnection,
        statement: Select[*tuple[Any, ...]],
        size: int,
        counted: int | None,
        *,
        newest_first: bool,
    ) -> LogPage[E]:
        rows = (await connection.execute(statement)).all()
        items = tuple(map(self.entries.of, rows[:size]))
        last = items[-1] if len(rows) > size else None
        following = None if last is None else Position(last.create_time, last.id, newest_first)
        return LogPage(items, counted, following)


def within(column: ColumnElement[Any]) -> Condition:
    """Require that ``column`` lies in a ``Span``."""
    return Condition(lambda span: _within(column, span))


def _within(column: ColumnElement[Any], span: Span) -> Conditions:
    since = () if span.since is None else (column >= span.since,)
    until = () if span.until is None else (column < span.until,)
    return *since, *until
