from __future__ import annotations

import pytest

from service.keyspace import LogCounts
from service.records.logs.login_events import LoginEvent
from tests.audit.conftest import Place, operation

pytestmark = pytest.mark.anyio


async def test_entries_of_both_logs_are_written_as_they_were_made(place: Place) -> None:
    changed = operation(7, params={"status": "disabled", "n": [1, 2.5, None, "ä\r\n\x1b[31m\"'"]})
    passed = LoginEvent(event="login", outcome="success", user_id=1, login_ip="2001:db8::1")
    async with place.journal() as journal:
        await journal.start()
        journal.collector.operation(changed)
        journal.collector.login(passed)
        await journal.finish()
        assert await journal.totals() == LogCounts(accepted=2, written=2, dropped=0, set_aside=0, under_way=0)
    (row,), (login,) = await place.rows(), await place.logins()
    for name in changed.__struct_fields__:
        stored = getattr(row, name)
        assert (str(stored) if name == "client_ip" else stored) == getattr(changed, name), name
    assert (login.event_id, login.create_time, str(login.login_ip)) == (
        passed.event_id,
        passed.create_time,
        "2001:db8::1",
    )
