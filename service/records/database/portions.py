"""Many rows, read and written in portions, so that the event loop serves others meanwhile."""

from collections.abc import AsyncIterator, Iterable, Mapping
from itertools import islice
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.cooperative_yield import CooperativeYield

PORTION: Final = 100
"""Rows between two looks at the clock."""


class PortionCursor(psycopg.AsyncCursor[Any]):
    """A cursor that loads long results in portions; psycopg keeps the event loop for all rows at once."""

    async def fetchall(self) -> list[Any]:
        """Return all remaining rows."""
        rows = await self.fetchmany(PORTION)
        if len(rows) < PORTION:
            return rows
        others = CooperativeYield()
        while portion := await self.fetchmany(PORTION):
            rows += portion
            await others.after_item()
        return rows


async def each_row(result: sa.Result[*tuple[Any, ...]]) -> AsyncIterator[sa.Row[*tuple[Any, ...]]]:
    """Yield the rows of ``result``; others run between two portions."""
    others = CooperativeYield()
    for portion in result.partitions(PORTION):
        for row in portion:
            yield row
        await others.after_item()


async def delete_some(
    connection: AsyncConnection, table: sa.Table, condition: sa.ColumnElement[bool], most: int
) -> int:
    """Delete at most ``most`` rows that meet the condition, without locked ones; return their number."""
    key = table.primary_key.columns
    # PostgreSQL runs a WITH query that locks rows once; a subquery could find other rows each time.
    chosen = sa.select(*key).where(condition).limit(most).with_for_update(skip_locked=True).cte("chosen")
    same = sa.and_(*(column == chosen.c[column.name] for column in key))
    return (await connection.execute(sa.delete(table).where(same))).rowcount


async def write_in_portions(
    connection: AsyncConnection,
    statement: sa.Insert,
    rows: Iterable[Mapping[str, Any]],
    size: int = PORTION,
) -> list[sa.Row[*tuple[Any, ...]]]:
    """Run ``statement`` for ``size`` rows at a time; return the rows that it returns, if it returns any.

    ``rows`` are generated while they are written. Other tasks run between two portions: building one
    statement for all rows would block the event loop.
    """
    returned: list[sa.Row[*tuple[Any, ...]]] = []
    others, remaining = CooperativeYield(), iter(rows)
    while portion := list(islice(remaining, size)):
        result = await connection.execute(statement, portion)
        if result.returns_rows:
            returned += result.all()
        await others.after_item()
    return returned
