"""How long a guarded GET takes beside questions about the whole policy, publishing, and an import of users.

The installation is the large one of the benchmark ``questions``. Rounds with and without the other work
alternate, and each ratio is that of two neighbouring rounds. An answer 503 is a fault of either side.
"""

import asyncio
import itertools
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Final, TypeAlias, get_args

import httpx
import uvloop

from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks.frame.results import Pace, Result, at_most, result
from tests.benchmarks.idle_extension import READ
from tests.benchmarks.installation import IDLE, environment, log_in
from tests.benchmarks.latency import latencies, percentile
from tests.benchmarks.load import request_bytes
from tests.benchmarks.questions import questions
from tests.benchmarks.questions_data import LARGE, Installed, Shape, install
from tests.benchmarks.servers import Server, pin_to_last_core, serving_worker
from tests.support.databases import database

TIMES: Final = 2.0
"""Times the 99th percentile of a guarded GET alone, at most."""
A_SECOND: Final = 200
CONNECTIONS: Final = 4
SECONDS: Final = 5.0
ROWS: Final = 1_000
"""Users of one request of an import: the most that it takes. Twenty such requests are 20,000 users."""

Ask: TypeAlias = Callable[[], httpx.Response]
"""Sends one request of the work that goes on beside."""


def main(pace: Pace) -> Iterator[Result]:
    """Yield the 99th percentiles alone and beside each kind of work, and how many answers were 503."""
    for shape in get_args(Shape):
        with tempfile.TemporaryDirectory(prefix="pc-") as name, ExitStack() as stack:
            folder = Path(name)
            stores = stack.enter_context(EmbeddedStores(folder / "data", durable=False))
            pin_to_last_core()
            url = stack.enter_context(database(stores, name=shape))
            environ = environment(stores, folder) | IDLE | {"DATABASE_URL": url}
            about = install(environ, shape, LARGE)
            server = stack.enter_context(serving_worker(environ))
            headers = {"Authorization": f"Bearer {log_in(server)}"}
            client = stack.enter_context(
                httpx.Client(
                    base_url=f"http://127.0.0.1:{server.port}", headers=headers, timeout=300, trust_env=False
                )
            )
            request = request_bytes(READ, server.port, **headers)
            for kind, ask in _works(client, about):
                yield from uvloop.run(_measured(f"{kind}, {shape}", server, request, ask, pace))


def _works(client: httpx.Client, about: Installed) -> Iterator[tuple[str, Ask]]:
    """Yield what is done beside: all questions in turn, a change of the policy, and an import."""
    asked = itertools.cycle(questions(about))
    enabled = itertools.cycle((False, True))
    numbers = itertools.count()

    def ask() -> httpx.Response:
        question = next(asked)
        return client.request(question.method, question.path, json=question.body)

    def publish() -> httpx.Response:
        return client.patch(f"/api/menu/{about.button_id}", json={"enabled": next(enabled)})

    def import_users() -> httpx.Response:
        names = [f"imported{next(numbers)}" for _ in range(ROWS)]
        users = [{"userName": name, "nickName": name, "roles": ["team-1"]} for name in names]
        return client.post("/api/user/import", json={"users": users})

    yield "questions", ask
    yield "publishing 10,000 resources", publish
    yield "an import", import_users


async def _measured(kind: str, server: Server, request: bytes, ask: Ask, pace: Pace) -> list[Result]:
    alone, meanwhile, unavailable = [], [], 0
    for _ in range(pace.rounds):
        alone.append(await _p99(server, request, pace))
        ended = threading.Event()
        work = asyncio.create_task(asyncio.to_thread(_until, ended, ask))
        meanwhile.append(await _p99(server, request, pace))
        ended.set()
        unavailable += await work
    reference = result(f"p99 of a guarded GET before {kind}", "ms", alone)
    beside = result(
        f"p99 of a guarded GET beside {kind}",
        "ms",
        meanwhile,
        against=reference,
        goals=[at_most(TIMES, "ratio")],
    )
    refused = result(f"answers 503 to {kind}", "answers", [float(unavailable)], goals=[at_most(0.0)])
    return [reference, beside, refused]


async def _p99(server: Server, request: bytes, pace: Pace) -> float:
    seconds = SECONDS if not pace.is_quick else 1.0
    took = await latencies(server.port, request, connections=CONNECTIONS, seconds=seconds, a_second=A_SECOND)
    return percentile(took, 0.99)


def _until(ended: threading.Event, ask: Ask) -> int:
    """Ask again and again until the round has ended; return how many answers were 503."""
    unavailable = 0
    while not ended.is_set():
        answer = ask()
        if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
            unavailable += 1
        else:
            answer.raise_for_status()
    return unavailable
