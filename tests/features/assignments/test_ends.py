"""What comes before and after the ends of assignments: a job, notices, findings and a command."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from service.features.assignments import store_ends
from service.features.assignments.upkeep import settle_ends
from service.features.notices.notices import Notices
from service.kernel.clock import rfc3339
from service.records.database.transactions import Database
from tests.support.inside import Inside
from tests.support.running import portcullis
from tests.users.people import execute, made, role_id

ASSIGNED = """
INSERT INTO sys.user_role (user_id, role_id, valid_until, reason, create_time)
SELECT %s, id, date_trunc('milliseconds', now() + %s * interval '1 hour'), %s, now() - interval '1 month'
FROM sys.role WHERE role_code = %s RETURNING id
"""
DAY = 24
SECRET = "hinges-2-portals-7-winches-4-chains-9"


@pytest.fixture
async def database(house: Inside) -> AsyncIterator[Database]:
    async with Database(house.database_url, pool_size=2) as opened:
        yield opened


def assigned(house: Inside, user_id: int, hours: float, role: str = "auditor", reason: str = "x") -> int:
    """Assign a role that ends in so many hours, a month ago; return the id."""
    ((made_id,),) = execute(house, ASSIGNED, user_id, hours, reason, role)
    return int(made_id)


def notices_of(house: Inside, user_id: int) -> list[Any]:
    """Return the facts of the notices of ends, in order."""
    rows = "SELECT facts FROM sys.notice WHERE user_id = %s AND kind = 'role_ends' ORDER BY id"
    return [facts for (facts,) in execute(house, rows, user_id)]


async def ran(database: Database) -> str:
    """Run the job, and return what it says; it has nothing to do after that."""
    detail = await settle_ends(database, Notices())
    async with database.snapshot() as connection:
        assert not await store_ends.is_due(connection)
    return detail


async def test_what_ended_minutes_ago_is_set_aside_once(house: Inside, database: Database) -> None:
    heron = await made(house)
    over, just = assigned(house, heron["id"], -1), assigned(house, heron["id"], -0.02)

    assert await ran(database) == "roles of 1 users have ended, 0 notices of a coming end sent"
    assert await ran(database) == "roles of 0 users have ended, 0 notices of a coming end sent"
    kept = execute(house, "SELECT id FROM sys.user_role WHERE user_id = %s", heron["id"])
    assert kept == [(just,)]
    items = (await house.data("GET", f"/api/user/{heron['id']}/roles?ended=true"))["items"]
    assert [(item["id"], item["how"], item["endTime"] == item["until"]) for item in items] == [
        (over, "expired", True),
        (just, "expired", True),
    ]
    assert (await house.data("GET", f"/api/user/{heron['id']}/roles"))["items"] == []


async def test_users_are_told_seven_days_and_one_day_before_an_end_and_once_each(
    house: Inside, database: Database
) -> None:
    heron = await made(house)
    week = assigned(house, heron["id"], 5 * DAY)
    day = assigned(house, heron["id"], 5, "user")
    assigned(house, heron["id"], 8 * DAY, "admin")

    await ran(database)
    await ran(database)

    token = await house.log_in("heron", "four wary herons")
    own = (await house.ask("GET", "/api/user/profile/notices", token=token)).json["data"]["items"]
    shown = {notice["facts"]["role"] for notice in own if notice["kind"] == "role_ends"}
    assert shown == {"auditor", "user"}
    known = [(facts["assignment"], facts["role"], facts["days"]) for facts in notices_of(house, heron["id"])]
    assert known == [(str(week), "auditor", "7"), (str(day), "user", "1")]
    execute(house, "UPDATE sys.user_role SET valid_until = now() + interval '20 hours' WHERE id = %s", week)
    await ran(database)
    assert [facts["days"] for facts in notices_of(house, heron["id"])] == ["7", "1", "1"]


async def test_nobody_is_told_of_an_end_that_another_assignment_outlasts_or_that_was_near_from_the_start(
    house: Inside, database: Database
) -> None:
    heron, stork = await made(house), await made(house, "stork")
    assigned(house, heron["id"], 3 * DAY)
    assigned(house, heron["id"], 30 * DAY)
    end = rfc3339(datetime.now(UTC) + timedelta(hours=8))
    await house.data("POST", f"/api/user/{stork['id']}/roles", {"roleCode": "auditor", "until": end})

    await ran(database)

    assert notices_of(house, heron["id"]) == notices_of(house, stork["id"]) == []


async def test_assignments_that_end_soon_or_break_their_role_are_findings(
    house: Inside, database: Database
) -> None:
    heron = await made(house)
    soon = assigned(house, heron["id"], 5 * DAY)
    assigned(house, heron["id"], 30 * DAY, "user", reason=" ")
    gone = await made(house, "stork")
    assigned(house, gone["id"], 5 * DAY)
    await house.ask("PATCH", f"/api/user/{gone['id']}", {"status": "disabled"})
    role = role_id(house, "user")
    async with database.snapshot() as connection:
        assert [each.id for each in await store_ends.ending(connection, timedelta(days=7))] == [soon]
        assert await store_ends.ending(connection, timedelta(days=1)) == []
        assert await store_ends.breaking(connection) == []
    for demand in ({"reasonRequired": True}, {"reasonRequired": False, "maxDuration": 20 * DAY * 3600}):
        await house.data("PATCH", f"/api/role/{role}", demand)
        async with database.snapshot() as connection:
            breaking = await store_ends.breaking(connection)
        assert [(each.user_name, each.role_code) for each in breaking] == [("heron", "user")]
    await house.data("PATCH", f"/api/role/{role}", {"maxDuration": 31 * DAY * 3600})
    async with database.snapshot() as connection:
        assert await store_ends.breaking(connection) == []


async def test_the_command_lists_what_ends_soon(house: Inside, tmp_path: Path) -> None:
    heron = await made(house)
    soon = assigned(house, heron["id"], 5 * DAY, reason="stands in")
    stores = {"DATABASE_URL": house.database_url, "REDIS_URL": house.redis_url, "JWT_SECRET": SECRET}

    listed = portcullis(tmp_path, "policy", "ending", "--json", **stores)
    assert listed.status == 0, listed
    assert [each["id"] for each in json.loads(listed.output)["items"]] == [soon]
    shown = portcullis(tmp_path, "policy", "ending", "--within", "30d", **stores).output
    assert "heron  auditor" in shown
    assert "stands in" in shown
    assert "heron" not in portcullis(tmp_path, "policy", "ending", "--within", "12h", **stores).output
    assert portcullis(tmp_path, "policy", "ending", "--within", "soon", **stores).status == 2


async def test_people_read_when_their_own_roles_end_and_no_role_that_they_keep(house: Inside) -> None:
    first = await house.data("GET", "/api/user/info")
    late, early = assigned(house, 1, DAY), assigned(house, 1, 1)
    assigned(house, 1, 2, role="admin")
    ends: dict[int, datetime] = dict(
        execute(house, "SELECT id, valid_until FROM sys.user_role WHERE user_id = 1")
    )

    read = (await house.data("GET", "/api/user/info"))["endings"]
    execute(house, "UPDATE sys.user_role SET valid_until = NULL WHERE id = %s", early)
    kept = (await house.data("GET", "/api/user/info"))["endings"]

    assert first["endings"] == []
    assert [each["roleCode"] for each in read] == ["admin", "auditor"]
    assert read[1]["until"] == rfc3339(ends[late])
    assert [each["roleCode"] for each in kept] == ["admin"]


WINDOW = """
INSERT INTO sys.user_role (user_id, role_id, valid_from, valid_until, create_time)
SELECT %s, id, now() + %s * interval '1 hour', now() + %s * interval '1 hour', now() - %s * interval '1 hour'
FROM sys.role WHERE role_code = %s
"""


async def test_starts_and_expiries_at_their_times_are_listed_and_acts_of_people_are_not(
    house: Inside, database: Database
) -> None:
    heron, role = await made(house), "auditor"
    path, roles = "/api/assignment/transition/list", f"/api/user/{heron['id']}/roles"
    since = rfc3339(datetime.now(UTC) - timedelta(hours=9))

    async def listed(query: str = "") -> list[tuple[str, str, bool]]:
        data = await house.data("GET", f"{path}?from={since}{query}")
        assert data["total"] == len(data["items"])
        assert {item["userName"] for item in data["items"]} <= {"heron"}
        return [(item["kind"], item["roleCode"], item["continued"]) for item in data["items"]]

    execute(house, WINDOW, heron["id"], -8, -5, 20, role)  # expired before the next one began
    execute(house, WINDOW, heron["id"], -4, -2, 20, role)
    execute(house, WINDOW, heron["id"], -3, 30, 20, role)  # continues it
    execute(house, WINDOW, heron["id"], -7, 30, 6, "user")  # granted after its start
    execute(house, WINDOW, heron["id"], 1, 2, 20, role)  # later
    continued = ("expired", role, True), ("started", role, True)
    alone = ("started", role, False), ("expired", role, False), ("started", role, False)
    assert await listed() == [*continued, *alone]

    await ran(database)  # archived, they are the same
    assert await listed() == [*continued, *alone]
    now = (await house.data("GET", f"{roles}?size=200"))["items"]
    for item in now:  # revoked by a person: in the log, not here
        assert (await house.ask("DELETE", f"{roles}/{item['id']}")).status == 200
    assert await listed() == [*continued, *alone]
    two_hours = rfc3339(datetime.now(UTC) - timedelta(hours=2, minutes=30))
    assert await listed(f"&to={two_hours}") == [("started", role, True), *alone]
    assert len((await house.data("GET", f"{path}?from={since}&size=2"))["items"]) == 2
    for query in ("", f"?from={since}&to={since}", "?from=2099-01-01T00:00:00"):
        assert (await house.ask("GET", path + query)).status == 422, query
