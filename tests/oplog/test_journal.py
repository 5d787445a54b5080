from __future__ import annotations

import pytest
from sqlalchemy import select

from service.oplog.journal import Journal
from service.records.database import Database
from service.records.login_logs import LoginEvent
from service.records.operation_logs import OperationEvent
from service.records.schema import login_log, operation_log

pytestmark = pytest.mark.anyio


async def test_entries_of_both_logs_are_written_as_they_were_made(seeded_database_url: str) -> None:
    database = Database(seeded_database_url)
    journal = Journal(database)
    await journal.start()
    changed = OperationEvent(
        module="user",
        action="disable",
        kind="update",
        method="PUT",
        url="/api/user/7/status",
        status=200,
        elapsed_ms=1.25,
        params={"status": "disabled"},
    )
    passed = LoginEvent(event="login", outcome="success", user_id=1, login_ip="192.0.2.7")
    journal.collector.operation(changed)
    journal.collector.login(passed)
    await journal.finish()
    async with database.transaction() as connection:
        operation = (await connection.execute(select(operation_log))).one()
        login = (await connection.execute(select(login_log))).one()
    await database.close()
    assert (operation.event_id, operation.create_time) == (changed.event_id, changed.create_time)
    assert (operation.params, operation.elapsed_ms) == ({"status": "disabled"}, 1.25)
    assert (login.event_id, str(login.login_ip)) == (passed.event_id, "192.0.2.7")
    assert journal.collector.counts.accepted == journal.collector.counts.written == 2
