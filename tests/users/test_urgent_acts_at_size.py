"""Acts that protect are done within a second beside real bulk edits of full size."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.records import role_rights
from tests.features.scim.scim_client import GROUP, scim_client
from tests.service.conftest import variables_for
from tests.support.inside import Inside
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import query
from tests.support.running import command, environment
from tests.support.waiting import eventually_here
from tests.users.test_urgent_acts import editing_import, imported, in_time, is_written, person, role

pytestmark = pytest.mark.extended

BUTTONS, MEMBERS = 3000, 20_000


@pytest.fixture
async def own(service_with: ServiceWith) -> AsyncIterator[Inside]:
    async with service_with() as house:
        yield house


async def test_beside_an_import_of_as_many_users_as_a_table_has(own: Inside) -> None:
    people = await imported(own, 1000)
    first = people[min(people)]
    [assigned] = (await own.data("GET", f"/api/user/{first}/roles"))["items"]
    acts: list[tuple[str, str, Any]] = [
        ("PATCH", f"/api/user/{people[max(people)]}", {"roleIds": []}),
        ("PUT", f"/api/user/{first}/status", {"status": "disabled"}),
        ("POST", f"/api/online/{first}/ban", {"reason": "beside"}),
        ("DELETE", f"/api/user/{first}/roles/{assigned['id']}", None),
    ]
    for method, path, body in acts:
        async with editing_import(own, people) as importing:
            any_version = () if body else (("If-Match", "*"),)
            await in_time(own.ask(method, path, body, *any_version), 200, 204)
            importing.cancel()
            await asyncio.wait([importing])


async def test_beside_a_group_that_gives_a_role_to_twenty_thousand_members(own: Inside) -> None:
    entra = await scim_client(own)
    made = await query(
        own,
        "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
        " SELECT name, name, name, '' FROM (SELECT 'member-' || number AS name"
        " FROM generate_series(1, %s) AS number) AS named RETURNING id",
        MEMBERS,
    )
    ids = [row[0] for row in made]
    await query(
        own,
        "INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)"
        " SELECT 'entra', '', id::text, id, false FROM unnest(%s::bigint[]) AS id",
        ids,
    )
    known = "INSERT INTO sys.scim_user (user_id, directory) SELECT unnest(%s::bigint[]), 'entra'"
    await query(own, known, ids)
    listed = [{"value": str(each)} for each in ids]
    body = {"schemas": [GROUP], "displayName": "Readers", "members": listed}
    acts: list[tuple[str, str, Any]] = [
        ("PUT", f"/api/user/{ids[0]}/status", {"status": "disabled"}),
        ("POST", f"/api/online/{ids[0]}/ban", {"reason": "beside"}),
    ]
    for act in acts:
        changing = asyncio.create_task(entra.ask("POST", "/Groups", body))
        assert await eventually_here(lambda: is_written(own, ids[0]))
        await in_time(own.ask(*act), 200)
        assert (await changing).status == 503


async def test_beside_the_apply_of_some_thousand_buttons(own: Inside, tmp_path: Path, redis_url: str) -> None:
    reader = await role(own, "reader-apply")
    heron, egret = [await person(own, name, reader) for name in ("heron-apply", "egret-apply")]
    file = tmp_path / "state.yaml"
    variables = environment(tmp_path, **variables_for(own.database_url, redis_url))

    async def run(*words: str) -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            *command("state", *words, str(file)),
            env=variables,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        return process.returncode, output.decode()

    assert (await run("export"))[0] == 0
    content = yaml.safe_load(file.read_text("utf-8"))
    codes = [f"made:thing:a{number}" for number in range(BUTTONS)]
    content["buttons"] |= {code: {"title": code} for code in codes}
    content["roles"]["reader-apply"]["buttons"] = codes
    file.write_text(yaml.safe_dump(content), "utf-8")
    applying = asyncio.create_task(run("apply"))
    held = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid::bigint = %s"
    lock = (role_rights.LOCK & 0xFFFFFFFF,)
    assert await eventually_here(lambda: own.beside().execute(held, lock).fetchone() is not None)
    acts: list[tuple[str, str, Any]] = [
        ("PATCH", f"/api/user/{heron}", {"roleIds": []}),
        ("PUT", f"/api/user/{heron}/status", {"status": "disabled"}),
        ("POST", f"/api/online/{egret}/ban", {"reason": "beside"}),
    ]
    for act in acts:
        assert not applying.done()
        await in_time(own.ask(*act), 200)
        await asyncio.sleep(0.3)
    status, output = await applying
    assert status == 0, output[-2000:]
