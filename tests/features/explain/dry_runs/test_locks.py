"""A dry run keeps no other change waiting, and is made again when another change overtakes it."""

import asyncio
from typing import Any

import psycopg
import pytest

from service.features.explain import dry_runs
from service.records import role_rights
from service.records.published import policy_revisions
from tests.support.inside import Inside

HELD = """
SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database AND d.datname = current_database()
WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) = ANY (%s)
"""
"""Counts the holders of some advisory locks in this database: other tests, and the logs, take other ones."""


async def role(house: Inside, code: str) -> str:
    made = await house.data("POST", "/api/role", {"roleName": code, "roleCode": code})
    return f"/api/role/{made['id']}"


async def menu(house: Inside, code: str) -> int:
    body = {"menuType": "Button", "title": code, "authMark": code}
    number: int = (await house.data("POST", "/api/menu", body))["id"]
    return number


async def connect(house: Inside) -> psycopg.AsyncConnection[Any]:
    return await psycopg.AsyncConnection.connect(house.database_url)


async def test_other_changes_are_saved_while_a_dry_run_is_made(
    house: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, go_on = asyncio.Event(), asyncio.Event()
    look = dry_runs._Run.end

    async def end(run: dry_runs._Run, connection: Any) -> None:
        made.set()
        await go_on.wait()
        await look(run, connection)

    monkeypatch.setattr(dry_runs._Run, "end", end)
    button, other = await menu(house, "a:one"), await role(house, "other")
    body = {"title": "B", "authMark": "a:one", "parentId": None, "enabled": False}
    dry = asyncio.create_task(house.ask("PATCH", f"/api/menu/{button}?dryRun=true", body))
    await made.wait()
    async with await connect(house) as connection:
        held = await connection.execute(HELD, [[policy_revisions.LOCK, role_rights.LOCK]])
        assert await held.fetchone() == (0,)

    await menu(house, "a:two")
    await house.data("PATCH", other, {"roleName": "renamed", "enabled": True})
    assert not dry.done()
    go_on.set()

    assert (await dry).status == 200


async def test_a_dry_run_does_not_wait_for_the_locks_of_changes(house: Inside) -> None:
    button = await menu(house, "a:one")
    body = {"title": "B", "authMark": "a:three", "parentId": None, "enabled": True}
    async with await connect(house) as connection:
        for lock in (policy_revisions.LOCK, role_rights.LOCK):
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", [lock])

        assert (await house.ask("PATCH", f"/api/menu/{button}?dryRun=true", body)).status == 200


async def test_a_dry_run_of_what_another_change_is_saving_is_made_again(house: Inside) -> None:
    path = await role(house, "changing")
    number = int(path.rpartition("/")[2])
    body = {"roleName": "by a dry run", "enabled": False}
    async with await connect(house) as connection:
        await connection.execute("UPDATE sys.role SET role_name = 'by another' WHERE id = %s", [number])
        dry = asyncio.create_task(house.ask("PATCH", f"{path}?dryRun=true", body))
        await asyncio.sleep(0.1)
        await connection.commit()
        assert (await dry).status == 200

        await connection.execute("UPDATE sys.role SET role_name = 'and again' WHERE id = %s", [number])
        refused = await house.ask("PATCH", f"{path}?dryRun=true", body)
        assert (refused.status, refused.json["detail"]) == (
            503,
            "Another change to the same data is in progress. Try again",
        )
    assert (await house.data("GET", path))["roleName"] == "and again"
