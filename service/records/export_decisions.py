"""``sys.export_decision``: events of the decision log that wait for destinations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import delete, func, select, text

from service.records.database.transactions import Connection
from service.records.schema import SCHEMA, export_decision, export_destination

_LOCK: Final = 0x657870_646563  # one number for all workers of all nodes
_SILENCE: Final = "10s"
_INSERTION: Final = text(
    f"INSERT INTO {SCHEMA}.export_decision (event_id, event)"  # noqa: S608 - names of ours
    " SELECT event_id, event FROM json_to_recordset(CAST(:rows AS json)) AS given (event_id UUID, event TEXT)"
)


async def add(connection: Connection, events: Sequence[tuple[UUID, str]], most: int) -> bool:
    """Add ``events`` in their order, in one step with those of no other worker; False if ``most`` wait.

    The number of those that wait is taken from their ids. The server ends the transaction of a worker that
    stays silent.
    """
    bounded = func.set_config("idle_in_transaction_session_timeout", _SILENCE, True)
    await connection.execute(select(bounded, func.pg_advisory_xact_lock(_LOCK)))
    ids = export_decision.c.id
    waiting: int = (
        await connection.execute(select(func.coalesce(func.max(ids) - func.min(ids) + 1, 0)))
    ).scalar_one()
    if waiting + len(events) > most:
        return False
    rows = [{"event_id": str(event_id), "event": event} for event_id, event in events]
    await connection.execute(_INSERTION, {"rows": json.dumps(rows)})
    return True


async def forget_sent(connection: Connection) -> int:
    """Delete the events that every destination has that exports them; return how many. All, without one."""
    sent = select(func.min(export_destination.c.decision_id)).scalar_subquery()
    done = delete(export_decision).where(export_decision.c.id <= func.coalesce(sent, 2**63 - 1))
    return (await connection.execute(done)).rowcount
