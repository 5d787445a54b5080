"""What the operation log costs a request, and how many entries a second stand in the database at the end.

The cost: requests with and without their entries, everything behind those included, in one worker. Rounds
alternate, and each ratio is that of two neighbouring rounds, so that a machine whose speed drifts does no
harm. Processor time is told beside the rates, because it is what lasts when others use the machine as well.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import uvloop

from service.authz.publishing.shipped import read_shipped
from service.features.embedded.stores import EmbeddedStores
from service.keyspace import LogCounts, SessionStore
from service.server.prepare import publish_policy
from service.settings import Auth, Redis, load
from tests.benchmarks.apps import TEMPLATE
from tests.benchmarks.frame.results import Note, Pace, Result, at_least, at_most, result
from tests.benchmarks.installation import access_token, environment
from tests.benchmarks.load import Served, json_request, request_bytes, served
from tests.benchmarks.servers import Round, Server, measured, pin_to_last_core, serving
from tests.support.running import ROOT, descendants
from tests.support.seeded import ADMINISTRATOR, seed_database

APPS = "tests.benchmarks.apps"
CONNECTIONS = 16
LIMIT = 0.95
"""Of the throughput without the log, at least: for requests that do something."""
SUSTAINED = 10_000
WARM_UP, WARMING = 3.0, 0.3  # seconds before entries, and before requests, are counted
KINDS = {
    "a change of a user's status": "real",
    "an explanation of a decision": "real",
    "a request that does nothing": "bare",
}
CHART = "A request with its entry in the operation log, and without"


def main(pace: Pace) -> Iterator[Result | Note]:
    """Yield entries a second, and requests with and without the log."""
    seconds = max(4.0, 4 * pace.seconds)
    with stores(durable=True) as (started, _):
        for workers in (1, 2):
            yield from _sustained(started, workers, seconds)
    with stores(durable=False) as (started, place):
        environ = environment(started, place)
        publish_policy(load(environ), read_shipped())
        pin_to_last_core()
        token = access_token(environ)
        users = _users(environ)
        for kind in KINDS:
            yield from _cost(environ, kind, token, users, pace)


@contextmanager
def stores(*, durable: bool) -> Iterator[tuple[EmbeddedStores, Path]]:
    """Yield new stores with a seeded database, and a folder."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        place = Path(folder)
        with EmbeddedStores(place / "data", durable=durable) as started:
            seed_database(started.database_url)
            yield started, place


def _sustained(started: EmbeddedStores, workers: int, duration: float) -> Iterator[Result | Note]:
    words = [sys.executable, "-m", "tests.benchmarks.oplog_worker"]
    words += [started.database_url, started.redis_url]
    running = [subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL) for _ in range(workers)]
    postgres, valkey = started.postgres.pid, started.valkey.pid
    assert postgres is not None
    assert valkey is not None
    parts = {
        "workers": [process.pid for process in running],
        "PostgreSQL": [postgres, *descendants(postgres)],
        "Valkey": [valkey, *descendants(valkey)],
    }
    try:
        time.sleep(WARM_UP)
        parts["PostgreSQL"] = [postgres, *descendants(postgres)]
        before, used, began = _counts(started), _used(parts), time.perf_counter()
        time.sleep(duration)
        after, seconds = _counts(started), time.perf_counter() - began
        spent = {name: seconds_now - used[name] for name, seconds_now in _used(parts).items()}
    finally:
        for process in running:
            process.kill()
            process.wait()
    yield from _kept_up(workers, after, after.written - before.written, seconds, spent)


def _kept_up(
    workers: int, after: LogCounts, written: int, seconds: float, spent: Mapping[str, float]
) -> Iterator[Result | Note]:
    by = "one worker" if workers == 1 else f"{workers} workers"
    entries = written / seconds
    yield result(f"entries by {by}", "entries/s", [entries], better="more", goals=[at_least(SUSTAINED)])
    if after.dropped or after.set_aside:
        yield Note(f"By {by}, {after.dropped} entries were dropped and {after.set_aside} set aside.")
    for name, used in spent.items() if written else ():
        each = [used / written * 1e6]
        yield result(f"an entry by {by}, in {name}", "µs of processor time", each)


def _counts(started: EmbeddedStores) -> LogCounts:
    async def ask() -> LogCounts:
        async with SessionStore(Redis(url=started.redis_url), Auth()) as store:
            return await store.log.counts()

    return asyncio.run(ask())


def _used(parts: Mapping[str, list[int]]) -> dict[str, float]:
    return {name: sum(Server(0, pid).cpu_seconds() for pid in pids) for name, pids in parts.items()}


def _cost(
    environ: Mapping[str, str], kind: str, token: str, users: list[int], pace: Pace
) -> Iterator[Result]:
    app = KINDS[kind]
    with ExitStack() as stack:
        off = stack.enter_context(serving(f"{APPS}:{app}_unlogged", environ))
        on = stack.enter_context(serving(f"{APPS}:{app}_logged", environ))
        asked = [(server, _requests(kind, server, token, users)) for server in (off, on)]
        for server, requests in asked:
            uvloop.run(_load(server.port, requests, WARMING))
        pairs = [
            [_measure(server, requests, pace.seconds) for server, requests in asked]
            for _ in range(pace.rounds)
        ]
    plain, logged = zip(*pairs, strict=True)
    reference = measured(f"{kind}, unlogged", plain, chart=CHART)
    yield from reference
    goals = app == "real"
    yield from measured(
        kind,
        logged,
        against=reference,
        rate_goals=[at_least(LIMIT, "ratio")] if goals else (),
        cpu_goals=[at_most(1 / LIMIT, "ratio")] if goals else (),
        chart=CHART,
    )


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


def _measure(server: Server, requests: list[bytes], seconds: float) -> Round:
    before = server.cpu_seconds()
    shares = uvloop.run(_load(server.port, requests, seconds))
    took = sorted(duration for each in shares for duration in each.took)
    cpu = (server.cpu_seconds() - before) / len(took) * 1e6
    return Round(sum(share.rate for share in shares), cpu, took[int(len(took) * 0.99)] * 1000)


async def _load(port: int, requests: list[bytes], seconds: float) -> list[Served]:
    each = (served(port, request, connections=1, seconds=seconds) for request in requests)
    return await asyncio.gather(*each)


def _users(environ: Mapping[str, str]) -> list[int]:
    with psycopg.connect(environ["DATABASE_URL"]) as connection:
        made = connection.execute(
            'INSERT INTO sys."user" (user_name, user_name_key, nick_name, password_hash)'
            " SELECT 'bench' || n, 'bench' || n, 'Bench', 'x' FROM generate_series(1, %s) n RETURNING id",
            (CONNECTIONS,),
        )
        return [row[0] for row in made.fetchall()]
