"""Reading a long table that is partitioned by time, page by page.

The time of a statement does not depend on the length of the log: entries are read in the order of an index,
without skipping many, and counted only up to ``MOST_COUNTED``.
"""

import asyncio
import base64
import binascii
import struct
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, Protocol, TypeVar

from sqlalchemy import Column, ColumnElement, Select, Table, cast, func, literal, select, text, tuple_
from sqlalchemy.dialects.postgresql import REGCLASS

from service.errors import Unavailable, ValidationFailed
from service.features.log_reading.sentences import sentence
from service.records.database.filters import Condition, Conditions, conditions_of
from service.records.database.replica import Snapshots
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection

_FORM: Final = struct.Struct(">?qq")  # newest first; microseconds since the epoch; id
_WRITTEN: Final = struct.Struct(">Bq")  # a letter; id
_FOLLOWING: Final = ord("f")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LONGEST_ID: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Position:
    """The position right after the entry with that time and id, in the given order."""

    create_time: datetime
    id: int
    newest_first: bool

    @property
    def cursor(self) -> str:
        """The position as URL-safe text. It is not secret and grants nothing."""
        microseconds = (self.create_time - _EPOCH) // _MICROSECOND
        packed = _FORM.pack(self.newest_first, microseconds, self.id)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def position_of(cursor: str, *, newest_first: bool) -> Position:
    """Return the position that ``cursor`` encodes.

    ValidationFailed for a text that is no cursor, and for a cursor of the other order.
    """
    try:
        order, microseconds, entry_id = _FORM.unpack(base64.urlsafe_b64decode(f"{cursor}="))
        position = Position(_EPOCH + timedelta(microseconds=microseconds), entry_id, order)
    except (binascii.Error, struct.error, ValueError, OverflowError):
        raise _refused() from None
    # Only one text per position: base64 decoding ignores some characters.
    if position.cursor != cursor or not 1 <= entry_id <= _LONGEST_ID:
        raise _refused()
    if order != newest_first:
        raise ValidationFailed(("cursor", sentence("cursor_of_other_order")))
    return position


def follow_cursor(written: int) -> str:
    """Return the cursor after which the entries come that were written after that with the id ``written``."""
    return base64.urlsafe_b64encode(_WRITTEN.pack(_FOLLOWING, written)).decode()


def written_of(cursor: str) -> int:
    """Return the id that ``follow_cursor`` was given. Raises ValidationFailed for any other text."""
    try:
        _, written = _WRITTEN.unpack(base64.urlsafe_b64decode(cursor))
    except (binascii.Error, struct.error, ValueError):
        raise _refused("after") from None
    if written < 0 or follow_cursor(written) != cursor:
        raise _refused("after")
    return int(written)


def _refused(field: str = "cursor") -> ValidationFailed:
    return ValidationFailed((field, sentence("cursor_unknown")))


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
        """Time of the event."""


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
        self, connection: Connection, criteria: F, *, page: int, size: int, newest_first: bool = True
    ) -> LogPage[E]:
        """Return page ``page`` (from 1); ValidationFailed for a page that needs a cursor."""
        if (offset := (page - 1) * size) >= MOST_COUNTED:
            raise ValidationFailed(("page", sentence("page_too_far", most=MOST_COUNTED)))
        await connection.execute(_PLAN_FOR_THESE_VALUES)
        # Without a filter, nothing else names the counted table.
        all_of_them = select(literal(1)).select_from(self._id.table).where(*conditions_of(criteria))
        one_each = all_of_them.limit(MOST_COUNTED + 1)
        counting = select(func.count()).select_from(one_each.subquery())
        counted = (await connection.execute(counting)).scalar_one()
        statement = self.statement(criteria, None, size + 1, newest_first=newest_first).offset(offset)
        listed = await self._read(connection, statement, size, counted, newest_first=newest_first)
        return replace(listed, written=await self._last(connection))

    async def written_after(
        self, connection: Connection, criteria: F, written: int, *, size: int
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
            raise ValidationFailed(("after", sentence("after_end_of_log")))
        return LogPage(items, None, None, max(last, written))

    async def _last(self, connection: Connection) -> int:
        last_id: int | None = (await connection.execute(select(func.max(self._id)))).scalar_one()
        return last_id or 0

    async def _numbered(self, connection: Connection) -> int:
        """Return the last id that was given out; entries may have been dropped since."""
        table = self._id.table
        sequence = func.pg_get_serial_sequence(str(table), self._id.name)
        rows = await connection.execute(select(func.pg_sequence_last_value(cast(sequence, REGCLASS))))
        return rows.scalar_one() or 0

    async def after(
        self,
        connection: Connection,
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
        connection: Connection,
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


BATCH: Final = 500
"""Entries per batch of an export: the event loop encodes them in a few milliseconds."""

PAGE_WITHIN: Final = 10.0
"""Seconds that a page may take, and the wait for a reader: a combination of filters can be slow."""
BATCH_WITHIN: Final = 30.0
"""Seconds that a batch of an export may take: it may have to skip many entries that do not match."""


class LogReader:
    """Lets at most ``at_once`` log readers of one worker use a connection; the rest is for other requests."""

    def __init__(self, snapshots: Snapshots, *, at_once: int = 2) -> None:
        self._snapshots = snapshots
        self._slots = asyncio.Semaphore(at_once)

    async def page(
        self,
        log: Log[E, F],
        criteria: F,
        *,
        page: int = 1,
        cursor: str | None = None,
        after: str | None = None,
        size: int = 20,
        newest_first: bool = True,
    ) -> LogPage[E]:
        """Return the page after ``cursor``, or without a cursor page ``page`` with the number of entries.

        With ``after``, a cursor to follow the log, return the entries written since, in that order.
        ValidationFailed for an invalid cursor and for a page that needs a cursor. Raises Unavailable.
        """
        position = None if cursor is None else position_of(cursor, newest_first=newest_first)
        written = None if after is None else written_of(after)
        async with self._connection(PAGE_WITHIN) as connection:
            if written is not None:
                return await log.written_after(connection, criteria, written, size=size)
            if position is None:
                return await log.page(connection, criteria, page=page, size=size, newest_first=newest_first)
            return await log.after(connection, criteria, position, size=size, newest_first=newest_first)

    async def everything(
        self, log: Log[E, F], criteria: F, *, limit: int, newest_first: bool = True
    ) -> AsyncGenerator[tuple[E, ...], None]:
        """Yield all matching entries, at most ``limit``, in batches; at least one batch, possibly empty.

        Each batch has its own transaction: a client that reads slowly holds neither a connection nor a
        snapshot. Entries written meanwhile are included if their place is still to come. Raises Unavailable.
        """
        position: Position | None = None
        while True:
            size = min(BATCH, limit)
            async with self._connection(BATCH_WITHIN) as connection:
                batch = await log.after(connection, criteria, position, size=size, newest_first=newest_first)
            yield batch.items
            limit -= len(batch.items)
            position = batch.following
            if position is None or not limit:
                return

    @asynccontextmanager
    async def _connection(self, within: float) -> AsyncIterator[Connection]:
        try:
            async with asyncio.timeout(PAGE_WITHIN):
                await self._slots.acquire()
        except TimeoutError:
            raise Unavailable(sentence("too_many_log_readers")) from None
        try:
            async with self._snapshots.snapshot(within=within) as connection:
                yield connection
        finally:
            self._slots.release()
