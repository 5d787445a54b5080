from __future__ import annotations

from ipaddress import ip_address

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records import login_logs
from service.records.login_logs import LoginEvent
from service.records.schema import login_log

pytestmark = pytest.mark.anyio


async def test_events_are_written_once_however_often_they_are_given(connection: AsyncConnection) -> None:
    refused = LoginEvent(
        event="login", outcome="failure", reason="login_failed", user_name="no\tbody", login_ip="2001:db8::1"
    )
    passed = LoginEvent(event="login", outcome="success", user_id=1, device="web", login_ip="192.0.2.7")
    await login_logs.add(connection)
    await login_logs.add(connection, refused)
    await login_logs.add(connection, refused, passed)
    rows = (await connection.execute(select(login_log).order_by(login_log.c.id))).all()
    assert [(row.event_id, row.create_time, row.login_ip) for row in rows] == [
        (refused.event_id, refused.create_time, ip_address("2001:db8::1")),
        (passed.event_id, passed.create_time, ip_address("192.0.2.7")),
    ]
    assert [(row.outcome, row.reason, row.user_name) for row in rows] == [
        ("failure", "login_failed", "no\tbody"),
        ("success", None, None),
    ]
