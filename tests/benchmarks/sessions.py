"""What sessions cost: logins and refreshes on one core, requests during logins, and a long online list.

The server has one worker on one core, and the load comes from another. Rounds alternate and each ratio is
that of neighbouring rounds, so that a machine whose speed drifts does no harm.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import psycopg
import uvloop
from argon2 import PasswordHasher

from service.authz.publishing.shipped import read_shipped
from service.features.embedded.stores import EmbeddedStores
from service.keyspace import SessionFacts, SessionStore
from service.server.prepare import publish_policy
from service.settings import Settings, load
from tests.benchmarks.during_logins import LogIn, guarded_during_logins
from tests.benchmarks.frame.results import Pace, Result, at_least, at_most, result
from tests.benchmarks.load import Connection, json_request, request_bytes
from tests.benchmarks.servers import FIRST_CORE, Server, pin_to_last_core, serving_worker
from tests.support.running import descendants
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD, seed_database

CONNECTIONS = 16
PEOPLE = 100
"""Who log in at the same time, while a guarded request is measured."""
VERIFICATIONS = 40
SIZES = (1_000, 100_000)
REQUESTS = 40
FIRST_ID = 1_000_000  # of the users who are only in the store
BATCH = 500
LIMIT = 3.0
LOGIN, REFRESHES = 1.12, 1_650
"""Times Argon2 alone, and a second."""
LOGINS = "A login, and what of it is Argon2"
MOST_ROUNDS = 10
_WARM_UP = 0.5  # seconds
PASSWORD = "three wary herons"


def main(pace: Pace) -> Iterator[Result]:
    """Yield logins and refreshes, against Argon2 alone, and the times of the online list."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        place = Path(folder)
        with EmbeddedStores(place / "data", durable=False) as stores:
            seed_database(stores.database_url)
            pin_to_last_core()
            environ = environment_of(stores.database_url, place)
            settings = load({**environ, "REDIS_URL": stores.redis_url})
            publish_policy(settings, read_shipped())
            make_users(settings)
            with serving_worker({**environ, "REDIS_URL": f"{stores.redis_url}?db=1"}) as server:
                yield from _rates(server, settings, pace, stores)
                yield from guarded_during_logins(server, partial(_people, server.port), pace)
            yield from _lists(environ, stores.redis_url, pace.rounds)


LIMITS = {
    f"PORTCULLIS_THROTTLE__{name}": "1000000"
    for name in ("LOGIN_ACCOUNT", "LOGIN_ADDRESS", "REFRESH_ACCOUNT", "REFRESH_ADDRESS")
} | {"PORTCULLIS_PASSWORD__MAX_WAITING": str(PEOPLE)}
"""Attempts are counted as ever; the limits are out of reach."""


def environment_of(database_url: str, place: Path) -> dict[str, str]:
    return LIMITS | {
        "DATABASE_URL": database_url,
        "JWT_SECRET": secrets.token_hex(32),
        "PORTCULLIS_CONFIG": "",
        "PORTCULLIS_SERVER__DATA": str(place / "service"),
        "PORTCULLIS_LOG__FORMAT": "json",
        "PORTCULLIS_PASSWORD__INITIAL": "false",  # all log in with the password that they were made with
    }


def _hasher(settings: Settings) -> PasswordHasher:
    chosen = settings.password
    return PasswordHasher(chosen.argon2_time, chosen.argon2_memory, chosen.argon2_parallelism)


def make_users(settings: Settings, hasher: PasswordHasher | None = None) -> None:
    """Make a user for each login at the same time, so that none waits for another of the same user.

    Their password is hashed by ``hasher``, or else as the ``settings`` say.
    """
    password_hash = (hasher or _hasher(settings)).hash(PASSWORD)
    with psycopg.connect(settings.database.url) as connection, connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
            " VALUES (%(name)s, %(name)s, %(name)s, %(hash)s)",
            [{"name": f"user{number}", "hash": password_hash} for number in range(PEOPLE)],
        )


class Caller:
    """A user who logs in and refreshes over its own connection."""

    def __init__(self, port: int, user_name: str, connection: Connection) -> None:
        credentials = {"userName": user_name, "password": PASSWORD, "device": "web"}
        self._login = json_request("POST", "/api/auth/login", port, credentials)
        self._port = port
        self._connection = connection
        self._refresh_token = self._access_token = ""

    async def log_in(self) -> None:
        """Log in, replacing the session of before."""
        self._keep(await self._connection.ask(self._login))

    async def refresh(self) -> None:
        """Spend the refresh token for the next one."""
        body = {"refreshToken": self._refresh_token}
        self._keep(await self._connection.ask(json_request("POST", "/api/auth/refresh", self._port, body)))

    async def read(self) -> None:
        """Read the caller's own data."""
        bearer = f"Bearer {self._access_token}"
        await self._connection.ask(request_bytes("/api/user/info", self._port, Authorization=bearer))

    def _keep(self, answer: bytes) -> None:
        data = json.loads(answer)["data"]
        self._refresh_token, self._access_token = data["refreshToken"], data["accessToken"]


async def _people(port: int) -> list[LogIn]:
    """Return for each person what logs in, over its own connection."""
    callers = [Caller(port, f"user{number}", await Connection.open(port)) for number in range(PEOPLE)]
    return [caller.log_in for caller in callers]


@dataclass(frozen=True)
class _Rate:
    """Requests a second, and processor seconds of the server and of each store for each request."""

    rate: float
    cpu: float
    stores: Mapping[str, float]


@dataclass(frozen=True)
class _Round:
    """Processor seconds of one verification alone, and what came of the requests right after it."""

    verification: float
    logins: _Rate
    refreshes: _Rate
    reads: _Rate


def _rates(server: Server, settings: Settings, pace: Pace, stores: EmbeddedStores) -> Iterator[Result]:
    rounds = uvloop.run(_rounds(server, settings, pace, stores))
    unit = "ms of processor time"
    alone = result("Argon2id alone", unit, [run.verification * 1000 for run in rounds], chart=LOGINS)
    yield alone
    logins, refreshes = [run.logins for run in rounds], [run.refreshes for run in rounds]
    yield result(
        "a login",
        unit,
        [login.cpu * 1000 for login in logins],
        against=alone,
        goals=[at_most(LOGIN, "ratio")],
        chart=LOGINS,
    )
    yield result("logins", "a second", [login.rate for login in logins], better="more")
    yield result("a refresh", unit, [refresh.cpu * 1000 for refresh in refreshes])
    rates = [refresh.rate for refresh in refreshes]
    yield result("refreshes", "a second", rates, better="more", goals=[at_least(REFRESHES)])
    reads = [run.reads for run in rounds]
    yield result("the caller's own data", unit, [read.cpu * 1000 for read in reads])
    for name, each in (("a login", logins), ("a refresh", refreshes), ("the caller's own data", reads)):
        for store in each[0].stores:
            yield result(f"{name}, in {store}", unit, [rate.stores[store] * 1000 for rate in each])


async def _rounds(server: Server, settings: Settings, pace: Pace, stores: EmbeddedStores) -> list[_Round]:
    connections = [await Connection.open(server.port) for _ in range(CONNECTIONS)]
    callers = [
        Caller(server.port, f"user{number}", client_connection)
        for number, client_connection in enumerate(connections)
    ]
    log_in, refresh = [caller.log_in for caller in callers], [caller.refresh for caller in callers]
    read = [caller.read for caller in callers]
    rounds = []
    for seconds in [_WARM_UP, *[1.5 * pace.seconds] * pace.rounds]:
        alone = _verification(settings)
        logins = await rate_of(server, log_in, seconds, stores)
        refreshes = await rate_of(server, refresh, seconds, stores)
        reads = await rate_of(server, read, seconds / 3, stores)
        rounds.append(_Round(alone, logins, refreshes, reads))
    for connection in connections:
        connection.close()
    return rounds[1:]


async def rate_of(
    server: Server, works: Sequence[Callable[[], Awaitable[None]]], seconds: float, stores: EmbeddedStores
) -> _Rate:
    """Do each of ``works`` again and again for ``seconds``, all side by side."""
    before = _used(stores)
    cpu, start = server.cpu_seconds(), time.perf_counter()

    async def repeated(work: Callable[[], Awaitable[None]]) -> int:
        count = 0
        while time.perf_counter() - start < seconds:
            await work()
            count += 1
        return count

    async with asyncio.timeout(30 + seconds):
        done = sum(await asyncio.gather(*map(repeated, works)))
    rate, own = done / (time.perf_counter() - start), (server.cpu_seconds() - cpu) / done
    return _Rate(rate, own, {name: (used - before[name]) / done for name, used in _used(stores).items()})


def _used(stores: EmbeddedStores) -> dict[str, float]:
    """Return the processor seconds of each store, with all its processes that have not ended."""
    return {
        name: sum(Server(0, each).cpu_seconds() for each in [pid, *descendants(pid)])
        for name, pid in (("PostgreSQL", stores.postgres.pid), ("Valkey", stores.valkey.pid))
        if pid is not None
    }


def _verification(settings: Settings) -> float:
    """Return the processor seconds of one verification, on the core of the server, idle meanwhile."""
    hasher, here = _hasher(settings), os.sched_getaffinity(0)
    stored = hasher.hash(PASSWORD)
    os.sched_setaffinity(0, FIRST_CORE)
    try:
        start = time.process_time()
        for _ in range(VERIFICATIONS):
            hasher.verify(stored, PASSWORD)
        return (time.process_time() - start) / VERIFICATIONS
    finally:
        os.sched_setaffinity(0, here)


def _lists(environ: Mapping[str, str], redis_url: str, rounds: int) -> Iterator[Result]:
    with ExitStack() as stack:
        servers = []
        for number, size in enumerate(SIZES, 2):
            own = {**environ, "REDIS_URL": f"{redis_url}?db={number}"}
            uvloop.run(fill(load(own), size))
            servers.append(stack.enter_context(serving_worker(own)))
        timings = uvloop.run(_list_rounds(servers, rounds))
    for name, pairs in timings.items():
        few, many = ([1000 * seconds for seconds in column] for column in zip(*pairs, strict=True))
        reference = result(f"the same of {SIZES[0]:,}", "ms", few)
        goals = [at_most(LIMIT, "ratio")]
        yield result(
            f"{name}, {SIZES[1]:,} online",
            "ms",
            many,
            against=reference,
            goals=goals,
            chart="The online list",
        )


async def fill(settings: Settings, size: int) -> None:
    """Open a session for each of ``size`` users who are in no database, as logins would."""
    async with SessionStore(settings.redis, settings.auth) as store:

        async def opened(number: int) -> None:
            address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            facts = SessionFacts(f"someone{number}", "Someone", address, "benchmark", "", "")
            await store.open_session(str(FIRST_ID + number), "web", f"{number:024d}", facts, seen=b"")

        async with asyncio.timeout(300):
            for start in range(0, size, BATCH):
                await asyncio.gather(*map(opened, range(start, min(start + BATCH, size))))


async def _list_rounds(servers: list[Server], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return for each kind of request the seconds at both sizes, round by round."""
    administrators = [
        await Administrator.open(server.port, size) for server, size in zip(servers, SIZES, strict=True)
    ]
    timings: dict[str, list[tuple[float, float]]] = {}
    for number in range(rounds):
        for name in ("first page", "last page", "kick"):
            few, many = [await administrator.seconds(name, number) for administrator in administrators]
            timings.setdefault(name, []).append((few, many))
    return timings


class Administrator:
    """Asks one server for pages of the online list, and kicks users, one request after another."""

    def __init__(self, port: int, size: int, token: str, connection: Connection) -> None:
        self._port = port
        self._size = size
        self._headers = {"Authorization": f"Bearer {token}"}
        self._connection = connection

    @classmethod
    async def open(cls, port: int, size: int) -> Administrator:
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
        page = 1 if name == "first page" else self._size // 20 - MOST_ROUNDS * REQUESTS // 20
        return request_bytes(f"/api/online/list?page={page}&size=20", self._port, **self._headers)
