"""A hub that signs by ES256, with a service to follow, and followers in the test's own process."""

import asyncio
import itertools
import json
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import httpx
import pytest

from service.authn.signing_keys import new_pair
from service.features.embedded.stores import EmbeddedStores
from service.features.follower.following import Follower
from service.features.follower.hub import Hub
from service.features.follower.library import point_of
from service.features.follower.point import DecisionPoint
from service.features.follower.settings import PdpSettings
from service.keyspace import SessionStore
from service.settings import Auth, Redis
from tests.support.databases import database, session_store
from tests.support.inside import Inside, all_decisions, inside_published
from tests.support.members import ids_of
from tests.support.valkey_cluster import ValkeyCluster
from tests.support.waiting import eventually_here
from tests.web.driver import JSON, ask

_numbers = itertools.count(1)
Before = Callable[[httpx.Request], Awaitable[None]]


class HubTransport(httpx.AsyncBaseTransport):
    """Carries requests to a hub in the same process; ``before`` and ``after`` may delay or refuse them."""

    def __init__(self, hub: Inside) -> None:
        self.hub = hub
        self.before: Before | None = None
        self.after: Before | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.before is not None:
            await self.before(request)
        token = request.headers["authorization"].removeprefix("Bearer ")
        headers = [("Content-Type", "application/json")]
        answer = await self.hub.ask_raw(
            request.method, request.url.path, request.content, *headers, token=token
        )
        if self.after is not None:
            await self.after(request)
        return httpx.Response(answer.status, headers=list(answer.headers), content=answer.body)


class Rewriting(httpx.AsyncBaseTransport):
    """Carries renewals to a hub in the same process, and changes the answers."""

    def __init__(self, transport: HubTransport) -> None:
        self._transport = transport
        self.renewals = 0

    def rewrite(self, content: Any) -> None:
        """Change an answer, in place."""
        raise NotImplementedError

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.renewals += 1
        answer = await self._transport.handle_async_request(request)
        content = json.loads(await answer.aread())
        if answer.status_code == 200:
            self.rewrite(content)
        return httpx.Response(answer.status_code, json=content)


class OfAnotherHub(Rewriting):
    """Carries renewals to a hub of another issuer of tokens, other rights of who follows, or another time."""

    issuer: str | None = None
    bound_to: str | None = None
    time: float | None = None
    later = 0.0

    def rewrite(self, content: Any) -> None:
        if self.issuer is not None:
            content["tokens"]["issuer"] = self.issuer
        if self.bound_to is not None:
            content["account"]["service"] = self.bound_to
        content["time"] = (self.time or content["time"]) + self.later


class House:
    """A hub with the service ``orders``, whose administrator changes it by requests."""

    def __init__(self, hub: Inside, folder: Path) -> None:
        self.hub = hub
        self.folder = folder
        self.transport = HubTransport(hub)
        self.log = folder / "decisions"

    async def data(self, method: str, target: str, body: Any = None) -> Any:
        return await self.hub.data(method, target, body)

    async def button(self, code: str) -> int:
        body = {"menuType": "Button", "title": code, "authMark": code}
        return int((await self.data("POST", "/api/menu", body))["id"])

    async def resource(self, method: str, path: str, *buttons: int, **more: Any) -> int:
        code = f"orders.{next(_numbers)}"
        body = {
            "resourceName": code,
            "resourceCode": code,
            "method": method,
            "path": path,
            "service": "orders",
        }
        made = await self.data("POST", "/api/resource", body | more)
        await self.data("PUT", f"/api/resource/{made['id']}/buttons", {"menuIds": list(buttons)})
        return int(made["id"])

    async def role(self, name: str, *buttons: int) -> int:
        made = await self.data("POST", "/api/role", {"roleName": name, "roleCode": name})
        await self.data("PUT", f"/api/role/{made['id']}/permissions", {"menuIds": list(buttons)})
        return int(made["id"])

    async def user(self, name: str, *roles: int, **more: Any) -> int:
        body = {"userName": name, "nickName": name, "roleIds": list(roles), "password": PASSWORD}
        return int((await self.data("POST", "/api/user", body | more))["id"])

    async def account(self, name: str, *roles: int, service: str | None = None) -> tuple[int, str]:
        """Make a service account; return its id and a key of it."""
        body = {"userName": name, "nickName": name, "kind": "service", "roleIds": list(roles)}
        made = await self.data("POST", "/api/user", body | ({"service": service} if service else {}))
        key = await self.data("POST", f"/api/user/{made['id']}/keys", {"name": "k"})
        return int(made["id"]), str(key["key"])

    def settings(self, key: str, **more: Any) -> PdpSettings:
        path = self.folder / f"key-{next(_numbers)}"
        path.write_text(key)
        path.chmod(0o600)
        given: dict[str, Any] = {"hub": "http://hub", "key_file": path, "services": ("orders",)}
        return PdpSettings(**given | more)

    @asynccontextmanager
    async def follower(self, key: str | None = None, **more: Any) -> AsyncIterator[Follower]:
        """A follower that does not renew by itself."""
        settings = self.settings(key or self.key, **more)
        async with Follower(settings, point_of(settings), self.transport) as follower:
            yield follower

    @asynccontextmanager
    async def following(self, key: str | None = None, **more: Any) -> AsyncIterator[Follower]:
        """A follower that runs, and has its lease."""
        async with self.follower(key, **more) as follower, AsyncExitStack() as stack:
            await follower.renew()
            running = asyncio.create_task(follower.run())
            stack.callback(running.cancel)
            yield follower

    key = ""
    buttons: dict[str, int]
    evaluator = ""


PASSWORD = "correct horse battery staple 7"
CODES = ("orders:order:read", "orders:order:write", "orders:report:read")


def may(point: DecisionPoint, user: str, method: str = "GET", path: str = "/orders/7") -> bool:
    return point.may(user, method, path)


async def shown_followers(house: House) -> list[Any]:
    return list((await house.data("GET", "/api/policy/followers"))["followers"])


async def log_in(hub: Inside, name: str) -> str:
    body = json.dumps({"userName": name, "password": PASSWORD}).encode()
    answer = await ask(hub._app, "POST", "/api/auth/login", JSON, body=body)
    assert answer.status == 200, answer.body
    token: str = answer.json["data"]["accessToken"]
    return token


@dataclass(frozen=True)
class Site:
    """A database with a service, Buttons, resources, and accounts that follow and ask, to copy from."""

    template: str
    buttons: dict[str, int]
    key: str
    evaluator: str


@pytest.fixture(scope="session")
def furnished_site(
    stores: EmbeddedStores, published_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Such a database, made once: a copy of it takes a tenth of the time."""
    name = f"followed_{uuid4().hex}"  # of this process alone, also where this file is imported twice
    with database(stores, published_template, name) as url, session_store(stores) as redis_url:
        made = furnished(name, url, redis_url, tmp_path_factory.mktemp("site"))
        # In a thread: the first to ask for it may be a fixture in an event loop.
        with ThreadPoolExecutor(1) as threads:
            yield threads.submit(asyncio.run, made).result()


async def furnished(name: str, url: str, redis_url: str, folder: Path) -> Site:
    """Fill the database ``name``, which is at ``url``, by requests."""
    async with inside_published(url, redis_url) as hub:
        made = House(hub, folder)
        await made.data("POST", "/api/service", {"name": "orders"})
        buttons = {code: await made.button(code) for code in CODES}
        read, write, report = buttons.values()
        await made.resource("GET", "/orders/{id}", read)
        await made.resource("POST", "/orders", write)
        await made.resource("GET", "/reports/{id}", report, read)
        following, asking = await ids_of(hub, "system:policy:follow", "system:policy:evaluate")
        follow = await made.role("follower", following)
        ask = await made.role("asker", following, asking)
        _, key = await made.account("orders-pdp", follow, service="orders")
        _, evaluator = await made.account("orders-asker", ask, service="orders")
    return Site(name, buttons, key, evaluator)


@asynccontextmanager
async def housed(
    stores: EmbeddedStores, site: Site, redis_url: str, folder: Path, **more: str
) -> AsyncIterator[House]:
    """A hub on a copy of ``site``; ``more`` are its variables."""
    pair = new_pair("ES256")
    for name, pem in (("private", pair.private), ("public", pair.public)):
        (folder / name).write_bytes(pem)
        (folder / name).chmod(0o600)
    variables = {
        "PORTCULLIS_AUTH__JWT_ALGORITHM": "ES256",
        "PORTCULLIS_AUTH__JWT_PRIVATE_KEY": str(folder / "private"),
        "PORTCULLIS_AUTH__JWT_PUBLIC_KEY": str(folder / "public"),
        **all_decisions(folder / "decisions"),
    }
    with database(stores, site.template) as url:
        async with inside_published(url, redis_url, **variables | more) as hub:
            made = House(hub, folder)
            made.buttons = dict(site.buttons)
            made.key, made.evaluator = site.key, site.evaluator
            yield made


@pytest.fixture(scope="module")
async def house(
    stores: EmbeddedStores,
    furnished_site: Site,
    module_redis_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[House]:
    """A house on one server."""
    folder = tmp_path_factory.mktemp("pdp")
    async with housed(stores, furnished_site, module_redis_url, folder) as made:
        yield made


@pytest.fixture(scope="module")
def valkey_cluster() -> Iterator[ValkeyCluster]:
    """A cluster for a module."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder, ValkeyCluster(Path(folder)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
async def house_on_a_cluster(
    stores: EmbeddedStores,
    furnished_site: Site,
    valkey_cluster: ValkeyCluster,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[House]:
    """A house on a cluster, whose tokens are followed."""
    folder = tmp_path_factory.mktemp("pdp")
    wait = {"PORTCULLIS_REDIS__WAIT_REPLICAS": "1"}
    async with housed(stores, furnished_site, valkey_cluster.url, folder, **wait) as made:
        async with made.follower() as follower:
            await follower.renew()
            # Tokens from before the lists of revocations began count for nothing.
            since = follower.point.state.whole_since
            assert await eventually_here(lambda: 1000 * time.time() > since)
        yield made


@asynccontextmanager
async def waiting_hub(house: House, patience: float) -> AsyncIterator[Hub]:
    """A hub that waits for followers, and forgets them at the end."""
    async with SessionStore(Redis(url=house.hub.redis_url), Auth()) as store:
        hub = Hub(cast(Any, None), store, cast(Any, None), cast(Any, None), Auth(), patience=patience)
        yield hub
        await store.followers.forget(*(each.key for each in await hub.followers()))
