"""Long results, read and made into records in portions, so that the event loop serves others meanwhile."""

from collections.abc import AsyncIterator
from typing import Any, Final

import psycopg
import sqlalchemy as sa

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
