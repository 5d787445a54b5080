"""Acts that protect wait for no bulk edit; what has to wait says for what, and nothing is lost by either."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.features.explain import dry_runs
from service.records import role_rights
from service.records.published import policy_revisions
from tests.support.inside import Inside
from tests.support.members import query
from tests.support.waiting import eventually_here
from tests.web.driver import Answer

AT_MOST = 1.0  # second
LOADED = 5.0  # seconds, on a machine that does much else; an act that waits for a row is refused before that
PASSWORD = "four wary herons"


async def person(house: Inside, name: str, *role_ids: int) -> int:
    """Create a user, and return the id."""
    body = {"userName": name, "nickName": name, "password": PASSWORD, "roleIds": list(role_ids)}
    made = await house.data("POST", "/api/user", body)
    return int(made["id"])


async def role(house: Inside, code: str) -> int:
    """Create a role, and return its id."""
    return int((await house.data("POST", "/api/role", {"roleName": code, "roleCode": code}))["id"])


@asynccontextmanager
async def bulk_edit(house: Inside) -> AsyncIterator[None]:
    """Hold the locks of a bulk edit that compares, derives and writes, such as that of a state file."""
    beside = await house.beside_async()
    locks = (policy_revisions.LOCK, role_rights.LOCK)
    for lock in locks:
        await beside.execute("SELECT pg_advisory_lock(%s)", (lock,))
    try:
        yield
    finally:
        for lock in locks:
            await beside.execute("SELECT pg_advisory_unlock(%s)", (lock,))


async def in_time(answer: Any, *statuses: int, at_most: float = AT_MOST) -> Answer:
    """Return the answer of an act that is done in time."""
    begun = time.monotonic()
    given: Answer = await answer
    assert given.status in statuses, given.body
    assert time.monotonic() - begun < at_most
    return given


async def test_acts_that_protect_are_done_at_once_beside_a_bulk_edit(house: Inside) -> None:
    reader = await role(house, "reader-beside")
    heron = await person(house, "heron-beside", reader)
    egret = await person(house, "egret-beside", reader)
    robot = await house.data(
        "POST", "/api/user", {"userName": "robot-beside", "nickName": "R", "kind": "service"}
    )
    key = await house.data("POST", f"/api/user/{robot['id']}/keys", {"name": "ci"})
    [assigned] = (await house.data("GET", f"/api/user/{egret}/roles"))["items"]
    logged_in = {"userName": "heron-beside", "password": PASSWORD, "device": "web"}
    assert (await house.as_anonymous("POST", "/api/auth/login", body=logged_in)).status == 200
    ask = house.ask
    async with bulk_edit(house):
        path = f"/api/user/{egret}/roles/{assigned['id']}"
        await in_time(ask("DELETE", path, None, ("If-Match", "*")), 200, 204)
        await in_time(ask("DELETE", f"/api/online/{heron}"), 200, 204)
        await in_time(ask("PATCH", f"/api/user/{heron}", {"roleIds": []}), 200)
        await in_time(ask("PATCH", f"/api/user/{heron}", {"status": "disabled"}), 200)
        await in_time(ask("PUT", f"/api/user/{egret}/status", {"status": "disabled"}), 200, 204)
        await in_time(ask("POST", f"/api/online/{egret}/ban", {"reason": "beside"}), 200)
        await in_time(ask("POST", "/api/user/bulk/end-sessions", {"ids": [heron, egret]}), 200)
        await in_time(ask("DELETE", f"/api/user/{robot['id']}/keys/{key['id']}"), 200, 204)
    stored = await house.data("GET", f"/api/user/{heron}")
    assert (stored["status"], stored["roles"]) == ("disabled", [])


async def test_what_gives_rights_waits_for_a_bulk_edit_and_says_so(house: Inside) -> None:
    reader = await role(house, "reader-waits")
    heron = await person(house, "heron-waits")
    async with bulk_edit(house):
        answer = await house.ask("PATCH", f"/api/user/{heron}", {"roleIds": [reader]})
    problem = answer.json
    assert (answer.status, problem["code"]) == (503, "unavailable")
    assert problem["detail"].startswith("Another change to the same data is in progress. Try again")
    assert int(answer.header("Retry-After") or 0) > 0
    assert (await house.ask("PATCH", f"/api/user/{heron}", {"roleIds": [reader]})).status == 200


async def test_many_edits_that_wait_leave_urgent_acts_a_connection(house: Inside) -> None:
    reader = await role(house, "reader-many")
    people = [await person(house, f"many-{number}") for number in range(8)]
    async with bulk_edit(house):
        waiting = [
            asyncio.create_task(house.ask("PATCH", f"/api/user/{each}", {"roleIds": [reader]}))
            for each in people
        ]
        await asyncio.sleep(0.1)
        await in_time(house.ask("POST", f"/api/online/{people[0]}/ban", {"reason": "beside"}), 200)
        answers = await asyncio.gather(*waiting)
    assert {answer.status for answer in answers} == {503}


async def imported(house: Inside, count: int) -> dict[str, int]:
    """Have an import create so many enabled users with a role; return their ids, by name."""
    names = [f"import-{number:04}" for number in range(count)]
    await role(house, "reader-import")
    kept = {"kind": "service", "roles": ["reader-import"]}
    table = [{"userName": name, "nickName": name, **kept} for name in names]
    await house.data("POST", "/api/user/import", {"users": table})
    return dict(await query(house, "SELECT user_name, id FROM sys.user WHERE user_name = ANY (%s)", names))


def is_written(house: Inside, user_id: int) -> bool:
    """Tell whether a transaction has written the row of a user, and has not ended."""
    free = "SELECT id FROM sys.user WHERE id = %s FOR NO KEY UPDATE SKIP LOCKED"
    return house.beside().execute(free, (user_id,)).fetchone() is None


@asynccontextmanager
async def editing_import(house: Inside, people: dict[str, int]) -> AsyncIterator[asyncio.Task[Answer]]:
    """Have an import edit these people and take their roles; begin once it has written the first one."""
    table = [{"userName": name, "nickName": "Edited", "roles": []} for name in sorted(people)]
    importing = asyncio.create_task(house.ask("POST", "/api/user/import", {"users": table}))
    assert await eventually_here(lambda: is_written(house, people[min(people)]))
    yield importing


@pytest.mark.feature("tables")
async def test_an_import_gives_way_to_acts_on_a_user_whom_it_has_edited(house: Inside) -> None:
    people = await imported(house, 400)
    first = people[min(people)]
    [assigned] = (await house.data("GET", f"/api/user/{first}/roles"))["items"]
    acts: list[tuple[str, str, Any]] = [
        ("PUT", f"/api/user/{first}/status", {"status": "disabled"}),
        ("POST", f"/api/online/{first}/ban", {"reason": "beside"}),
        ("DELETE", f"/api/user/{first}/roles/{assigned['id']}", None),
    ]
    for method, path, body in acts:
        async with editing_import(house, people) as importing:
            any_version = () if body else (("If-Match", "*"),)
            await in_time(house.ask(method, path, body, *any_version), 200, 204, at_most=LOADED)
            given = await importing
        assert given.status == 503, (path, given.body)
        assert given.json["detail"].startswith("An urgent change of the same user came first")
        assert int(given.header("Retry-After") or 0) > 0
    edited = await query(house, "SELECT id FROM sys.user WHERE nick_name = 'Edited'")
    assert not edited


async def test_a_dry_run_gives_way_to_an_act_on_a_user_whom_it_edits(
    house: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    heron = await person(house, "heron-rehearsed")
    look = dry_runs._Run._look

    async def look_long(self: dry_runs._Run, connection: AsyncConnection) -> Any:
        await connection.execute(text("SELECT pg_sleep(4)"))
        return await look(self, connection)

    monkeypatch.setattr(dry_runs._Run, "_look", look_long)
    path = f"/api/user/{heron}"
    rehearsed = asyncio.create_task(house.ask("PATCH", f"{path}?dryRun=true", {"nickName": "Edited"}))
    assert await eventually_here(lambda: is_written(house, heron))

    await in_time(house.ask("PUT", f"{path}/status", {"status": "disabled"}), 200, 204, at_most=LOADED)
    given = await rehearsed
    assert given.status == 503
    assert given.json["detail"].startswith("An urgent change of the same user came first")


@pytest.mark.feature("tables")
async def test_an_import_gives_way_to_an_act_behind_another_edit_of_the_same_user(house: Inside) -> None:
    people = await imported(house, 400)
    first = people[min(people)]
    other = await psycopg.AsyncConnection.connect(house.database_url)
    queued = "SELECT FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
    async with other, editing_import(house, people) as importing:
        third = asyncio.create_task(
            other.execute("UPDATE sys.user SET nick_name = 'Third' WHERE id = %s", (first,))
        )
        look = (queued, (other.info.backend_pid,))
        assert await eventually_here(lambda: house.beside().execute(*look).fetchone() is not None)

        async def committed() -> None:
            await third
            await other.commit()

        ending = asyncio.create_task(committed())
        act = house.ask("PUT", f"/api/user/{first}/status", {"status": "disabled"})
        await in_time(act, 200, at_most=LOADED)
        assert (await importing).status == 503
        await ending
    assert (await house.data("GET", f"/api/user/{first}"))["status"] == "disabled"


@pytest.mark.feature("tables")
async def test_an_import_goes_on_beside_acts_on_others(house: Inside) -> None:
    people = await imported(house, 100)
    heron = await person(house, "heron-others")
    async with editing_import(house, people) as importing:
        await in_time(
            house.ask("PUT", f"/api/user/{heron}/status", {"status": "disabled"}), 200, at_most=LOADED
        )
        ending = house.ask("POST", "/api/user/bulk/end-sessions", {"ids": [*people.values()]})
        await in_time(ending, 200, at_most=LOADED)
        assert (await importing).status == 200


@pytest.mark.feature("oidc")
async def test_acts_that_protect_wait_for_no_edit_of_a_directory(house: Inside) -> None:
    path, body = "/api/directory/long", {"kind": "oidc", "mapping": [], "ceiling": []}
    await house.data("PUT", path, body)
    waits = "SELECT FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"
    edits: list[tuple[str, Any]] = [("PUT", body | {"enabled": False}), ("DELETE", None)]
    for method, sent in edits:
        heron = await person(house, f"heron-{method.lower()}-directory")
        async with await psycopg.AsyncConnection.connect(house.database_url) as other:
            await other.execute("SELECT FROM sys.directory WHERE name = 'long' FOR UPDATE")
            editing = asyncio.create_task(house.ask(method, path, sent))
            assert await eventually_here(lambda: house.beside().execute(waits).fetchone() is not None)
            await in_time(house.ask("POST", f"/api/online/{heron}/ban", {"reason": "beside"}), 200)
            assert not editing.done()
            await other.rollback()
        assert (await editing).status in (200, 204), (method, (await editing).body)
