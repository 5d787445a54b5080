"""``sys.operation_intent``: what requests change, until the operation log has their entries."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.pq import Escaping
from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.database.connection import connection_of
from service.records.schema.base import SCHEMA
from service.records.schema.logs import operation_intent, operation_log

# A transaction that has written nothing so far changes nothing.
_SAVE: Final = (
    b"INSERT INTO %b.operation_intent (event_id, create_time, entry)"
    b" SELECT '%%b'::uuid, '%%b'::timestamptz, %%b WHERE pg_current_xact_id_if_assigned() IS NOT NULL"
    b" ON CONFLICT (event_id) DO UPDATE SET entry = excluded.entry"
) % SCHEMA.encode()


def save(
    connection: AsyncConnection,
    event_id: UUID,
    create_time: datetime,
    entry: bytes,
    committed: Callable[[int], None],
) -> None:
    """Save the ``entry`` of a request with the commit of the transaction, if that has written anything.

    ``committed`` is called after the commit, with the number of entries that were saved: 1 or 0. A statement
    of its own would take a round trip more, while others may wait for the locks of the transaction.
    """
    driver = connection_of(connection)
    key = str(event_id).encode(), create_time.isoformat().encode()
    statement = _SAVE % (*key, Escaping(driver.pgconn).escape_literal(entry))
    driver.send_with_commit(statement, committed)


async def settle(connection: AsyncConnection, event_ids: Collection[UUID]) -> None:
    """Delete the intents of entries that the operation log has, once the transaction is committed."""
    await connection.execute(delete(operation_intent).where(operation_intent.c.event_id.in_(event_ids)))


async def settle_written(connection: AsyncConnection, event_ids: Collection[UUID]) -> None:
    """Delete those of the intents whose entries the operation log has."""
    intent, log = operation_intent.c, operation_log.c
    same = (log.event_id == intent.event_id) & (log.create_time == intent.create_time)
    await connection.execute(delete(operation_intent).where(intent.event_id.in_(event_ids), same))


async def oldest(connection: AsyncConnection, most: int) -> Sequence[UUID]:
    """Return the ids of at most ``most`` intents, the oldest first."""
    ids = select(operation_intent.c.event_id).order_by(operation_intent.c.event_id).limit(most)
    return (await connection.execute(ids)).scalars().all()


async def entries(connection: AsyncConnection, event_ids: Collection[UUID]) -> dict[UUID, bytes]:
    """Return the entries of those of the intents that are there."""
    intent = operation_intent.c
    statement = select(intent.event_id, intent.entry).where(intent.event_id.in_(event_ids))
    return {row.event_id: row.entry.encode() for row in await connection.execute(statement)}
