"""Oracle with time: nobody passes by public access that had ended when the question of the proxy arrived."""

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from service.features.service_accounts.form import ApiKey, new_secret
from tests.service.callers import PASSWORD
from tests.service.test_windows import GIVES, KEY, ROBOT, ROLE, service_on, stop_jobs
from tests.support.running import PATIENCE, Running
from tests.support.waiting import freeze
from tests.support.windows import Answered, Record, Window

READ = {"resourceName": "Read", "resourceCode": "read", "method": "GET", "path": "/orders/{id}"}
QUESTION = {"X-Original-Method": "GET", "X-Original-URI": "/orders/7", "X-Original-Host": "orders.test"}
STOOD = 1.0
"""For how many seconds before the end, and after it, a worker stands still."""


def proxy(url: str) -> str:
    """Return the API key of an account that may ask which requests pass."""
    secret = new_secret()
    with psycopg.connect(url, autocommit=True) as connection:

        def written(statement: str, *values: object) -> int:
            row = connection.execute(statement.encode(), values).fetchone()
            assert row is not None
            number: int = row[0]
            return number

        role, user = written(ROLE), written(ROBOT, "proxy", "proxy", "proxy")
        connection.execute(GIVES.encode(), (role, "system:policy:evaluate"))
        connection.execute("INSERT INTO sys.user_role (user_id, role_id) VALUES (%s, %s)", (user, role))
        return str(ApiKey(written(KEY, user, ApiKey(1, secret).digest_of("service")), secret))


async def opened(client: httpx.AsyncClient) -> float:
    """Open a resource of a new service for some eight seconds, and return its end."""
    login = await client.post("/api/auth/login", json={"userName": "admin", "password": PASSWORD})
    headers = {"Authorization": f"Bearer {login.json()['data']['accessToken']}"}

    async def made(path: str, body: Mapping[str, object]) -> int:
        answer = await client.post(path, json=body, headers=headers)
        assert answer.status_code in (200, 201), answer.text
        number: int = answer.json()["data"]["id"]
        return number

    await made("/api/service", {"name": "orders"})
    number = await made("/api/resource", READ | {"service": "orders"})
    end = float(int(time.time()) + 9)
    until = datetime.fromtimestamp(end, UTC).isoformat()
    opening = {"service": "orders", "resourceId": number, "code": "@anyone", "until": until}
    await made("/api/opening", opening)
    return end


async def ask_on(url: str, key: str, record: Record, *, late: bool) -> None:
    """Ask on a single connection until a while after the end.

    With ``late`` nothing is asked while the worker stands still, until the end has passed.
    """
    end, headers = record.windows[0].end, QUESTION | {"X-Portcullis-Key": key}
    async with httpx.AsyncClient(
        base_url=url, timeout=PATIENCE, trust_env=False, verify=False, headers=headers
    ) as client:
        while time.time() < end + 2 * STOOD:
            if late and end - 1.5 * STOOD < time.time() < end + STOOD / 3:
                await asyncio.sleep(end + STOOD / 2 - time.time())
            sent = time.time()
            answer = await client.get("/access/v1/forward/nginx/orders")
            if answer.status_code != 503:  # a worker that stood still may take a store for silent
                assert answer.status_code in (200, 401), answer.text
                record.answers.append(Answered(sent, time.time(), answer.status_code == 200))
            await asyncio.sleep(0.03)


async def stand_still_over(service: Running, end: float) -> None:
    """Stop a worker before ``end``, and continue it after."""
    await asyncio.sleep(end - STOOD - time.time())
    pid = service.workers[0]
    try:
        await asyncio.to_thread(freeze, pid)
        await asyncio.sleep(end + STOOD - time.time())
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.feature("decisions")
async def test_nobody_passes_by_access_that_has_ended_also_at_a_worker_that_stood_still_meanwhile(
    stores: EmbeddedStores, published_template: str, tmp_path: Path
) -> None:
    """Two workers, all jobs stopped, one of them frozen across the end and continued."""
    with service_on(stores, published_template, tmp_path, 2) as (service, url):
        await stop_jobs(url)
        key = proxy(url)
        async with httpx.AsyncClient(
            base_url=service.url, timeout=PATIENCE, trust_env=False, verify=False
        ) as client:
            end = await opened(client)
        await asyncio.sleep(2)  # the other worker follows
        records = [Record([Window(time.time(), end)]) for _ in range(16)]
        assert time.time() < end - 2 * STOOD
        async with asyncio.TaskGroup() as group:
            group.create_task(stand_still_over(service, end))
            for place, record in enumerate(records):
                group.create_task(ask_on(service.url, key, record, late=place % 2 == 0))
    assert [fault for record in records for fault in record.faults()] == []
    assert {record.kinds for record in records} == {(True, False)}
    answers = [answer for record in records for answer in record.answers]
    held = [answer for answer in answers if answer.received - answer.sent > STOOD / 4]
    assert any(answer.sent < end for answer in held)
    assert any(answer.sent > end and not answer.allowed for answer in held)
