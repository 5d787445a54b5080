"""What a change of the policy costs: to publish and follow it, its memory, and what requests notice of it.

Each resource is bound to three Buttons. Rounds with and without changes alternate, and each ratio is that
of two neighbouring rounds, so that a machine whose speed drifts does no harm.
"""

import gc
import os
import signal
import tempfile
import time
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import uvloop
from sqlalchemy import text

from service.audit.seals import RevisionSeals
from service.authz.publishing.announced import leave_to_workers
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import read_shipped
from service.features.embedded.stores import EmbeddedStores
from service.records.database.transactions import Database
from service.server.prepare import publish_policy
from service.settings import load
from tests.benchmarks.apps import CHANGE, TEMPLATE
from tests.benchmarks.frame.results import Pace, Result, at_most, result
from tests.benchmarks.installation import environment, log_in
from tests.benchmarks.latency import latencies, percentile
from tests.benchmarks.load import request_bytes
from tests.benchmarks.servers import Server, pin_to_last_core, serving, serving_worker
from tests.support.running import kilobytes
from tests.support.seeded import seed_database
from tests.support.waiting import freeze

SHIPPED = read_shipped()
LIMITS = {10_000: 1.0, 100_000: 10.0}
"""Seconds that it may take to publish a change, by the number of resources."""
LINES, MEBIBYTES = 100_000, 150.0
CHANGES, TIMES = 3, 2.0
LOADS = {"as many requests as it takes": (32, 0.0), "3,000 requests a second": (16, 3_000.0)}
APPS = "tests.benchmarks.apps"


def main(pace: Pace) -> Iterator[Result]:
    """Yield seconds, mebibytes and milliseconds."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        place = Path(folder)
        with EmbeddedStores(place / "data", durable=False) as stores:
            seed_database(stores.database_url)
            environ = environment(stores, place)
            publish_policy(load(environ), SHIPPED)
            token, grown = _memory(environ)
            yield result(f"a worker, {LINES:,} lines more", "MiB", [grown], goals=[at_most(MEBIBYTES)])
            for size, limit in LIMITS.items():
                yield from uvloop.run(_published(stores.database_url, size, limit))
            uvloop.run(_fill(stores.database_url, 10_000))
            pin_to_last_core()
            yield from _requests(environ, token, pace)


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
    async with Database(url) as database, database.transaction(within=120) as connection:
        await connection.execute(text("DELETE FROM sys.resource WHERE resource_code LIKE 'bench%'"))
        await connection.execute(text(REGISTER), {"size": size})
        await connection.execute(text(BIND))
        await connection.execute(text("ANALYZE"))
        await publish_if_changed(connection, SHIPPED, RevisionSeals(), "bench")


async def _published(url: str, size: int, limit: float) -> list[Result]:
    """Return what it takes to publish a change of one Button, its history included, and to follow it."""
    await _fill(url, size)
    database, live, other = (
        Database(url),
        LivePolicy(SHIPPED, RevisionSeals()),
        LivePolicy(SHIPPED, RevisionSeals()),
    )
    whole = await _taken(other.load(database))
    await live.load(database)
    changes = PolicyChanges(database, live, SHIPPED, read_shipped, leave_to_workers)
    gc.freeze()  # as each worker does at its start
    rounds = [(await _taken(_change(changes)), await _taken(other.load(database))) for _ in range(CHANGES)]
    rows = await _rows_of_history(database)
    await database.close()
    saved, loaded = zip(*rounds, strict=True)
    goals, over = [at_most(limit)], f"{size:,} resources"
    chart = "A Button is enabled or disabled"
    return [
        result(f"published, {over}", "s", [elapsed for elapsed, _ in saved], goals=goals, chart=chart),
        result(f"published, {over}", "s of processor time", [cpu for _, cpu in saved]),
        result(
            f"followed by another worker, {over}",
            "s",
            [elapsed for elapsed, _ in loaded],
            goals=goals,
            chart=chart,
        ),
        result(f"followed by another worker, {over}", "s of processor time", [cpu for _, cpu in loaded]),
        result(f"all lines loaded by a new worker, {over}", "s", [whole[0]]),
        result(f"history of a change, {over}", "rows", [rows / CHANGES]),
    ]


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
        count: int = (await connection.execute(statement)).scalar_one()
    return count


def _memory(environ: Mapping[str, str]) -> tuple[str, float]:
    """Return a token, and the MiB more that a worker needs for a large policy."""
    with serving_worker(environ) as server:
        log_in(server)
        before = _resident(server)
        uvloop.run(_fill(environ["DATABASE_URL"], LINES // 3))
        time.sleep(5)  # the worker follows, and then it reports
        return log_in(server), _resident(server) - before


def _resident(server: Server) -> float:
    return kilobytes(server.pid, "Rss") / 1024


def _requests(environ: Mapping[str, str], token: str, pace: Pace) -> Iterator[Result]:
    """Yield the p99 of requests, alone and while changes are published without a pause."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serving(f"{APPS}:{name}", environ))
            for name in ("bare_unlogged", "publishing")
        ]
        for name, each in LOADS.items():
            pairs = [
                [_p99(servers, server, token, each, 2 * pace.seconds) for server in servers]
                for _ in range(pace.rounds)
            ]
            alone, meanwhile = zip(*pairs, strict=True)
            reference = result(f"p99 of {name}", "ms", alone, chart="Requests while the policy changes")
            yield reference
            yield result(
                f"p99 of {name}, while publishing",
                "ms",
                meanwhile,
                against=reference,
                goals=[at_most(TIMES, "ratio")],
                chart="Requests while the policy changes",
            )


def _p99(
    servers: list[Server], server: Server, token: str, chosen: tuple[int, float], seconds: float
) -> float:
    connections, a_second = chosen
    others = [other.pid for other in servers if other is not server]
    for pid in others:
        freeze(pid)
    try:
        request = request_bytes(TEMPLATE, server.port, Authorization=f"Bearer {token}")
        took = uvloop.run(
            latencies(server.port, request, connections=connections, seconds=seconds, a_second=a_second)
        )
    finally:
        for pid in others:
            os.kill(pid, signal.SIGCONT)
    return percentile(took, 0.99)
