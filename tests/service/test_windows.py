"""Oracle with time: no answer is by a right that had ended, or not begun, when its request arrived."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from service.features.service_accounts.form import ApiKey, new_secret
from tests.service.callers import PASSWORD
from tests.service.conftest import variables_for
from tests.support.databases import database, session_store
from tests.support.running import PATIENCE, PATIENT, Running, running
from tests.support.waiting import eventually, freeze
from tests.support.windows import Answered, Record, Window, give_windows

LIST = "system:role:list"
ROLE = "INSERT INTO sys.role (role_name, role_name_key, role_code) VALUES ('W', 'w', 'w') RETURNING id"
GIVES = "INSERT INTO sys.role_menu SELECT %s, id FROM sys.menu WHERE auth_mark = %s"
PERSON = (
    "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
    " SELECT %s, %s, %s, password_hash FROM sys.user WHERE id = 1 RETURNING id"
)
ROBOT = (
    "INSERT INTO sys.user (user_name, user_name_key, nick_name, kind) VALUES (%s, %s, %s, 'service')"
    " RETURNING id"
)
KEY = (
    "INSERT INTO sys.api_key (user_id, key_name, hint, digest, created_by) VALUES (%s, 'w', 'none', %s, 1)"
    " RETURNING id"
)


class Caller:
    """A user whose role begins and ends again and again, asked about in several ways."""

    patient = False
    """Whether answers may be lacking."""

    def __init__(self, client: httpx.AsyncClient, name: str, windows: list[Window], admin: str) -> None:
        self.client = client
        self.name = name
        self.record = Record(windows)
        self.admin = {"Authorization": f"Bearer {admin}"}
        self.key = ""
        self._tokens: dict[str, Any] = {}

    async def ask(self) -> None:
        """Ask once, in one of the ways."""
        ways = [self._by_evaluation, self._by_request]
        if self.key:
            ways.append(self._by_introspection)
        await random.choice(ways)()

    async def _by_request(self) -> None:
        token = self.key or (self._tokens or await self._renewed())["accessToken"]
        sent = time.time()
        answer = await self.client.get("/api/role/list", headers={"Authorization": f"Bearer {token}"})
        if answer.status_code == 401:
            await self._renewed()
        else:
            self._keep(sent, answer, answer.status_code == 200)

    async def _by_evaluation(self) -> None:
        body = {
            "subject": {"type": "user", "id": self.name},
            "action": {"name": "use"},
            "resource": {"type": "permission", "id": LIST},
        }
        sent = time.time()
        answer = await self.client.post("/access/v1/evaluation", json=body, headers=self.admin)
        self._keep(sent, answer, answer.status_code == 200 and answer.json()["decision"])

    async def _by_introspection(self) -> None:
        sent = time.time()
        answer = await self.client.post("/oauth/introspect", data={"token": self.key}, headers=self.admin)
        self._keep(sent, answer, answer.status_code == 200 and LIST in answer.json()["scope"].split())

    def _keep(self, sent: float, answer: httpx.Response, allowed: bool) -> None:
        if (
            answer.status_code == 503 and self.patient
        ):  # a worker that stood still may take a store for silent
            return
        assert answer.status_code in (200, 403), answer.text
        self.record.answers.append(Answered(sent, time.time(), allowed))

    async def _renewed(self) -> dict[str, Any]:
        """Refresh, or log in where there is no session."""
        path, body = "/api/auth/login", {"userName": self.name, "password": PASSWORD, "device": "web"}
        if self._tokens:
            path, body = "/api/auth/refresh", {"refreshToken": self._tokens["refreshToken"]}
        answer = await self.client.post(path, json=body)
        if answer.status_code == 200:
            self._tokens = answer.json()["data"]
        elif answer.status_code == 401:
            self._tokens = {}
        return self._tokens or await self._renewed()


def windows_of(now: float, seconds: float) -> list[Window]:
    """Return windows at random, in whole milliseconds, with pauses between them."""
    windows, at = [], now + random.uniform(0, 2)
    while at < now + seconds:
        end = at + random.uniform(0.5, 4)
        windows.append(Window(round(at, 3), round(end, 3)))
        at = end + random.uniform(0.5, 4)
    return windows


async def callers_of(
    url: str, client: httpx.AsyncClient, number: int, *, seconds: float, admin: str
) -> list[Caller]:
    """Write persons and service accounts with windows; a third of them are service accounts."""
    now, callers, given = time.time(), [], []
    async with await psycopg.AsyncConnection.connect(url) as connection:

        async def written(statement: str, *values: Any) -> int:
            row = await (await connection.execute(statement.encode(), values)).fetchone()
            assert row is not None
            written_id: int = row[0]
            return written_id

        role_id = await written(ROLE)
        await connection.execute(GIVES, (role_id, LIST))
        for place in range(number):
            name = f"heron-{place}"
            caller = Caller(client, name, windows_of(now, seconds), admin)
            user_id = await written(PERSON if place % 3 else ROBOT, name, name, name)
            if not place % 3:
                secret = new_secret()
                key_id = await written(KEY, user_id, ApiKey(1, secret).digest_of("service"))
                caller.key = str(ApiKey(key_id, secret))
            given += [(user_id, window) for window in caller.record.windows]
            callers.append(caller)
    await give_windows(url, role_id, given)
    return callers


@contextmanager
def service_on(
    stores: EmbeddedStores, template: str, folder: Path, workers: int
) -> Iterator[tuple[Running, str]]:
    """Run a service, all of whose jobs are stopped; with the URL of its database."""
    with database(stores, template) as url, session_store(stores) as redis_url:
        variables = variables_for(url, redis_url) | PATIENT
        with running(folder, "--workers", str(workers), **variables) as service:
            assert eventually(lambda: len(service.workers) == workers, patience=PATIENCE)
            yield service, url


async def stop_jobs(url: str) -> None:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await connection.execute("UPDATE sys.job SET paused = true")


async def stand_still(service: Running, every: float, lasts: float) -> None:
    """Stop a worker for a while, again and again."""
    while True:
        await asyncio.sleep(every)
        pid = service.workers[0]
        await asyncio.to_thread(freeze, pid)
        await asyncio.sleep(lasts)
        os.kill(pid, signal.SIGCONT)


async def answered(
    service: Running, url: str, *, callers: int, answers: int, freezing: bool
) -> tuple[list[str], int]:
    """Ask until that many answers have come; return what is wrong with them, and how often they changed."""
    limits = httpx.Limits(max_connections=callers + 5, max_keepalive_connections=callers + 5)
    async with httpx.AsyncClient(
        base_url=service.url, timeout=PATIENCE, trust_env=False, verify=False, limits=limits
    ) as client:
        body = {"userName": "admin", "password": PASSWORD}
        login = (await client.post("/api/auth/login", json=body)).json()["data"]
        await stop_jobs(url)
        seconds = 60 + answers / 20  # far more than it takes, also beside other work
        asking = await callers_of(url, client, callers, seconds=seconds, admin=login["accessToken"])
        deadline = time.monotonic() + seconds
        for caller in asking:
            caller.patient = freezing

        def number() -> int:
            return sum(len(caller.record.answers) for caller in asking)

        async def ask_on(caller: Caller) -> None:
            while number() < answers:
                assert time.monotonic() < deadline, f"{number()} answers only"
                await caller.ask()

        freezer = asyncio.create_task(stand_still(service, 4, 2.5)) if freezing else None
        try:
            async with asyncio.TaskGroup() as group:
                for caller in asking:
                    group.create_task(ask_on(caller))
        finally:
            if freezer is not None:
                freezer.cancel()
                for pid in service.workers:
                    os.kill(pid, signal.SIGCONT)
    faults = [f"{caller.name}: {fault}" for caller in asking for fault in caller.record.faults()]
    return faults, sum(len(caller.record.kinds) for caller in asking)


@pytest.mark.feature("decisions")
async def test_no_answer_is_by_a_right_that_has_ended_or_not_begun(
    stores: EmbeddedStores, published_template: str, tmp_path: Path
) -> None:
    """Some hundred answers of two workers, all jobs stopped."""
    with service_on(stores, published_template, tmp_path, 2) as (service, url):
        faults, changes = await answered(service, url, callers=12, answers=1200, freezing=False)
    assert faults == []
    assert changes > 15


@pytest.mark.feature("decisions")
@pytest.mark.extended
async def test_none_of_many_answers_is_by_such_a_right_also_of_a_worker_that_stood_still(
    stores: EmbeddedStores, published_template: str, tmp_path: Path
) -> None:
    """20,000 of four workers, all jobs stopped, one of them frozen across boundaries and continued."""
    with service_on(stores, published_template, tmp_path, 4) as (service, url):
        faults, changes = await answered(service, url, callers=40, answers=20_000, freezing=True)
    assert faults == []
    assert changes > 200
