"""``sys.user_login``: when each user has logged in last.

Written with the entry of the login, in the transaction that writes a batch of the login log: a login itself
writes nothing to the database, and waits for nothing. So the time is there as soon as the entry is, which
outlives the log's months. It is a table of its own: as a column of ``sys.user`` each login would renew that
row's many indexes, and would wait for the transactions that edit the user.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.logs.login_events import LoginEvent
from service.records.schema import SCHEMA

# Never back: batches come in any order, and one may be written again.
_NOTE: Final = text(
    f"INSERT INTO {SCHEMA}.user_login AS known (user_id, last_login_time)"  # noqa: S608 - our own names
    " SELECT id, at FROM unnest(CAST(:ids AS bigint[]), CAST(:times AS timestamptz[])) AS given (id, at)"
    f' WHERE EXISTS (SELECT FROM {SCHEMA}."user" AS kept WHERE kept.id = given.id)'
    " ON CONFLICT (user_id) DO UPDATE"
    " SET last_login_time = greatest(known.last_login_time, excluded.last_login_time)"
)


async def note(connection: AsyncConnection, events: Iterable[LoginEvent]) -> None:
    """Store the times of the successful logins among ``events``, entries that the transaction writes."""
    latest: dict[int, datetime] = {}
    for event in events:
        if event.event == "login" and event.outcome == "success" and event.user_id is not None:
            latest[event.user_id] = max(latest.get(event.user_id, event.create_time), event.create_time)
    if latest:
        await connection.execute(_NOTE, {"ids": list(latest), "times": list(latest.values())})
