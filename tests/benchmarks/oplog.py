"""What the operation log costs a request, and how many entries a second stand in the database at the end.

The cost: requests with and without their entries, everything behind those included, in one worker. Rounds
alternate, and each ratio is that of two neighbouring rounds, so that a machine whose speed drifts does no
harm. Processor time is told beside the rates, because it is what lasts when others use the machine as well.
"""

# ruff: noqa: T201 - it talks to a person at a terminal

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx
import psycopg
import uvloop

from service.authz.publishing.shipped import read_shipped
from service.embedded import EmbeddedStores
from service.keyspace import LogCounts, SessionStore
from service.launch.prepare import publish_policy
from service.settings import Auth, Redis, load
from tests.benchmarks.guarded_apps import TEMPLATE
from tests.benchmarks.load import json_request, rate, request_bytes
from tests.benchmarks.servers import Server, pin_to_last_core, serving, serving_worker
from tests.support.running import ROOT, descendants
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD, seed_database

APPS = "tests.benchmarks.oplog_apps"
ROUNDS, SECONDS, CONNECTIONS = 7, 1.5, 16
LIMIT = 0.95
"""Of the throughput without the log, at least."""
SUSTAINED = 5_000
WARM_UP, MEASURED = 3.0, 8.0  # seconds
KINDS = {
    "a change of a user's status": "real",
    "an explanation of a decision": "real",
    "the cheapest request there is, which does nothing behind the gate": "bare",
}


def main() -> None:
    """Print entries a second, and the ratios of requests with and without the log."""
    with stores(durable=True) as (started, _):
        for workers in (1, 2):
            _sustained(started, workers)
    with stores(durable=False) as (started, place):
        environ = {
            "DATABASE_URL": started.database_url,
            "REDIS_URL": started.redis_url,
            "JWT_SECRET": secrets.token_hex(32),
            "PORTCULLIS_SERVER__DATA": str(place / "service"),
            "PORTCULLIS_LOG__FORMAT": "json",
        }
        publish_policy(load(environ), read_shipped())
        pin_to_last_core()
        token = _token(environ)
        users = _users(environ)
        for kind in KINDS:
            _cost(environ, kind, token, users)


@contextmanager
def stores(*, durable: bool) -> Iterator[tuple[EmbeddedStores, Path]]:
    """Yield new stores with a seeded database, and a folder."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        place = Path(folder)
        with EmbeddedStores(place / "data", durable=durable) as started:
            seed_database(started.database_url)
            yield started, place


def _sustained(started: EmbeddedStores, workers: int) -> None:
    words = [sys.executable, "-m", "tests.benchmarks.oplog_worker"]
    words += [started.database_url, started.redis_url]
    running = [subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL) for _ in range(workers)]
    postgres, valkey = started.postgres.pid, started.valkey.pid
    assert postgres is not None
    assert valkey is not None
    parts = {
        "workers": [one.pid for one in running],
        "PostgreSQL": [postgres, *descendants(postgres)],
        "Valkey": [valkey, *descendants(valkey)],
    }
    try:
        time.sleep(WARM_UP)
        parts["PostgreSQL"] = [postgres, *descendants(postgres)]
        before, used, began = _counts(started), _used(parts), time.perf_counter()
        time.sleep(MEASURED)
        after, seconds = _counts(started), time.perf_counter() - began
        spent = {name: seconds_now - used[name] for name, seconds_now in _used(parts).items()}
    finally:
        for one in running:
            one.kill()
            one.wait()
    _print_sustained(workers, after, after.written - before.written, seconds, spent)


def _print_sustained(
    workers: int, after: LogCounts, written: int, seconds: float, spent: Mapping[str, float]
) -> None:
    kept = "is kept" if written / seconds >= SUSTAINED else "is NOT kept"
    each = {name: used / written * 1e6 for name, used in spent.items()}
    cores = len(os.sched_getaffinity(0))
    print(f"{workers} worker(s): {written / seconds:,.0f} entries/s into the database;", end=" ")
    print(f"{after.dropped} dropped, {after.set_aside} set aside; at least {SUSTAINED:,} {kept}")
    costs = ", ".join(f"{name} {cost:.0f} µs" for name, cost in each.items())
    print(f"  processor time of each entry: {costs};", end=" ")
    most = cores / sum(each.values()) * 1e6
    print(f"{cores} cores with nothing else to do allow {most:,.0f} entries/s", flush=True)


def _counts(started: EmbeddedStores) -> LogCounts:
    async def ask() -> LogCounts:
        store = SessionStore(Redis(url=started.redis_url), Auth())
        try:
            return await store.log.counts()
        finally:
            await store.close()

    return asyncio.run(ask())


def _used(parts: Mapping[str, list[int]]) -> dict[str, float]:
    return {name: sum(Server(0, pid).cpu_seconds() for pid in pids) for name, pids in parts.items()}


@dataclass(frozen=True)
class _Round:
    rate: float
    cpu: float


def _cost(environ: Mapping[str, str], kind: str, token: str, users: list[int]) -> None:
    app = KINDS[kind]
    with ExitStack() as stack:
        on = stack.enter_context(serving(f"{APPS}:{app}_logged", environ))
        off = stack.enter_context(serving(f"{APPS}:{app}_unlogged", environ))
        pairs = [
            (
                _measure(off, _requests(kind, off, token, users)),
                _measure(on, _requests(kind, on, token, users)),
            )
            for _ in range(ROUNDS)
        ]
    print(f"{kind}: {ROUNDS} pairs of {SECONDS:g} s over {CONNECTIONS} connections")
    for name, column in (("without the log", 0), ("with it", 1)):
        rates = median(pair[column].rate for pair in pairs)
        cpu = median(pair[column].cpu for pair in pairs)
        print(f"  {name:<16} {rates:8,.0f} requests/s   {cpu:7.1f} µs of processor time each")
    _print_ratio("requests/s", [logged.rate / plain.rate for plain, logged in pairs])
    _print_ratio("processor time", [plain.cpu / logged.cpu for plain, logged in pairs])


def _print_ratio(of: str, ratios: list[float]) -> None:
    kept = "is kept" if median(ratios) >= LIMIT else "is NOT kept"
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"  ratio by {of}: {median(ratios):.3f} ({spread}); at least {LIMIT} {kept}", flush=True)


def _requests(kind: str, server: Server, token: str, users: list[int]) -> list[bytes]:
    """Return one request for each connection."""
    bearer, port = {"Authorization": f"Bearer {token}"}, server.port
    if KINDS[kind] == "bare":
        return [request_bytes(TEMPLATE, port, **bearer)] * CONNECTIONS
    if "explanation" in kind:
        question = {"userName": ADMINISTRATOR, "method": "GET", "path": TEMPLATE}
        return [json_request("POST", "/api/policy/explain", port, question, **bearer)] * CONNECTIONS
    order = {"status": "enabled"}
    # Each has a user of its own: nobody waits for the row of another one's.
    return [json_request("PUT", f"/api/user/{user}/status", port, order, **bearer) for user in users]


def _measure(server: Server, requests: list[bytes]) -> _Round:
    before = server.cpu_seconds()
    answered = uvloop.run(_load(server.port, requests))
    return _Round(answered, (server.cpu_seconds() - before) / (answered * SECONDS) * 1e6)


async def _load(port: int, requests: list[bytes]) -> float:
    each = (rate(port, request, connections=1, seconds=SECONDS) for request in requests)
    return sum(await asyncio.gather(*each))


def _users(environ: Mapping[str, str]) -> list[int]:
    with psycopg.connect(environ["DATABASE_URL"]) as connection:
        made = connection.execute(
            'INSERT INTO sys."user" (user_name, user_name_key, nick_name, password_hash)'
            " SELECT 'bench' || n, 'bench' || n, 'Bench', 'x' FROM generate_series(1, %s) n RETURNING id",
            (CONNECTIONS,),
        )
        return [row[0] for row in made.fetchall()]


def _token(environ: Mapping[str, str]) -> str:
    credentials = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
    with serving_worker(environ) as server:
        login = httpx.post(
            f"http://127.0.0.1:{server.port}/api/auth/login", json=credentials, trust_env=False
        )
    token: str = login.json()["data"]["accessToken"]
    return token
