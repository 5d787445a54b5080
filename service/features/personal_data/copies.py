"""Copies of a person's data: one JSON document, table by table, in little memory."""

from collections.abc import AsyncGenerator
from typing import Final

from service.features.personal_data import store
from service.features.personal_data.inventory import inventory
from service.kernel.clock import now, rfc3339
from service.records.database.transactions import Database

WITHIN: Final = 30.0
"""Seconds that reading one table may take."""


async def copy_of(database: Database, user_id: int, most: int = store.MOST) -> AsyncGenerator[bytes, None]:
    """Yield the copy of a person's data in chunks, one for each table with rows. Raises Unavailable.

    ``tables`` has the rows of each table, the newest first, at most ``most``; ``cut`` names the tables that
    have more. Each table is read in a transaction of its own: no connection waits for the reader.
    """
    yield f'{{"userId":{user_id},"time":"{rfc3339(now())}","tables":{{'.encode()
    separator, cut = "", []
    for kept in inventory():
        if not kept.owner:
            continue
        async with database.snapshot(within=WITHIN) as connection:
            rows = await store.rows_of(connection, kept, user_id, most + 1)
        if len(rows) > most:
            cut.append(f'"{kept.table}"')
            rows = rows[:most]
        if rows:
            joined = ",\n".join(rows)
            yield f'{separator}\n"{kept.table}":[\n{joined}]'.encode()
            separator = ","
    yield f'}},"cut":[{",".join(cut)}]}}\n'.encode()
