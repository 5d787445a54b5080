"""How long a guarded GET takes while many people log in at once, against its time when nobody does."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeAlias

import uvloop

from tests.benchmarks.frame.results import Pace, Result, at_most, result
from tests.benchmarks.latency import latencies, percentile
from tests.benchmarks.load import Connection, json_request, request_bytes
from tests.benchmarks.servers import Server
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

LogIn: TypeAlias = Callable[[], Awaitable[None]]
"""Logs one person in, once."""

GUARDED = "/api/auth/sessions"
MOST = 5.0
"""Times the 99th percentile when nobody logs in."""
_A_SECOND = 100  # guarded requests, over:
_CONNECTIONS = 4
_BEFORE = 0.5  # seconds of logins before anything is measured


def guarded_during_logins(
    server: Server, people: Callable[[], Awaitable[Sequence[LogIn]]], pace: Pace
) -> Iterator[Result]:
    """Yield the 99th percentile of a guarded GET alone, and while all ``people`` log in again and again."""
    rounds = uvloop.run(_rounds(server, people, pace))
    idle, busy = zip(*rounds, strict=True)
    reference = result("p99 of a guarded GET, nobody logs in", "ms", idle)
    yield reference
    yield result(
        "the same while 100 people log in at once",
        "ms",
        busy,
        against=reference,
        goals=[at_most(MOST, "ratio")],
    )


async def _rounds(
    server: Server, people: Callable[[], Awaitable[Sequence[LogIn]]], pace: Pace
) -> list[tuple[float, float]]:
    log_ins = await people()
    request = await _guarded_request(server.port)

    async def p99() -> float:
        took = await latencies(
            server.port, request, connections=_CONNECTIONS, seconds=1.5 * pace.seconds, a_second=_A_SECOND
        )
        return percentile(took, 0.99)

    pairs = []
    for _ in range(pace.rounds):
        idle = await p99()
        ended = asyncio.Event()
        tasks = [asyncio.create_task(_until(ended, log_in)) for log_in in log_ins]
        await asyncio.sleep(_BEFORE)
        pairs.append((idle, await p99()))
        ended.set()
        async with asyncio.timeout(60):
            await asyncio.gather(*tasks)
    return pairs


async def _until(ended: asyncio.Event, log_in: LogIn) -> None:
    while not ended.is_set():
        await log_in()


async def _guarded_request(port: int) -> bytes:
    connection = await Connection.open(port)
    credentials = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
    answer = await connection.ask(json_request("POST", "/api/auth/login", port, credentials))
    connection.close()
    return request_bytes(GUARDED, port, Authorization=f"Bearer {json.loads(answer)['data']['accessToken']}")
