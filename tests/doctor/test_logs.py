"""What the doctor says of the logs of operations and logins."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
import redis

from service.audit.chain.form import Chain
from service.audit.chain.maintenance import AHEAD, Upkeep
from service.records.database.transactions import Database
from tests.doctor.conftest import LookAt, execute


@pytest.mark.parametrize(
    ("counts", "state", "message"),
    [
        ({}, "ok", "0 accepted, 0 written, 0 under way"),
        ({"written": 9}, "ok", "9 accepted, 9 written, 0 under way"),
        ({"written": 7, "dropped": 3}, "warning", "10 accepted, 7 written, 0 under way, 3 dropped"),
        (
            {"set_aside": 1},
            "warning",
            "1 accepted, 0 written, 0 under way, 1 set aside, which the database has refused",
        ),
    ],
    ids=["none", "all written", "dropped", "set aside"],
)
def test_entries_that_are_in_no_log_are_counted(
    look_at: LookAt, redis_url: str, counts: dict[str, int], state: str, message: str
) -> None:
    with redis.Redis.from_url(redis_url) as store:
        for name, number in ({"accepted": sum(counts.values())} | counts).items():
            store.hset("auth:log:counts", name, number)

    finding = look_at("log-entries")

    assert (finding.state, finding.message) == (state, message)


def test_months_without_a_partition_are_told_until_they_have_one(look_at: LookAt, database_url: str) -> None:
    async def keep() -> None:
        database = Database(database_url, timeout=30)
        await Upkeep(database, Chain(""), {"operation_log": 0, "login_log": 0}).months(today)
        await database.close()

    today = datetime.now(UTC).date()
    execute(database_url, f"DROP TABLE sys.login_log_{today:%Y_%m}, sys.operation_log_{today:%Y_%m}")
    before = look_at("log-months")
    asyncio.run(keep())
    after = look_at("log-months")
    execute(database_url, f"DROP TABLE sys.login_log_{today:%Y_%m}")

    assert (before.state, after.state, AHEAD) == ("warning", "ok", 2)
    assert look_at("log-months").message == f"there is no partition of login_log for {today:%Y-%m}"
