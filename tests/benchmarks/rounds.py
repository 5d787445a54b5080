"""What a server does under load: requests a second, and the processor time of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import uvloop

from tests.benchmarks.frame.results import Goal, Result, result
from tests.benchmarks.load import rate
from tests.benchmarks.servers import Server

CONNECTIONS = 64


@dataclass(frozen=True)
class Round:
    """What was measured: requests a second, and microseconds of processor time of each."""

    rate: float
    cpu: float


def measure(server: Server, request: bytes, *, seconds: float, connections: int = CONNECTIONS) -> Round:
    """Return how many requests ``server`` answers in a second, and the processor time of each."""
    before = server.cpu_seconds()
    answered = uvloop.run(rate(server.port, request, connections=connections, seconds=seconds))
    return Round(answered, (server.cpu_seconds() - before) / (answered * seconds) * 1e6)


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
            [one.rate for one in rounds],
            better="more",
            against=against.rate if against else None,
            goals=rate_goals,
            chart=chart,
        ),
        result(
            name,
            "µs of processor time",
            [one.cpu for one in rounds],
            against=against.cpu if against else None,
            goals=cpu_goals,
            chart=chart,
        ),
    )
