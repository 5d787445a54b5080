"""What a server does under load: requests a second, and the processor time of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import uvloop

from tests.benchmarks.frame.results import Goal, Pace, Result, result
from tests.benchmarks.load import served
from tests.benchmarks.servers import Server

CONNECTIONS = 64
_WARM_UP = 0.3  # seconds


@dataclass(frozen=True)
class Round:
    """What was measured: requests a second, microseconds of processor time of each, p99 in milliseconds."""

    rate: float
    cpu: float
    p99: float


def measure(server: Server, request: bytes, *, seconds: float, connections: int = CONNECTIONS) -> Round:
    """Return how many requests ``server`` answers in a second, and the processor time of each."""
    before = server.cpu_seconds()
    load = uvloop.run(served(server.port, request, connections=connections, seconds=seconds))
    return Round(load.rate, (server.cpu_seconds() - before) / len(load.took) * 1e6, load.p99 * 1000)


def interleaved(
    asked: Sequence[tuple[Server, bytes]], pace: Pace, *, connections: int = CONNECTIONS
) -> list[list[Round]]:
    """Return the rounds of each of ``asked``, a server and a request: each round goes through all of them.

    A short one comes before, and does not count: connections, caches and interpreters get warm.
    """
    for server, request in asked:
        measure(server, request, seconds=_WARM_UP, connections=connections)
    all_rounds: list[list[Round]] = [[] for _ in asked]
    for _ in range(pace.rounds):
        for rounds, (server, request) in zip(all_rounds, asked, strict=True):
            rounds.append(measure(server, request, seconds=pace.seconds, connections=connections))
    return all_rounds


@dataclass(frozen=True)
class Measured:
    """A server's rounds as two results."""

    rate: Result
    cpu: Result

    def __iter__(self) -> Iterator[Result]:
        yield self.rate
        yield self.cpu


def measured(
    name: str,
    rounds: Sequence[Round],
    *,
    against: Measured | None = None,
    rate_goals: Sequence[Goal] = (),
    cpu_goals: Sequence[Goal] = (),
    chart: str = "",
) -> Measured:
    """Return the rate and the processor time of ``rounds``, with their ratios to those of ``against``."""
    return Measured(
        result(
            name,
            "requests/s",
            [run.rate for run in rounds],
            better="more",
            against=against.rate if against else None,
            goals=rate_goals,
            chart=chart,
        ),
        result(
            name,
            "µs of processor time",
            [run.cpu for run in rounds],
            against=against.cpu if against else None,
            goals=cpu_goals,
            chart=chart,
        ),
    )
