"""What sessions cost: logins and refreshes a second on one core, and the online list when it is long.

The server has one worker on one core, and the load comes from another. Rounds alternate and each ratio is
that of neighbouring rounds, so that a machine whose speed drifts does no harm.
"""

# ruff: noqa: T201 - it talks to a person at a terminal

from __future__ import annotations

import asyncio
import json
import os
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psycopg
import uvloop
from argon2 import PasswordHasher

from service.authz.publishing.shipped import read_shipped
from service.embedded import EmbeddedStores
from service.keyspace import SessionFacts, SessionStore
from service.launch.prepare import publish_policy
from service.settings import Settings, load
from tests.benchmarks.load import Connection, json_request, request_bytes
from tests.benchmarks.servers import FIRST_CORE, Server, pin_to_last_core, serving_worker
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD, seed_database

ROUNDS = 5
SECONDS = 3.0
CONNECTIONS = 16
VERIFICATIONS = 40
SIZES = (1_000, 100_000)
REQUESTS = 40
FIRST_ID = 1_000_000  # of the users who are only in the store
BATCH = 500
LIMIT = 3.0
PASSWORD = "three wary herons"


def main() -> None:
    """Print the rates of logins and refreshes, and the times of the online list, with their ratios."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        place = Path(folder)
        with EmbeddedStores(place / "data", durable=False) as stores:
            seed_database(stores.database_url)
            pin_to_last_core()
            environ = _environment(stores.database_url, place)
            settings = load({**environ, "REDIS_URL": stores.redis_url})
            publish_policy(settings, read_shipped())
            _make_users(settings)
            with serving_worker({**environ, "REDIS_URL": f"{stores.redis_url}?db=1"}) as server:
                _print_rates(server, settings)
            _print_list(environ, stores.redis_url)


def _environment(database_url: str, place: Path) -> dict[str, str]:
    # Attempts are counted as ever; the limits are out of reach.
    limits = ("LOGIN_ACCOUNT", "LOGIN_ADDRESS", "REFRESH_ACCOUNT", "REFRESH_ADDRESS")
    return {f"PORTCULLIS_THROTTLE__{name}": "1000000" for name in limits} | {
        "DATABASE_URL": database_url,
        "JWT_SECRET": secrets.token_hex(32),
        "PORTCULLIS_CONFIG": "",
        "PORTCULLIS_SERVER__DATA": str(place / "service"),
        "PORTCULLIS_LOG__FORMAT": "json",
    }


def _hasher(settings: Settings) -> PasswordHasher:
    chosen = settings.password
    return PasswordHasher(chosen.argon2_time, chosen.argon2_memory, chosen.argon2_parallelism)


def _make_users(settings: Settings) -> None:
    """Make a user for each connection, so that no login waits for another of the same user."""
    password_hash = _hasher(settings).hash(PASSWORD)
    with psycopg.connect(settings.database.url) as connection, connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
            " VALUES (%(name)s, %(name)s, %(name)s, %(hash)s)",
            [{"name": f"user{number}", "hash": password_hash} for number in range(CONNECTIONS)],
        )


class _Caller:
    """A user who logs in and refreshes over its own connection."""

    def __init__(self, port: int, user_name: str, connection: Connection) -> None:
        credentials = {"userName": user_name, "password": PASSWORD, "device": "web"}
        self._login = json_request("POST", "/api/auth/login", port, credentials)
        self._port = port
        self._connection = connection
        self._refresh_token = ""

    async def log_in(self) -> None:
        """Log in, replacing the session of before."""
        self._keep(await self._connection.ask(self._login))

    async def refresh(self) -> None:
        """Spend the refresh token for the next one."""
        body = {"refreshToken": self._refresh_token}
        self._keep(await self._connection.ask(json_request("POST", "/api/auth/refresh", self._port, body)))

    def _keep(self, answer: bytes) -> None:
        self._refresh_token = json.loads(answer)["data"]["refreshToken"]


@dataclass(frozen=True)
class _Rate:
    """Requests a second, and processor seconds of the server for each."""

    rate: float
    cpu: float


@dataclass(frozen=True)
class _Round:
    """Seconds of one verification alone, and what came of logins and refreshes right after it."""

    verification: float
    logins: _Rate
    refreshes: _Rate


def _print_rates(server: Server, settings: Settings) -> None:
    rounds = uvloop.run(_rounds(server, settings))
    chosen, alone = settings.password, median(one.verification for one in rounds)
    print(
        f"Argon2id with {chosen.argon2_memory:,} KiB, {chosen.argon2_time} passes and "
        f"{chosen.argon2_parallelism} lane(s): {alone * 1000:.1f} ms, {1 / alone:.1f}/s on one core"
    )
    print(f"one worker on one core, {CONNECTIONS} connections, {ROUNDS} rounds of {SECONDS:.0f} s:")
    for name, found in (
        ("logins", [one.logins for one in rounds]),
        ("refreshes", [one.refreshes for one in rounds]),
    ):
        rate, cpu = median(one.rate for one in found), median(one.cpu for one in found)
        print(f"  {name:<10} {rate:9,.1f}/s   {cpu * 1000:6.2f} ms of processor time each")
    _print_share("time", [1 - one.verification * one.logins.rate for one in rounds])
    _print_share("processor time", [1 - one.verification / one.logins.cpu for one in rounds])
    print(flush=True)


def _print_share(kind: str, shares: list[float]) -> None:
    spread = f"{min(shares):.1%} to {max(shares):.1%}"
    print(f"  share of a login that is not Argon2, by {kind}: {median(shares):.1%} ({spread})")


async def _rounds(server: Server, settings: Settings) -> list[_Round]:
    connections = [await Connection.open(server.port) for _ in range(CONNECTIONS)]
    callers = [_Caller(server.port, f"user{number}", one) for number, one in enumerate(connections)]
    rounds = []
    for _ in range(ROUNDS):
        alone = _verification(settings)
        logins = await _rate(server, [caller.log_in for caller in callers])
        rounds.append(_Round(alone, logins, await _rate(server, [caller.refresh for caller in callers])))
    for connection in connections:
        connection.close()
    return rounds


async def _rate(server: Server, works: list[Callable[[], Awaitable[None]]]) -> _Rate:
    """Do each of ``works`` again and again for ``SECONDS``, all side by side."""
    cpu, start = server.cpu_seconds(), time.perf_counter()

    async def repeated(work: Callable[[], Awaitable[None]]) -> int:
        count = 0
        while time.perf_counter() - start < SECONDS:
            await work()
            count += 1
        return count

    async with asyncio.timeout(10 * SECONDS):
        done = sum(await asyncio.gather(*map(repeated, works)))
    return _Rate(done / (time.perf_counter() - start), (server.cpu_seconds() - cpu) / done)


def _verification(settings: Settings) -> float:
    """Return the seconds of one verification on the core of the server, which has nothing to do meanwhile."""
    hasher, here = _hasher(settings), os.sched_getaffinity(0)
    stored = hasher.hash(PASSWORD)
    os.sched_setaffinity(0, FIRST_CORE)
    try:
        start = time.perf_counter()
        for _ in range(VERIFICATIONS):
            hasher.verify(stored, PASSWORD)
        return (time.perf_counter() - start) / VERIFICATIONS
    finally:
        os.sched_setaffinity(0, here)


def _print_list(environ: Mapping[str, str], redis_url: str) -> None:
    with ExitStack() as stack:
        servers = []
        for number, size in enumerate(SIZES, 2):
            own = {**environ, "REDIS_URL": f"{redis_url}?db={number}"}
            uvloop.run(_fill(load(own), size))
            servers.append(stack.enter_context(serving_worker(own)))
        found = uvloop.run(_list_rounds(servers))
    print(f"the online list, one request at a time, {ROUNDS} rounds of {REQUESTS}:")
    for name, pairs in found.items():
        few, many = (median(pair[column] for pair in pairs) for column in (0, 1))
        ratios = [many / few for few, many in pairs]
        times = f"{few * 1000:6.2f} ms at {SIZES[0]:,} sessions, {many * 1000:6.2f} ms at {SIZES[1]:,}"
        ratio = f"ratio {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        kept = "is kept" if median(ratios) <= LIMIT else "is NOT kept"
        print(f"  {name:<12} {times}: {ratio}; at most {LIMIT:g} {kept}")
    print(flush=True)


async def _fill(settings: Settings, size: int) -> None:
    """Open a session for each of ``size`` users who are in no database, as logins would."""
    store = SessionStore(settings.redis, settings.auth)
    as_of = 2**52  # they have read the latest of everything

    async def opened(number: int) -> None:
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        facts = SessionFacts(f"someone{number}", "Someone", address, "benchmark", "", "")
        await store.open_session(str(FIRST_ID + number), "web", f"{number:024d}", facts, as_of=as_of)

    async with asyncio.timeout(300):
        for start in range(0, size, BATCH):
            await asyncio.gather(*map(opened, range(start, min(start + BATCH, size))))
    await store.close()


async def _list_rounds(servers: list[Server]) -> dict[str, list[tuple[float, float]]]:
    """Return for each kind of request the seconds at both sizes, round by round."""
    administrators = [
        await _Administrator.open(server.port, size) for server, size in zip(servers, SIZES, strict=True)
    ]
    found: dict[str, list[tuple[float, float]]] = {}
    for number in range(ROUNDS):
        for name in ("first page", "last page", "kick"):
            few, many = [await one.seconds(name, number) for one in administrators]
            found.setdefault(name, []).append((few, many))
    return found


class _Administrator:
    """Asks one server for pages of the online list, and kicks users, one request after another."""

    def __init__(self, port: int, size: int, token: str, connection: Connection) -> None:
        self._port = port
        self._size = size
        self._headers = {"Authorization": f"Bearer {token}"}
        self._connection = connection

    @classmethod
    async def open(cls, port: int, size: int) -> _Administrator:
        """Log in."""
        connection = await Connection.open(port)
        credentials = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
        answer = await connection.ask(json_request("POST", "/api/auth/login", port, credentials))
        return cls(port, size, json.loads(answer)["data"]["accessToken"], connection)

    async def seconds(self, name: str, round_number: int) -> float:
        """Return the median seconds of a request called ``name``."""
        times = []
        for number in range(REQUESTS):
            request = self._request(name, round_number * REQUESTS + number)
            async with asyncio.timeout(30):
                start = time.perf_counter()
                await self._connection.ask(request)
                times.append(time.perf_counter() - start)
        return median(times)

    def _request(self, name: str, number: int) -> bytes:
        if name == "kick":
            path = f"/api/online/{FIRST_ID + number}"
            return request_bytes(path, self._port, "DELETE", **self._headers)
        page = 1 if name == "first page" else self._size // 20 - ROUNDS * REQUESTS // 20
        return request_bytes(f"/api/online/list?page={page}&size=20", self._port, **self._headers)
