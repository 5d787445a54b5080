"""What a change of the policy costs: to publish and follow it, its memory, and what requests notice of it.

Each resource is bound to three Buttons. Rounds with and without changes alternate, and each ratio is that
of two neighbouring rounds, so that a machine whose speed drifts does no harm.
"""

# ruff: noqa: T201 - it talks to a person at a terminal

from __future__ import annotations

import gc
import os
import secrets
import signal
import tempfile
import time
from collections.abc import Awaitable, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import httpx
import uvloop
from sqlalchemy import text

from service.authz.publishing.announced import leave_to_workers
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import read_shipped
from service.embedded import EmbeddedStores
from service.launch.prepare import publish_policy
from service.records.database.transactions import Database
from service.settings import load
from tests.benchmarks.guarded_apps import TEMPLATE
from tests.benchmarks.latency import latencies, percentile
from tests.benchmarks.load import request_bytes
from tests.benchmarks.publish_apps import CHANGE
from tests.benchmarks.servers import Server, pin_to_last_core, serving, serving_worker
from tests.support.running import kilobytes
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD, seed_database
from tests.support.waiting import freeze

SHIPPED = read_shipped()
LIMITS = {10_000: 1.0, 100_000: 10.0}
"""Seconds that it may take to publish a change, by the number of resources."""
LINES, MEBIBYTES = 100_000, 150.0
ROUNDS, SECONDS, TIMES = 5, 4.0, 2.0
LOADS = {"as many requests as it takes": (32, 0.0), "3,000 requests a second": (16, 3_000.0)}
APPS = "tests.benchmarks.publish_apps"


def main() -> None:
    """Print seconds, mebibytes and milliseconds, and whether the limits are kept."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        place = Path(folder)
        with EmbeddedStores(place / "data", durable=False) as stores:
            seed_database(stores.database_url)
            environ = {
                "DATABASE_URL": stores.database_url,
                "REDIS_URL": stores.redis_url,
                "JWT_SECRET": secrets.token_hex(32),
                "PORTCULLIS_SERVER__DATA": str(place / "service"),
                "PORTCULLIS_LOG__FORMAT": "json",
            }
            publish_policy(load(environ), SHIPPED)
            token = _memory(environ)
            for size, limit in LIMITS.items():
                uvloop.run(_published(stores.database_url, size, limit))
            uvloop.run(_fill(stores.database_url, 10_000))
            pin_to_last_core()
            _requests(environ, token)


REGISTER = """
INSERT INTO sys.resource (resource_name, resource_code, method, path)
SELECT 'x', 'bench' || n, 'GET', '/api/area' || n % 50 || '/thing' || n || '/{id}'
FROM generate_series(1, :size) n
"""
BIND = """
INSERT INTO sys.action_resource SELECT r.id, m.id FROM sys.resource r CROSS JOIN LATERAL (
    SELECT id FROM sys.menu WHERE menu_type = 'Button' AND position('*' IN auth_mark) = 0
    ORDER BY (id * 7919 + r.id * 31) % 97 LIMIT 3
) m WHERE r.resource_code LIKE 'bench%'
"""


async def _fill(url: str, size: int) -> None:
    """Register and bind ``size`` resources, and no others but those of a new database; publish them."""
    database = Database(url)
    async with database.transaction(within=120) as connection:
        await connection.execute(text("DELETE FROM sys.resource WHERE resource_code LIKE 'bench%'"))
        await connection.execute(text(REGISTER), {"size": size})
        await connection.execute(text(BIND))
        await connection.execute(text("ANALYZE"))
        await publish_if_changed(connection, SHIPPED, "bench")
    await database.close()


async def _published(url: str, size: int, limit: float) -> None:
    await _fill(url, size)
    database, live, other = Database(url), LivePolicy(SHIPPED), LivePolicy(SHIPPED)
    whole = await _taken(other.load(database))
    await live.load(database)
    changes = PolicyChanges(database, live, SHIPPED, read_shipped, leave_to_workers)
    gc.freeze()  # as each worker does at its start
    rounds = [(await _taken(_change(changes)), await _taken(other.load(database))) for _ in range(3)]
    rows = await _rows_of_history(database)
    await database.close()
    (saved, saving), (loaded, loading) = (
        [median(column) for column in zip(*each, strict=True)] for each in zip(*rounds, strict=True)
    )
    kept = "is kept" if max(saved, loaded) < limit else "is NOT kept"
    print(f"{size:,} resources, {len(live.current.rules):,} lines: a Button is disabled or enabled:")
    print(f"  published, history included, in {saved:.2f} s ({saving:.2f} s of CPU here),")
    print(
        f"  followed by another worker in {loaded:.2f} s ({loading:.2f} s); the limit of {limit:g} s {kept}"
    )
    print(f"  all lines are loaded by a new worker in {whole[0]:.2f} s ({whole[1]:.2f} s)")
    print(f"  history has grown by {rows / 3:,.0f} rows with each change", flush=True)


async def _taken(work: Awaitable[object]) -> tuple[float, float]:
    """Return the seconds that ``work`` takes, and those of CPU in this process."""
    began, used = time.perf_counter(), time.process_time()
    await work
    return time.perf_counter() - began, time.process_time() - used


async def _change(changes: PolicyChanges) -> None:
    async with changes.begin("bench button") as change:
        await change.connection.execute(CHANGE)


async def _rows_of_history(database: Database) -> int:
    statement = text("SELECT sum(added) FROM sys.policy_revision WHERE cause = 'bench button'")
    async with database.snapshot() as connection:
        found: int = (await connection.execute(statement)).scalar_one()
    return found


def _memory(environ: Mapping[str, str]) -> str:
    """Print what a worker needs for a large policy; return a token that it issued."""
    credentials = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
    with serving_worker(environ) as server:
        login = httpx.post(
            f"http://127.0.0.1:{server.port}/api/auth/login", json=credentials, trust_env=False
        )
        before = _resident(server)
        uvloop.run(_fill(environ["DATABASE_URL"], LINES // 3))
        time.sleep(5)  # the worker follows, and then it reports
        more = _resident(server) - before
        login = httpx.post(
            f"http://127.0.0.1:{server.port}/api/auth/login", json=credentials, trust_env=False
        )
    kept = "is kept" if more < MEBIBYTES else "is NOT kept"
    print(f"{LINES:,} lines: a worker of {before:.0f} MiB needs {more:.0f} MiB more;", end=" ")
    print(f"the limit of {MEBIBYTES:g} MiB {kept}", flush=True)
    token: str = login.json()["data"]["accessToken"]
    return token


def _resident(server: Server) -> float:
    return kilobytes(server.pid, "Rss") / 1024


def _requests(environ: Mapping[str, str], token: str) -> None:
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serving(f"{APPS}:{name}", environ)) for name in ("quiet", "publishing")
        ]
        for name, (connections, a_second) in LOADS.items():
            pairs = [
                [_p99(servers, one, token, connections, a_second) for one in servers] for _ in range(ROUNDS)
            ]
            ratios = [meanwhile / alone for alone, meanwhile in pairs]
            alone, meanwhile = (median(column) for column in zip(*pairs, strict=True))
            kept = "is kept" if median(ratios) <= TIMES else "is NOT kept"
            print(f"p99 of {name} over {connections} connections, at 10,000 resources: {alone:.2f} ms,")
            print(f"  {meanwhile:.2f} ms while changes of it are published without a pause;")
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            print(f"  ratio {median(ratios):.2f} ({spread}); the limit of {TIMES:g} {kept}", flush=True)


def _p99(servers: list[Server], server: Server, token: str, connections: int, a_second: float) -> float:
    others = [one.pid for one in servers if one is not server]
    for pid in others:
        freeze(pid)
    try:
        request = request_bytes(TEMPLATE, server.port, Authorization=f"Bearer {token}")
        took = uvloop.run(
            latencies(server.port, request, connections=connections, seconds=SECONDS, a_second=a_second)
        )
    finally:
        for pid in others:
            os.kill(pid, signal.SIGCONT)
    return percentile(took, 0.99)
