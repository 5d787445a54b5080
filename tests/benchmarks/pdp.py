"""What a decision beside a service costs, with 100,000 resources and as many users followed.

In process, questions a second are those of processor time: of the one core that decides. Over its socket they
are those of the clock, with one process on one core and the load on another.
"""

import asyncio
import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import uvloop

from service.features.decision_log.decision_log import DecisionLog, DecisionWriter, output_named
from service.features.decisions.questions import ROUTE, USER, Asked, Resource, Subject
from service.features.follower.following import seal_key_of
from service.features.follower.kept import pieces, sealed
from service.features.follower.point import DecisionPoint
from service.features.follower.server import PdpApp
from service.features.follower.settings import PdpSettings
from tests.benchmarks.frame.results import Note, Pace, Result, at_least, at_most, result
from tests.benchmarks.load import Connection, json_request, request_bytes
from tests.benchmarks.pdp_followed import KEY, followed, path_of
from tests.benchmarks.pdp_latency import in_time
from tests.benchmarks.servers import PORT, Server, pin_to_last_core, running

BATCH = 100
LOGGED = 0.5
"""Of the questions a second without the decision log, at least."""
_CONNECTIONS = 8
_KNOWN = 200_000  # questions of a round
_NEW = 10_000


def main(pace: Pace) -> Iterator[Result | Note]:
    """Yield questions a second in process and over the socket, memory, and the seconds of a start."""
    size = 5_000 if pace.is_quick else 100_000
    before = resident()
    point = followed(size)
    gc.collect()
    memory = resident()
    yield result(f"memory with {size:,} resources and users", "MiB", [memory], goals=[at_most(400)])
    yield result("of it for what is followed", "MiB", [memory - before])
    yield from in_process(point, size, pace)
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        file = Path(folder) / "policy"
        file.write_bytes(sealed(pieces(point.state.kept()), seal_key_of(KEY)))
        yield from starts(file, pace)
        del point
        gc.collect()
        pin_to_last_core()
        yield from batches(file, size, pace)
        yield from in_time(file, size, pace)


def batches(file: Path, size: int, pace: Pace) -> Iterator[Result]:
    """Yield the questions a second by batches, without a decision log and with one, in turn."""
    plain_words = ["tests.benchmarks.pdp_followed", str(file), PORT]
    logged_words = [*plain_words, str(file.with_name("decisions"))]
    with running(plain_words, {}) as plain, running(logged_words, {}) as logged:
        rounds = [
            [over_socket(server, size, pace.seconds, seed) for server in (plain, logged)]
            for seed in range(pace.rounds)
        ]
        dropped = uvloop.run(_dropped(logged.port))
    name = f"by batches of {BATCH} over its socket"
    for place, unit in enumerate(("1/s", "1/s of processor time")):
        without, with_log = zip(*([of_server[place] for of_server in each] for each in rounds), strict=True)
        reference = result(name, unit, without, better="more", goals=[at_least(150_000)])
        yield reference
        yield result(
            f"{name} with the decision log",
            unit,
            with_log,
            better="more",
            against=reference,
            goals=[at_least(LOGGED, "ratio")],
        )
    yield result("events that the decision log dropped", "events", [dropped], goals=[at_most(0)])


async def _dropped(port: int) -> int:
    """Return how many events the decision log of a decision point has dropped, by its metrics."""
    connection = await Connection.open(port)
    metrics = await connection.ask(request_bytes("/metrics", port))
    connection.close()
    name = b'portcullis_decision_events_total{outcome="dropped"} '
    return int(metrics.partition(name)[2].split()[0])


def in_process(point: DecisionPoint, size: int, pace: Pace) -> Iterator[Result]:
    """Yield the questions a second of processor time."""
    chance = Random(1)
    users = [f"user-{chance.randrange(1, size)}" for _ in range(1_000)]
    for user in users:
        point.may(user, "GET", "/area5/thing5/7")

    def known() -> int:
        may = point.may
        for number in range(_KNOWN):
            may(users[number % 1_000], "GET", "/area5/thing5/7")
        return _KNOWN

    def new() -> int:
        for _ in range(_NEW):
            path = path_of(chance.randrange(size)).replace("{id}", str(chance.randrange(10**6)))
            point.may(f"user-{chance.randrange(1, size)}", "GET", path)
        return _NEW

    yield result("known questions", "1/s", _rates(known, pace), better="more", goals=[at_least(1_000_000)])
    yield result("new questions", "1/s", _rates(new, pace), better="more", goals=[at_least(20_000)])
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        log = DecisionLog(DecisionWriter(output_named(Path(folder) / "log")), 1.0)
        app = PdpApp(_Followed(point), log)  # type: ignore[arg-type]  # nothing is renewed here
        asked = [
            Asked(Subject(USER, user), "GET", Resource(ROUTE, "/area5/thing5/7", "orders")) for user in users
        ]

        def logged() -> int:
            log.writer._events.waiting.clear()  # type: ignore[union-attr]  # as its thread does
            for question in asked:
                app._note([app._answer_to(question)], "")
            return len(asked)

        yield result("questions with the decision log", "1/s", _rates(logged, pace), better="more")


class _Followed:
    """What an application needs of its follower."""

    def __init__(self, point: DecisionPoint) -> None:
        self.point = point
        self.revision = 1
        self.settings: Any = PdpSettings(hub="http://hub", key_file=Path("key"), services=("orders",))


def _rates(work: Callable[[], int], pace: Pace) -> list[float]:
    rates = []
    for _ in range(pace.rounds):
        began = time.process_time()
        count = work()
        rates.append(count / (time.process_time() - began))
    return rates


def starts(file: Path, pace: Pace) -> Iterator[Result]:
    """Yield the seconds from the beginning of a process until it answers from its file."""

    async def start() -> float:
        began = time.monotonic()
        words = ["tests.benchmarks.pdp_followed", str(file), PORT]
        with running(words, {}):
            return time.monotonic() - began

    rounds = [uvloop.run(start()) for _ in range(min(pace.rounds, 3))]
    yield result("a start from its file", "s", rounds, goals=[at_most(3.0)])


def over_socket(server: Server, size: int, seconds: float, seed: int) -> tuple[float, float]:
    """Return the questions that are answered a second, and a second of the processor."""
    chance = Random(seed)
    requests = [_batch(server.port, size, chance) for _ in range(20)]

    async def ask(until: float) -> int:
        connection = await Connection.open(server.port)
        count = 0
        while time.monotonic() < until:
            answer = await connection.ask(requests[count % len(requests)])
            assert answer.count(b'"decision":') == BATCH
            assert b'"stale"' not in answer
            count += 1
        connection.close()
        return count

    async def all_of() -> tuple[float, float]:
        until = time.monotonic() + 0.3
        await asyncio.gather(*(ask(until) for _ in range(_CONNECTIONS)))  # warm
        began, used = time.monotonic(), server.cpu_seconds()
        counts = await asyncio.gather(*(ask(began + seconds) for _ in range(_CONNECTIONS)))
        answered = BATCH * sum(counts)
        return answered / (time.monotonic() - began), answered / (server.cpu_seconds() - used)

    return uvloop.run(all_of())


def _batch(port: int, size: int, chance: Random) -> bytes:
    questions = [
        {
            "subject": {"type": "user", "id": f"user-{chance.randrange(1, size)}"},
            "resource": {"type": "route", "id": path_of(chance.randrange(size)).replace("{id}", "7")},
        }
        for _ in range(BATCH)
    ]
    return json_request(
        "POST", "/access/v1/evaluations", port, {"action": {"name": "GET"}, "evaluations": questions}
    )


def resident() -> float:
    """Return the MiB that this process has in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return median(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
