"""Sign-ins and refusals by hour, by request."""

import asyncio
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from service.kernel.clock import now
from tests.log_capture.conftest import PATIENCE, Logged

COUNTS = ("logins", "loginFailures", "allowed", "refused")


async def counts_after_refusal(logged: Logged, token: str) -> dict[str, int]:
    """Send a request that is refused; return the counts once they have it, and so all that was before.

    They are the sums of two hours: a test may run while an hour begins.
    """
    before = await counts(logged)
    assert (await logged.ask("DELETE", "/api/role/1", token=token)).status == 403
    async with asyncio.timeout(PATIENCE):
        while True:
            after = await counts(logged)
            if after["refused"] > before["refused"]:
                return after
            await asyncio.sleep(0.02)


async def counts(logged: Logged) -> dict[str, int]:
    """Return the sums of this hour and the one before."""
    report = await logged.inside.data("GET", "/api/system/activity?hours=2")
    return {name: sum(hour[name] for hour in report["hours"]) for name in COUNTS}


async def test_logins_failures_and_refusals_are_counted_once_their_entries_are_written(
    logged: Logged,
) -> None:
    person = await logged.person("user")
    before = await counts_after_refusal(logged, await logged.log_in(person))
    wrong = {"userName": person.name, "password": "no such thing"}
    assert (await logged.ask("POST", "/api/auth/login", wrong)).status == 401
    after = await counts_after_refusal(logged, await logged.log_in(person))
    gained = {name: after[name] - before[name] for name in ("logins", "loginFailures", "refused")}
    assert gained == {"logins": 1, "loginFailures": 1, "refused": 1}


async def test_hours_are_whole_in_order_and_as_many_as_asked_for(logged: Logged) -> None:
    report = await logged.inside.data("GET", "/api/system/activity?hours=168")
    begins = [datetime.fromisoformat(hour["hour"]) for hour in report["hours"]]
    assert len(begins) == 168
    assert {after - before for before, after in pairwise(begins)} == {timedelta(hours=1)}
    assert begins[0] == datetime.fromisoformat(report["from"])
    assert begins[-1] <= datetime.fromisoformat(report["to"]) <= now()
    assert (begins[-1].minute, begins[-1].second) == (0, 0)
    assert len((await logged.inside.data("GET", "/api/system/activity"))["hours"]) == 24


@pytest.mark.parametrize("hours", ["0", "2161", "x"])
async def test_other_numbers_of_hours_are_refused(logged: Logged, hours: str) -> None:
    answer = await logged.ask("GET", f"/api/system/activity?hours={hours}")
    assert (answer.status, answer.code) == (422, "validation_failed")


async def test_it_needs_a_code_of_its_own(logged: Logged) -> None:
    token = await logged.log_in(await logged.person("user"))
    answer = await logged.ask("GET", "/api/system/activity", token=token)
    assert (answer.status, answer.json["required"]) == (403, ["system:activity:list"])
