"""Bulk edits give way to urgent acts: a protective act waits for no import, restore or apply.

Their locks of rights keep them apart (``role_rights.lock``), but a bulk edit locks its written rows until the
commit. If an urgent act waits for a row, the bulk edit is rolled back, with a refusal that asks to retry.
"""

import asyncio
import contextvars
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError

from service.errors import Overloaded, Unavailable
from service.kernel.core_sentences import sentence
from service.records import role_rights
from service.records.database.transactions import Connection, Database
from service.records.role_rights import Pace

GAVE_WAY: Final = sentence("gave_way")
_EVERY: Final = 0.2
"""Seconds between two checks. An act must wait in both: a bulk edit in the middle of its commit continues."""
_AGAIN: Final = 2  # seconds

# While a bulk edit has the first lock of rights, only urgent acts have, or wait for, the second one. They may
# wait for others that wait for the bulk edit: another edit of the same row queues before them. A statement
# that runs is cancelled: it would go on at the server, with its locks, though its client has gone.
_LOOK: Final = b"""
WITH RECURSIVE waited_for (pid) AS (
    SELECT unnest(pg_blocking_pids(urgent.pid))
    FROM pg_locks AS urgent
    WHERE urgent.locktype = 'advisory' AND urgent.objsubid = 1
    AND (urgent.classid::bigint << 32) + urgent.objid::bigint = %(settling)s::bigint
    AND urgent.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND urgent.pid <> %(pid)s::int
    UNION
    SELECT unnest(pg_blocking_pids(waited_for.pid)) FROM waited_for
)
SELECT CASE WHEN %(cancel)s::boolean THEN pg_cancel_backend(%(pid)s::int) END
FROM waited_for WHERE pid = %(pid)s::int"""


@asynccontextmanager
async def paced(database: Database, connection: Connection, pace: Pace) -> AsyncIterator[None]:
    """Let the block change rights at ``pace``, before the transaction has a lock of rights.

    A bulk edit raises ``Overloaded``, which undoes it, once an urgent act has waited for it.
    """
    await role_rights.set_pace(connection, pace)
    if pace != "bulk":
        yield
        return
    pid: int = (await connection.execute(select(func.pg_backend_pid()))).scalar_one()
    try:
        async with asyncio.timeout(None) as patience:
            # In a context of its own: no look belongs to the trace of the request.
            looking = asyncio.create_task(_look(database, pid, patience), context=contextvars.Context())
            yield
    except (TimeoutError, DBAPIError):
        if not patience.expired():
            raise
        await looking
        raise Overloaded(GAVE_WAY, retry_after=_AGAIN) from None
    finally:
        looking.cancel()


async def _look(database: Database, pid: int, patience: asyncio.Timeout) -> None:
    """Let ``patience`` expire once an urgent act has waited for the transaction of ``pid``."""
    seen = False
    while True:
        await asyncio.sleep(_EVERY)
        with suppress(Unavailable):  # the transaction notices that by itself
            waits = await _is_waited_for(database, pid)
            if seen and waits:
                patience.reschedule(asyncio.get_running_loop().time())
                await _is_waited_for(database, pid, cancel=True)
                return
            seen = waits


async def _is_waited_for(database: Database, pid: int, *, cancel: bool = False) -> bool:
    asked = {"pid": pid, "settling": role_rights.SETTLING, "cancel": cancel}
    return bool(await database.read(_LOOK, asked))
