"""Pages of a list: rows in a stable order, and the exact total."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from sqlalchemy import ColumnElement, FromClause, Row, Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import NotFound, ValidationFailed
from service.kernel.core_sentences import sentence
from service.kernel.fields import camel
from service.records.database.filters import conditions_of
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Database

T = TypeVar("T")
R = TypeVar("R")
F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """The rows of a page, and the total number on all pages."""

    items: tuple[T, ...]
    total: int

    def of(self: Page[Row[*tuple[Any, ...]]], records: RowMapper[R]) -> Page[R]:
        return Page(tuple(map(records.of, self.items)), self.total)


async def page_of(
    connection: AsyncConnection,
    statement: Select[*tuple[Any, ...]],
    *,
    page: int,
    size: int,
    order: tuple[ColumnElement[Any], ...],
    counted: Select[*tuple[Any, ...]] | None = None,
) -> Page[Row[*tuple[Any, ...]]]:
    """Run ``statement`` for page ``page`` (from 1) of ``size`` rows; ``order`` ends with a unique column.

    ``counted`` is a statement with the same number of rows that is cheaper to count. The total and the rows
    are consistent if the connection is a snapshot.
    """
    all_of_them = (statement if counted is None else counted).subquery()
    total = (await connection.execute(select(func.count()).select_from(all_of_them))).scalar_one()
    chosen = statement.order_by(*order).limit(size).offset((page - 1) * size)
    return Page(tuple((await connection.execute(chosen)).all()), total)


def sorts_of(table: FromClause, *names: str) -> dict[str, ColumnElement[Any]]:
    """Return the columns ``names`` of ``table`` by their JSON names; folded or their keys where there are."""
    return {
        camel(name): next(
            table.c[column] for column in (f"{name}_folded", f"{name}_key", name) if column in table.c
        )
        for name in names
    }


@dataclass(frozen=True, eq=False, repr=False)
class RecordList(Generic[R, F]):
    """Reads the records of ``statement``: all, one by its id, and pages of those that match a filter.

    ``sorts`` has the columns by which a page can be sorted, the unique ``id`` among them, and ``sort`` the
    name of the usual one.
    """

    noun: str
    records: RowMapper[R]
    statement: Select[*tuple[Any, ...]]
    sorts: Mapping[str, ColumnElement[Any]]
    sort: str = "id"

    async def page(
        self,
        connection: AsyncConnection,
        filters: F,
        *,
        page: int = 1,
        size: int = 20,
        sort: str | None = None,
    ) -> Page[R]:
        """Return page ``page`` (from 1) of the matching records; ValidationFailed for an unknown ``sort``."""
        order = order_by(self.sort if sort is None else sort, self.sorts, self.sorts["id"])
        matching = self.statement.where(*conditions_of(filters))
        return (await page_of(connection, matching, page=page, size=size, order=order)).of(self.records)

    async def every(self, connection: AsyncConnection) -> list[R]:
        """Return all records, in their usual order."""
        return await self.records.all(connection, self.statement.order_by(self.sorts[self.sort]))

    async def read(self, connection: AsyncConnection, record_id: int) -> R:
        """Return the record with that id; NotFound if it does not exist."""
        statement = self.statement.where(self.sorts["id"] == record_id)
        record = await self.records.one_or_none(connection, statement)
        if record is None:
            raise NotFound(sentence("no_such_record", noun=self.noun))
        return record


class Numbered(Protocol):
    """A record with an id."""

    @property
    def id(self) -> int:
        """Its id."""


N = TypeVar("N", bound=Numbered)

_BATCH: Final = 500  # records that one transaction reads


async def batches(
    database: Database, after: Callable[[AsyncConnection, int, int], Awaitable[Sequence[N]]]
) -> AsyncGenerator[Sequence[N], None]:
    """Yield all records by id in batches; at least one batch, possibly empty. Raises Unavailable.

    ``after(connection, id, most)`` returns the first ``most`` records with a greater id, in order. Each batch
    has its own transaction: a client that reads slowly holds no connection.
    """
    last = 0
    while True:
        async with database.snapshot() as connection:
            batch = await after(connection, last, _BATCH)
        yield batch
        if len(batch) < _BATCH:
            return
        last = batch[-1].id


def order_by(
    sort: str, allowed: Mapping[str, ColumnElement[Any]], unique: ColumnElement[Any]
) -> tuple[ColumnElement[Any], ...]:
    """Return the order for ``sort``, a name in ``allowed``, with ``-`` in front for descending order.

    ``unique`` makes the order total. ValidationFailed for any other name.
    """
    column = allowed.get(sort.removeprefix("-"))
    if column is None:
        raise ValidationFailed(("sort", sentence("not_a_sort_key", keys=sorted(allowed))))
    return (column.desc(), unique.desc()) if sort.startswith("-") else (column.asc(), unique.asc())
