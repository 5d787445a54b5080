"""What it costs to be guarded: a GET that does nothing, by a real worker and by bare Falcon, in one run.

The worker is the one that the launcher runs, with all that it has on: the operation log, the metrics and the
line of each request. It answers a plain read, as most requests are, and a logged call, by an access token or
an API key; a second worker does not ask the session store about each request (``per_request_deny_check``).
What the demands on authentication add is timed apart, in this process, and compared with the whole of a read.

Each server has one worker on one core, and the load comes from another. Rounds alternate, and each ratio is
that of two neighbouring rounds, so that a machine whose speed drifts does no harm.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from service.authz.engine.lines import Lines
from service.authz.publishing.shipped import configured, read_shipped
from service.features.embedded.stores import EmbeddedStores
from service.features.permission_use.uses import PermissionUses
from service.kernel.assurance import Authentication
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller, words_asked
from service.kernel.synchronized import SynchronizedClock
from service.records.database.transactions import Database
from service.server.prepare import prepare
from service.settings import load
from tests.benchmarks.apps import TEMPLATE
from tests.benchmarks.frame.results import Goal, Pace, Result, at_least, at_most, result
from tests.benchmarks.idle_extension import LOGGED, READ
from tests.benchmarks.installation import api_key, environment, log_in
from tests.benchmarks.load import request_bytes
from tests.benchmarks.servers import (
    Measured,
    Round,
    Server,
    interleaved,
    measured,
    pin_to_last_core,
    serving,
    serving_worker,
)
from tests.support.seeded import ADMINISTRATOR_PASSWORD

BARE: Final = "tests.benchmarks.apps:bare"
EXTENSION: Final = "tests.benchmarks.idle_extension"
CONNECTIONS: Final = (1, 8, 64)
MOST: Final = max(CONNECTIONS)
SHARES: Final = {("read", 1): 0.45, ("read", 8): 0.65, ("read", MOST): 0.80, ("logged call", MOST): 0.42}
"""Of bare Falcon's requests a second, and of its processor time the other way round, by connections."""
LATER: Final = 1.6
"""Times bare Falcon's p99, at most, for a read at ``MOST``."""
APART: Final = 0.9
"""Of the requests a second without the check, those with it at least, at ``MOST``."""

DEMANDS: Final = 0.03
"""Of the processor time of a read at ``MOST``: what it costs to ask how the caller has authenticated."""
USES: Final = 0.03
"""Of the same: what it costs to note which codes were needed."""
QUESTIONS: Final = 50_000

Asked = tuple[str, Server, bytes]
"""A name, a server and the request that it gets."""


def main(pace: Pace) -> Iterator[Result]:
    """Yield requests a second, processor time and p99, for HS256 and EdDSA tokens."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        place = Path(folder)
        with EmbeddedStores(place / "data", durable=False) as stores:
            pin_to_last_core()
            for algorithm in ("HS256", "EdDSA"):
                environ = environment(stores, place, algorithm) | {"PORTCULLIS_EXTENSIONS": EXTENSION}
                settings = load(environ)
                prepare(settings, ADMINISTRATOR_PASSWORD, configured(settings))
                yield from _compared(algorithm, environ, asyncio.run(api_key(settings)), pace)


def _compared(algorithm: str, environ: Mapping[str, str], key: str, pace: Pace) -> Iterator[Result]:
    unchecked = {**environ, "PORTCULLIS_AUTH__PER_REQUEST_DENY_CHECK": "false"}
    with ExitStack() as stack:
        bare = stack.enter_context(serving(BARE, environ))
        worker = stack.enter_context(serving_worker(environ))
        without_check = stack.enter_context(serving_worker(unchecked))
        token = log_in(worker)
        asked = [
            ("bare Falcon", bare, request_bytes(TEMPLATE, bare.port)),
            ("read", worker, _by(token, READ, worker)),
            ("read, deny check off", without_check, _by(token, READ, without_check)),
            ("logged call", worker, _by(token, LOGGED, worker)),
            ("read, by API key", worker, _by(key, READ, worker)),
        ]
        for connections in CONNECTIONS:
            # Fifteen of them for each algorithm: shorter rounds than those of others.
            share = 2 if connections == MOST else 4
            yield from _at(algorithm, connections, asked, replace(pace, seconds=pace.seconds / share))


def _by(credential: str, path: str, server: Server) -> bytes:
    return request_bytes(path, server.port, Authorization=f"Bearer {credential}")


def _at(algorithm: str, connections: int, asked: Sequence[Asked], pace: Pace) -> Iterator[Result]:
    """Yield what is measured at so many connections; goals are those of ``MOST``."""
    all_rounds = interleaved(
        [(server, request) for _, server, request in asked], pace, connections=connections
    )
    chart = f"A GET that does nothing, {algorithm}, connections: {connections}"
    reference: Measured | None = None
    for (name, _, _), rounds in zip(asked, all_rounds, strict=True):
        share = _share(name, connections)
        measurement = measured(
            f"{name}, {algorithm}, {connections}",
            rounds,
            against=reference,
            rate_goals=[at_least(share, "ratio")] if share else [],
            cpu_goals=[at_most(1 / share, "ratio")] if share else [],
            chart=chart,
        )
        yield from measurement
        if (name, connections) == ("read", MOST):
            yield _demands(algorithm, measurement.cpu)
            yield _uses(algorithm, measurement.cpu)
        reference = reference or measurement
    yield from _latencies(algorithm, connections, asked, all_rounds)
    if connections == MOST:
        yield _apart(algorithm, all_rounds)


def _demands(algorithm: str, read: Result) -> Result:
    """Return what the guard does for the layer ``assurance``, compared with a whole read."""
    policy = read_shipped().policy(Lines(), {}, 1)
    now = time.time()
    proof = Authentication("pwd", ("pwd",), now - 3600)
    caller = Caller(1, "1", "a", "A", "web", (), HeldCodes(()), now, authentication=proof)
    rounds = []
    for _ in read.rounds:
        begun = time.process_time()
        for _ in range(QUESTIONS):
            policy.judge_assurance("@unregistered", "GET /api/role/list", words_asked(caller, now))
        rounds.append((time.process_time() - begun) / QUESTIONS * 1e6)
    name = f"the demands on a read, {algorithm}, {MOST}"
    return result(name, read.unit, rounds, against=read, goals=[at_most(DEMANDS, "ratio")])


def _uses(algorithm: str, read: Result) -> Result:
    """Return what it costs to note which codes a read has needed, compared with a whole read."""
    clock = SynchronizedClock()
    uses = PermissionUses(Database("postgresql:///"), clock.now, asyncio.Event().wait)
    rounds = []
    for _ in read.rounds:
        begun = time.process_time()
        for number in range(QUESTIONS):
            uses.note(number & 1023, ("@login", "system:role:list"))
        rounds.append((time.process_time() - begun) / QUESTIONS * 1e6)
    name = f"the use of a read, {algorithm}, {MOST}"
    return result(name, read.unit, rounds, against=read, goals=[at_most(USES, "ratio")])


def _share(name: str, connections: int) -> float:
    return SHARES.get((name, connections), 0.0)


def _latencies(
    algorithm: str, connections: int, asked: Sequence[Asked], all_rounds: Sequence[Sequence[Round]]
) -> Iterator[Result]:
    reference: Result | None = None
    for (name, _, _), rounds in zip(asked, all_rounds, strict=True):
        goals: list[Goal] = [at_most(LATER, "ratio")] if (name, connections) == ("read", MOST) else []
        latency = result(
            f"p99: {name}, {algorithm}, {connections}",
            "ms until 99 of 100 were answered",
            [run.p99 for run in rounds],
            against=reference,
            goals=goals,
        )
        yield latency
        reference = reference or latency


def _apart(algorithm: str, all_rounds: Sequence[Sequence[Round]]) -> Result:
    """Return the rate with the check, compared with the one without it."""
    _, read, unchecked, *_ = all_rounds
    without = result(
        f"read, deny check off, {algorithm}, {MOST}",
        "requests/s",
        [run.rate for run in unchecked],
        better="more",
    )
    return result(
        f"read, deny check on, {algorithm}, {MOST}",
        "requests/s",
        [run.rate for run in read],
        better="more",
        against=without,
        goals=[at_least(APART, "ratio")],
    )
