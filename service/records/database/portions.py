"""Many rows, read and written in portions, so that the event loop serves others meanwhile."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
import psycopg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.fields import names_of

PORTION: Final = 100
"""Rows between two looks at the clock."""

_RECORDS: Final = 1_000  # that are encoded at once: in some milliseconds


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


async def write_records(
    connection: AsyncConnection, table: sa.Table, records: Sequence[Any], **others: Any
) -> None:
    """Insert ``records``, of one kind, whose fields are columns; ``others`` are equal in all rows.

    The fields are texts, numbers, booleans, dates and times. The rows of a portion are one parameter: as
    parameters of their own, the values cost psycopg twenty times the processor time.
    """
    if not records:
        return
    names = names_of(records[0])
    rows = sa.func.json_to_recordset(sa.cast(sa.bindparam("rows", type_=sa.Text), sa.JSON)).table_valued(
        *(sa.column(name, table.c[name].type) for name in names)
    )
    given = rows.render_derived(name="given", with_types=True)
    equal = [sa.bindparam(f"each_{name}", value, table.c[name].type) for name, value in others.items()]
    statement = sa.insert(table).from_select([*names, *others], sa.select(*given.c, *equal))
    yielding = CooperativeYield()
    for start in range(0, len(records), _RECORDS):
        portion = msgspec.json.encode(records[start : start + _RECORDS]).decode()
        await connection.execute(statement, {"rows": portion})
        await yielding.after_item()
