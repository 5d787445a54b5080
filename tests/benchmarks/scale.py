"""What three shards of the session store cost, against one server: requests, refreshes, the online list.

Each service has one worker on one core, and the load comes from another. Rounds alternate, and each ratio is
that of two neighbouring rounds. The servers of both stores share the machine.
"""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import uvloop

from service.authz.publishing.shipped import read_shipped
from service.features.embedded.stores import EmbeddedStores
from service.server.prepare import publish_policy
from service.settings import load
from tests.benchmarks.frame.results import Pace, Result, at_most, result
from tests.benchmarks.idle_extension import READ
from tests.benchmarks.installation import IDLE, environment, install, log_in
from tests.benchmarks.load import Connection, request_bytes
from tests.benchmarks.servers import (
    Server,
    interleaved,
    measured,
    pin_to_last_core,
    serving_worker,
)
from tests.benchmarks.sessions import (
    CONNECTIONS,
    LIMIT,
    SIZES,
    Administrator,
    Caller,
    environment_of,
    fill,
    make_users,
    rate_of,
)
from tests.support.databases import database
from tests.support.seeded import seed_database
from tests.support.set_clock import session_store
from tests.support.valkey_cluster import ValkeyCluster

GUARDED: Final = 1.15
REFRESHES: Final = 1.2
"""Times the processor time of the worker with one server, at most."""
SHARDS: Final = 3


def main(pace: Pace) -> Iterator[Result]:
    """Yield the processor time of a worker with a cluster and one server, and times of the online list."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder, ExitStack() as stack:
        place = Path(folder)
        stores = stack.enter_context(EmbeddedStores(place / "data", durable=False))
        (place / "cluster").mkdir()
        (place / "server").mkdir()
        server = stack.enter_context(session_store(place / "server", None))  # by TCP, as the cluster is
        cluster = stack.enter_context(ValkeyCluster(place / "cluster", primaries=SHARDS, replicas=0))
        pin_to_last_core()
        yield from _guarded(stores, (server, cluster.url), place, pace)
        cluster.empty()
        yield from _sessions(stores, server, cluster, place, pace)


def _guarded(stores: EmbeddedStores, urls: tuple[str, str], place: Path, pace: Pace) -> Iterator[Result]:
    environ = environment(stores, place) | IDLE
    install(environ)
    with ExitStack() as stack:
        servers = [stack.enter_context(serving_worker({**environ, "REDIS_URL": url})) for url in urls]
        asked = [
            (server, request_bytes(READ, server.port, Authorization=f"Bearer {log_in(server)}"))
            for server in servers
        ]
        single, sharded = interleaved(asked, pace, connections=64)
    chart = "A guarded request, by session store"
    reference = measured("a guarded request, one server", single, chart=chart)
    yield from reference
    goals = [at_most(GUARDED, "ratio")]
    name = f"a guarded request, {SHARDS} shards"
    yield from measured(name, sharded, against=reference, cpu_goals=goals, chart=chart)


def _sessions(
    stores: EmbeddedStores, server: str, cluster: ValkeyCluster, place: Path, pace: Pace
) -> Iterator[Result]:
    with database(stores, name="scale") as database_url:
        seed_database(database_url)
        environ = environment_of(database_url, place)
        settings = load({**environ, "REDIS_URL": stores.redis_url})
        publish_policy(settings, read_shipped())
        make_users(settings)
        single = {**environ, "REDIS_URL": f"{server.removesuffix('/0')}/1"}
        sharded = {**environ, "REDIS_URL": cluster.url}
        with serving_worker(single) as first, serving_worker(sharded) as second:
            one_rounds, three_rounds = uvloop.run(_refreshes((first, second), stores, pace))
        unit, chart = "ms of processor time", "A refresh, by session store"
        reference = result("a refresh, one server", unit, one_rounds, chart=chart)
        yield reference
        goals = [at_most(REFRESHES, "ratio")]
        yield result(
            f"a refresh, {SHARDS} shards", unit, three_rounds, against=reference, goals=goals, chart=chart
        )
        yield from _lists(sharded, cluster, pace.rounds)


async def _refreshes(
    servers: Sequence[Server], stores: EmbeddedStores, pace: Pace
) -> tuple[list[float], list[float]]:
    """Return the processor milliseconds of a worker for a refresh, by round, with each store."""
    callers = [
        [
            Caller(server.port, f"user{number}", await Connection.open(server.port))
            for number in range(CONNECTIONS)
        ]
        for server in servers
    ]
    for of_server in callers:
        await asyncio.gather(*(caller.log_in() for caller in of_server))
    spent: tuple[list[float], list[float]] = ([], [])
    for number in range(pace.rounds + 1):
        for server, of_server, rounds in zip(servers, callers, spent, strict=True):
            refreshes = [caller.refresh for caller in of_server]
            measurement = await rate_of(server, refreshes, 1.5 * pace.seconds, stores)
            if number:  # the first is a warm-up
                rounds.append(1000 * measurement.cpu)
    return spent


def _lists(environ: Mapping[str, str], cluster: ValkeyCluster, rounds: int) -> Iterator[Result]:
    timings: dict[int, dict[str, list[float]]] = {}
    for size in SIZES:
        cluster.empty()
        uvloop.run(fill(load(environ), size))
        with serving_worker(environ) as server:
            timings[size] = uvloop.run(_pages(server, size, rounds))
    few, many = (timings[size] for size in SIZES)
    for name, seconds in many.items():
        reference = result(f"the same of {SIZES[0]:,}", "ms", few[name])
        yield result(
            f"{name}, {SIZES[1]:,} online, {SHARDS} shards",
            "ms",
            seconds,
            against=reference,
            goals=[at_most(LIMIT, "ratio")],
            chart="The online list of a cluster",
        )


async def _pages(server: Server, size: int, rounds: int) -> dict[str, list[float]]:
    administrator = await Administrator.open(server.port, size)
    names = ("first page", "last page", "kick")
    return {
        name: [1000 * await administrator.seconds(name, number) for number in range(rounds)] for name in names
    }
