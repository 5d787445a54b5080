"""What a change of roles and Buttons gives is in force for the next request, and auditors change nothing."""

import asyncio
import json
from collections import Counter
from typing import Any

import psycopg
import pytest

from tests.log_reading.entries import person
from tests.policy_publishing.conftest import PASSWORD, Workers
from tests.support.inside import Inside
from tests.support.members import ids_of, query
from tests.support.raw import Seen, log_in, request, send

LISTING = "GET /api/role/list HTTP/1.1"
CODE = "system:role:list"
TIMES = 32
"""Requests at once, over connections of their own: each of the four workers gets some of them."""


class Trial:
    """An administrator who changes the rights of ``reader``, an auditor."""

    def __init__(self, workers: Workers) -> None:
        self.port = workers.service.port
        self.url = workers.database_url
        self.admin = ""

    async def write(self, line: str, body: Any) -> Seen:
        done = await send(self.port, request(f"{line} HTTP/1.1", self.admin, body=body))
        assert done.status in (200, 201), done.body
        return done

    async def reader(self) -> str:
        return await log_in(self.port, "reader", PASSWORD)

    async def on(self, device: str) -> str:
        """Log the reader in on a device, and return the header with the token."""
        body = {"userName": "reader", "password": PASSWORD, "device": device}
        seen = await send(self.port, request("POST /api/auth/login HTTP/1.1", body=body))
        return f"Authorization: Bearer {seen.data['accessToken']}"

    async def outcomes(self, token: str, *headers: str, line: str = LISTING) -> Counter[int]:
        raw = request(line, token, *headers)
        answers = await asyncio.gather(*(send(self.port, raw) for _ in range(TIMES)))
        assert all(
            json.loads(answer.body)["code"] == "refresh_required"
            for answer in answers
            if answer.status == 401
        )
        return Counter(answer.status for answer in answers)

    def row(self, statement: str) -> Any:
        with psycopg.connect(self.url) as connection:
            return connection.execute(statement.encode()).fetchone()


@pytest.fixture
async def trial(workers: Workers) -> Trial:
    new_trial = Trial(workers)
    new_trial.admin = await log_in(new_trial.port, "admin", PASSWORD)
    return new_trial


async def test_a_role_that_loses_and_gains_a_permission_is_felt_on_every_worker(trial: Trial) -> None:
    role = trial.row("SELECT id FROM sys.role WHERE role_code = 'auditor'")[0]
    button = trial.row(f"SELECT id FROM sys.menu WHERE auth_mark = '{CODE}'")[0]
    line = f"/api/role/{role}/permissions"
    read = await send(trial.port, request(f"GET {line} HTTP/1.1", trial.admin))
    whole = read.data["menuIds"]
    first = await trial.reader()
    assert await trial.outcomes(first) == {200: TIMES}

    await trial.write(f"PUT {line}", {"menuIds": [menu_id for menu_id in whole if menu_id != button]})
    assert await trial.outcomes(first) == {401: TIMES}
    second = await trial.reader()
    assert await trial.outcomes(second) == {403: TIMES}

    await trial.write(f"PUT {line}", {"menuIds": whole})
    assert await trial.outcomes(second) == {401: TIMES}
    assert await trial.outcomes(await trial.reader()) == {200: TIMES}


async def test_a_role_that_is_disabled_and_enabled_is_felt_on_every_worker(trial: Trial) -> None:
    role, name = trial.row("SELECT id, role_name FROM sys.role WHERE role_code = 'auditor'")
    token = await trial.reader()

    for enabled, status in ((False, 403), (True, 200)):
        await trial.write(f"PATCH /api/role/{role}", {"roleName": name, "enabled": enabled})
        assert await trial.outcomes(token) == {401: TIMES}
        token = await trial.reader()
        assert await trial.outcomes(token) == {status: TIMES}


async def test_a_button_that_is_disabled_and_enabled_is_felt_on_every_worker(trial: Trial) -> None:
    button, title, parent = trial.row(f"SELECT id, title, parent_id FROM sys.menu WHERE auth_mark = '{CODE}'")
    body = {"title": title, "parentId": parent, "authMark": CODE}
    token = await trial.reader()

    for enabled, status in ((False, 403), (True, 200)):
        saved = await trial.write(f"PATCH /api/menu/{button}", body | {"enabled": enabled})
        assert await trial.outcomes(token) == {401: TIMES}
        token = await trial.reader()
        # The new revision is asked for: what a token's bits mean is part of it.
        least = f"X-Policy-Min-Revision: {saved.revision}"
        assert await trial.outcomes(token, least) == {status: TIMES}


async def test_a_code_that_was_made_a_moment_ago_is_in_the_token_that_any_worker_gives(
    trial: Trial,
) -> None:
    role = trial.row("SELECT id FROM sys.role WHERE role_code = 'auditor'")[0]
    resource = trial.row("SELECT id FROM sys.resource WHERE path = '/api/user/info'")[0]
    line = f"/api/role/{role}/permissions"
    whole = (await send(trial.port, request(f"GET {line} HTTP/1.1", trial.admin))).data["menuIds"]
    new = {"menuType": "Button", "title": "New", "authMark": "new:code"}
    button = (await trial.write("POST /api/menu", new)).data["id"]
    await trial.write(f"PUT {line}", {"menuIds": [*whole, button]})

    renamed = await trial.write(
        f"PATCH /api/menu/{button}", {"title": "New", "parentId": None, "authMark": "newer:code"}
    )
    tokens = await asyncio.gather(*(trial.on(device) for device in ("web", "ios", "android", "tablet")))
    bound = await trial.write(f"PUT /api/resource/{resource}/buttons", {"menuIds": [button]})
    least = f"X-Policy-Min-Revision: {max(renamed.revision, bound.revision)}"

    for token in tokens:
        assert await trial.outcomes(token, least, line="GET /api/user/info HTTP/1.1") == {200: TIMES}
    await trial.write(f"PUT /api/resource/{resource}/buttons", {"menuIds": []})
    await trial.write(f"PUT {line}", {"menuIds": whole})
    await trial.write(f"PATCH /api/menu/{button}", {"title": "New", "parentId": None, "authMark": "new:code"})


async def test_an_auditor_reads_what_roles_and_buttons_open_and_writes_none_of_it(service: Inside) -> None:
    await person(service.database_url, "reader", "auditor")
    token = await service.log_in("reader")
    (button,) = await ids_of(service, "system:role:list")
    ((role,),) = await query(service, "SELECT id FROM sys.role WHERE role_code = 'auditor'")
    ((resource,),) = await query(service, "SELECT id FROM sys.resource WHERE path = '/api/role/list'")
    writes: dict[str, dict[str, list[int]]] = {
        f"/api/role/{role}/permissions": {"menuIds": []},
        f"/api/resource/{resource}/buttons": {"menuIds": []},
        f"/api/menu/{button}/resources": {"resourceIds": []},
    }

    shown = [(await service.ask("GET", path, token=token)).json["data"] for path in writes]
    written = [await service.ask("PUT", path, body, token=token) for path, body in writes.items()]

    assert button in shown[0]["menuIds"]
    assert button in shown[1]["menuIds"]
    assert shown[2]["resourceIds"] == [resource]
    assert [(answer.status, answer.json["layer"]) for answer in written] == [(403, "endpoint")] * 3
