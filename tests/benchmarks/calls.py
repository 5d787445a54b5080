"""How many calls a request makes in the main thread of a worker: a budget that no noise moves.

A time depends on the machine, and its noise hides small steps; a count does not. Sixty-four connections send
requests to a worker whose main thread counts its calls, in Python and in C. The calls of each function are
divided by the number of requests and rounded, so that the work of timers, and what requests share, is left
out. Counts can be gamed: the other benchmarks compare times.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import msgspec
import uvloop

from service.features.embedded.stores import EmbeddedStores
from service.server.hardening import MALLOC
from service.settings import load
from tests.benchmarks.access import BATCH, CODE, EVALUATION, EVALUATIONS, ROUTES
from tests.benchmarks.apps import TEMPLATE
from tests.benchmarks.frame.results import Pace, Result, at_most, result
from tests.benchmarks.idle_extension import LOGGED, READ
from tests.benchmarks.installation import IDLE, environment, install, log_in
from tests.benchmarks.load import Connection, json_request, request_bytes
from tests.benchmarks.servers import PORT, Server, running
from tests.benchmarks.sessions import LIMITS, PASSWORD, Caller, make_users
from tests.support.cheap_hashes import cheap_hasher

CONNECTIONS: Final = 64
REQUESTS: Final = 256
FEWER: Final = 128
"""Of requests that take a password hash, a hundred decisions, or several statements."""
MARGIN: Final = 1.03
"""Times the budget that a request may cost before the suite fails."""
BUDGETS: Final = Path(__file__).parent / "budget"
"""A file for each minor version of Python: versions differ in what they count as a call."""
BY_KEY: Final = "a guarded read by a personal key"
MOST_BY_KEY: Final = 1.35
"""Times the calls of a guarded read by session that one by a personal key may make."""
GOALS: Final = {"a guarded read": (60, 65)}
"""The most calls in Python and in C."""

PATIENT: Final = {"PORTCULLIS_DATABASE__TIMEOUT": "30", "PORTCULLIS_REDIS__TIMEOUT": "5"}
"""A worker that counts is slow, and waits for nothing in vain."""

Work = Callable[[], Awaitable[object]]


class Calls(msgspec.Struct, frozen=True):
    """The calls of one request."""

    python: int
    c: int


@dataclass(frozen=True)
class Counted:
    """The calls of one kind of request, by function."""

    python: Mapping[str, int]
    c: Mapping[str, int]

    @property
    def calls(self) -> Calls:
        """The sums."""
        return Calls(sum(self.python.values()), sum(self.c.values()))


def main(pace: Pace) -> Iterator[Result]:
    """Yield the calls of each kind of request; unless ``pace`` is quick, they are the budget from now on."""
    by_kind = {name: counted.calls for name, counted in measure().items()}
    for name, calls in by_kind.items():
        most = GOALS.get(name)
        goals = [[at_most(number)] for number in most] if most else [[], []]
        yield result(f"{name}, Python", "calls", [calls.python], goals=goals[0])
        yield result(f"{name}, C", "calls", [calls.c], goals=goals[1])
    if not pace.is_quick:
        budget_file().write_bytes(msgspec.json.format(msgspec.json.encode(by_kind)) + b"\n")


def budget_file() -> Path:
    """Return the file with the budget of this version of Python."""
    return BUDGETS / f"{sys.version_info.major}.{sys.version_info.minor}.json"


def measure(names: Sequence[str] = ()) -> dict[str, Counted]:
    """Return what is counted for each kind of request, or those of ``names``, on stores of their own."""
    with (
        tempfile.TemporaryDirectory(prefix="pc-") as folder,
        EmbeddedStores(Path(folder) / "data", durable=False) as stores,
    ):
        environ = environment(stores, Path(folder)) | LIMITS | PATIENT | IDLE
        install(environ)
        make_users(load(environ), cheap_hasher())  # other threads hash, whose calls are not counted
        target = Path(folder) / "counted.json"
        with _counted(["bare"], environ, target) as server:
            get = request_bytes(TEMPLATE, server.port)
            by_request = {"bare Falcon": _count(server, target, partial(_equal, get))}
        with _counted(["service"], environ, target) as server:
            for name, asking, requests in _asked(server):
                if not names or name in names:
                    by_request[name] = _count(server, target, asking, requests)
    return by_request


Asking = Callable[[int, Sequence[Connection]], Awaitable[Sequence[Work]]]
"""Returns for each connection to a port what sends one request over it."""


def _asked(server: Server) -> list[tuple[str, Asking, int]]:
    """Return each kind of request, what asks it, and how many are counted."""
    port = server.port
    bearer = {"Authorization": f"Bearer {log_in(server)}"}
    by_key = {"Authorization": f"Bearer {personal_key(server, bearer)}"}
    nobody = {"Authorization": f"Bearer {log_in(server, 'user0', PASSWORD)}"}
    evaluation, batch = (
        json_request("POST", path, port, body, **bearer)
        for path, body in ((EVALUATION, CODE), (EVALUATIONS, ROUTES))
    )
    return [
        ("a guarded read", partial(_equal, request_bytes(READ, port, **bearer)), REQUESTS),
        (BY_KEY, partial(_equal, request_bytes(READ, port, **by_key)), REQUESTS),
        ("a logged call", partial(_equal, request_bytes(LOGGED, port, **bearer)), REQUESTS),
        ("a denied request", partial(_equal, request_bytes(READ, port, **nobody), status=403), REQUESTS),
        ("a 404", partial(_equal, request_bytes("/api/none", port, **bearer), status=404), REQUESTS),
        ("an evaluation", partial(_equal, evaluation), REQUESTS),
        (f"a batch of {BATCH}", partial(_equal, batch), FEWER),
        ("a refresh", _refreshing, FEWER),
        ("a login", _logging_in, FEWER),
    ]


def personal_key(server: Server, bearer: Mapping[str, str]) -> str:
    """Make an API key of the account of ``bearer``, which are the headers of a request by session."""
    url = f"http://127.0.0.1:{server.port}/api/user/profile/keys"
    order = {"name": "benchmark", "scopes": ["bench:*"], "expiresIn": 3600}
    answer = httpx.post(url, json=order, headers=dict(bearer), trust_env=False, timeout=30)
    key: str = answer.raise_for_status().json()["data"]["key"]
    return key


async def _equal(
    request: bytes, _port: int, connections: Sequence[Connection], *, status: int = 200
) -> Sequence[Work]:
    return [partial(connection.ask, request, status) for connection in connections]


async def _callers(port: int, connections: Sequence[Connection]) -> list[Caller]:
    return [Caller(port, f"user{number}", each) for number, each in enumerate(connections)]


async def _logging_in(port: int, connections: Sequence[Connection]) -> Sequence[Work]:
    return [caller.log_in for caller in await _callers(port, connections)]


async def _refreshing(port: int, connections: Sequence[Connection]) -> Sequence[Work]:
    callers = await _callers(port, connections)
    await asyncio.gather(*(caller.log_in() for caller in callers))
    return [caller.refresh for caller in callers]


def _count(server: Server, target: Path, asking: Asking, requests: int = REQUESTS) -> Counted:
    """Return the calls of each of ``requests``, once a few have warmed caches."""
    number = uvloop.run(_ask(server, target, asking, requests))
    _until(lambda: target.stat().st_size > 0)
    counts = json.loads(target.read_bytes())
    target.unlink()
    return Counted(*(_per_request(counts[kind], number) for kind in ("python", "c")))


async def _ask(server: Server, target: Path, asking: Asking, requests: int) -> int:
    """Have about so many ``requests`` counted; return how many it were."""
    connections = [await Connection.open(server.port) for _ in range(CONNECTIONS)]
    works = await asking(server.port, connections)
    each = requests // CONNECTIONS
    async with asyncio.timeout(300):
        await asyncio.gather(*(_repeat(work, 3) for work in works))
        os.kill(server.pid, signal.SIGUSR1)
        await asyncio.to_thread(_until, target.exists)
        await asyncio.gather(*(_repeat(work, each) for work in works))
        os.kill(server.pid, signal.SIGUSR2)
    for connection in connections:
        connection.close()
    return each * CONNECTIONS


async def _repeat(work: Work, times: int) -> None:
    for _ in range(times):
        await work()


def _until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.01)


def _per_request(counts: Mapping[str, int], requests: int) -> dict[str, int]:
    """Return how often a request calls each function; those are left out that less than half of them do."""
    rounded = {name: round(number / requests) for name, number in counts.items()}
    return {name: number for name, number in sorted(rounded.items(), key=lambda item: -item[1]) if number}


@contextmanager
def _counted(words: Sequence[str], environ: Mapping[str, str], target: Path) -> Iterator[Server]:
    module = ["tests.benchmarks.counted_worker", *words, PORT, str(target)]
    with running(module, {**MALLOC, **environ}) as server:
        yield server


def table(counted: Counted) -> str:
    """Return the functions that one request calls, one a line, the most frequent first."""
    lines = [f"{kind} {sum(of.values())}" for kind, of in (("Python", counted.python), ("C", counted.c))]
    for kind, of in (("Python", counted.python), ("C", counted.c)):
        lines += [f"  {number:4} {kind:6} {name}" for name, number in of.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    for kind_of_request, counts_of_it in measure(sys.argv[1:]).items():
        print(kind_of_request, table(counts_of_it), sep="\n")  # noqa: T201 - it talks to a person at a terminal
