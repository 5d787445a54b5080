"""Two nodes behind a proxy of deploy/ are restarted one after the other, and no client notices."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from service.server.stop_order import GRACE
from tests.service.callers import PASSWORD
from tests.service.conftest import variables_for
from tests.service.node_pair import Pair
from tests.support.databases import database
from tests.support.deployed_proxies import HOST, KINDS, deployed
from tests.support.running import PATIENT

READERS, WRITERS, REFRESHERS = 3, 3, 4
TIMES = 2
"""How often both nodes are restarted."""


@dataclass
class Noticed:
    """What clients saw: statuses by kind of request, and answers that they should not have got."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    written: dict[int, str] = field(default_factory=dict)
    """The last acknowledged description of each role."""
    changes: int = 0
    """How many changes were acknowledged."""
    slowest: float = 0.0
    """Seconds that a client waited at most."""


class Client:
    """A client with a session of its own, whose connections the proxy keeps."""

    def __init__(self, http: httpx.AsyncClient, noticed: Noticed, name: str) -> None:
        self._http = http
        self._noticed = noticed
        self._name = name
        self._tokens: dict[str, str] = {}

    async def log_in(self) -> None:
        body = {"userName": "admin", "password": PASSWORD, "device": self._name}
        self._tokens = await self._ask("login", "POST", "/api/auth/login", body) or {}

    async def read(self, over: asyncio.Event) -> None:
        """Read until it is over."""
        while not over.is_set():
            await self._ask("read", "GET", "/api/user/info")
            await asyncio.sleep(0.01)

    async def write(self, over: asyncio.Event) -> None:
        """Count in the description of a role, until it is over."""
        made = await self._ask("write", "POST", "/api/role", {"roleName": self._name, "roleCode": self._name})
        assert made is not None, self._noticed.faults
        number = 0
        while not over.is_set():
            number += 1
            path = f"/api/role/{made['id']}"
            if await self._ask("write", "PATCH", path, {"description": str(number)}):
                self._noticed.written[made["id"]] = str(number)
                self._noticed.changes += 1
            await asyncio.sleep(0.02)

    async def refresh(self, over: asyncio.Event) -> None:
        """Spend refresh tokens until it is over, and read with each new access token."""
        while not over.is_set():
            body = {"refreshToken": self._tokens["refreshToken"]}
            self._tokens = await self._ask("refresh", "POST", "/api/auth/refresh", body) or self._tokens
            await self._ask("read anew", "GET", "/api/user/info")
            await asyncio.sleep(0.02)

    async def _ask(self, kind: str, method: str, path: str, body: Any = None) -> dict[str, Any] | None:
        """Return the data of an answer; None where there is none, which is a fault."""
        heads = {"Host": HOST}
        if self._tokens:
            heads["Authorization"] = f"Bearer {self._tokens['accessToken']}"
        begun = time.monotonic()
        try:
            answer = await self._http.request(
                method, path, json=body, headers=heads, extensions={"sni_hostname": HOST}
            )
        except httpx.HTTPError as error:
            self._noticed.faults.append(f"{kind}: {error!r}")
            return None
        self._noticed.slowest = max(self._noticed.slowest, time.monotonic() - begun)
        self._noticed.statuses[kind, answer.status_code] += 1
        if not answer.is_success:
            self._noticed.faults.append(f"{kind}: {answer.status_code} {answer.text[:300]}")
            return None
        data: dict[str, Any] = answer.json()["data"]
        return data


@dataclass(frozen=True)
class Installation:
    """Two nodes, and the database they share."""

    nodes: Pair
    database_url: str


async def answering(http: httpx.AsyncClient) -> None:
    """Return once the proxy answers by a node."""
    for _ in range(500):
        with suppress(httpx.HTTPError):
            answer = await http.get(
                "/health/ready", headers={"Host": HOST}, extensions={"sni_hostname": HOST}
            )
            if answer.status_code == 200:
                return
        await asyncio.sleep(0.02)
    raise AssertionError("the proxy does not answer")


@asynccontextmanager
async def calling(kind: str, folder: Path, ports: list[int]) -> AsyncIterator[Noticed]:
    """Let clients call the nodes at these ports through a proxy."""
    noticed, over = Noticed(), asyncio.Event()
    async with (
        deployed(kind, folder, ports) as proxy,
        httpx.AsyncClient(
            base_url=f"https://127.0.0.1:{proxy.port}", verify=proxy.context, trust_env=False, timeout=30
        ) as http,
    ):
        clients = [
            Client(http, noticed, f"client-{number}") for number in range(READERS + WRITERS + REFRESHERS)
        ]
        await answering(http)
        for client in clients:
            await client.log_in()
        acts = [Client.read] * READERS + [Client.write] * WRITERS + [Client.refresh] * REFRESHERS
        tasks = [asyncio.create_task(act(client, over)) for act, client in zip(acts, clients, strict=True)]
        try:
            yield noticed
        finally:
            over.set()
            await asyncio.gather(*tasks)


def check(noticed: Noticed, database_url: str) -> None:
    """See that nobody noticed anything, and that all that was acknowledged is there."""
    print(f"\n{noticed.statuses}, slowest {noticed.slowest:.2f} s")  # noqa: T201 - the figures of a run that is made for them
    assert noticed.faults == []
    assert all(noticed.statuses[kind, 200] > 20 for kind in ("read", "write", "refresh", "read anew"))
    with psycopg.connect(database_url) as connection:
        stored = connection.execute(
            "SELECT id, description FROM sys.role WHERE id = ANY (%s)", [list(noticed.written)]
        ).fetchall()
        assert dict(stored) == noticed.written
        entries = "SELECT count(*) FROM sys.operation_log WHERE method = 'PATCH'"
        assert connection.execute(entries).fetchone() == (noticed.changes,)


async def roll(kind: str, folder: Path, installation: Installation, times: int) -> None:
    async with calling(kind, folder, installation.nodes.ports) as noticed:
        for _ in range(times):
            for number in range(2):
                await asyncio.sleep(0.5)
                await asyncio.to_thread(installation.nodes.restart, number)
        await asyncio.sleep(0.5)
    installation.nodes.stop()  # all entries of the log are written then
    check(noticed, installation.database_url)


@pytest.fixture
def installation(
    stores: EmbeddedStores, seeded_template: str, redis_url: str, tmp_path: Path
) -> Iterator[Installation]:
    with database(stores, seeded_template) as url:
        variables = {
            "PORTCULLIS_SERVER__STOP_GRACE": str(GRACE),  # as where nothing is set
            "PORTCULLIS_AUTH__MAX_DEVICES": "20",
        }
        nodes = Pair(tmp_path, variables_for(url, redis_url) | PATIENT | variables)
        try:
            yield Installation(nodes, url)
        finally:
            nodes.stop()


@pytest.mark.extended
@pytest.mark.parametrize("kind", KINDS)
async def test_no_client_behind_a_proxy_notices_rolling_restarts(
    kind: str, installation: Installation, tmp_path: Path
) -> None:
    await roll(kind, tmp_path, installation, TIMES)
