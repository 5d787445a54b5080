"""How soon a decision point answers one question while it is busy, by HTTP and by its Unix socket."""

import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

from tests.benchmarks.frame.results import Note, Pace, Result, at_most, result
from tests.benchmarks.latency import percentile
from tests.benchmarks.load import json_request
from tests.benchmarks.open_load import Connect, at_random, capacity
from tests.benchmarks.pdp_followed import path_of
from tests.benchmarks.servers import PORT, Server, running

SHARE = 0.7
"""Of what a server can answer: how much it is asked, at random times."""
BY_HTTP, BY_SOCKET = 2.0, 0.5
"""The most milliseconds within which 99 of 100 answers come."""
_QUESTIONS = 2_000
PEER = Note(
    "Permit publishes of its Nexus PDP (0.7.0-beta.50, docs.permit.io, October 2026): p99 of a check of RBAC "
    "5.59 ms at 56 requests/s with two processors, and at most 658 requests/s, with a p99 from 11.85 ms. "
    "That is the time within the server, without the network, and OPA evaluates each check over a database "
    "on disk. Here it is the time of the client, with one processor and 70 % of what it can answer. The "
    "decision point has all in memory, and remembers answers until something changes: it is asked "
    f"{_QUESTIONS:,} questions again and again."
)


def in_time(file: Path, size: int, pace: Pace) -> Iterator[Result | Note]:
    """Yield the questions a second, one a request, and the 99th percentile at a share of that."""
    for name, goal in (("HTTP", BY_HTTP), ("its Unix socket", BY_SOCKET)):
        for logged in (False, True):
            place = None if goal is BY_HTTP else file.with_name("socket")
            words = ["tests.benchmarks.pdp_followed", str(file), PORT if place is None else str(place)]
            words += [str(file.with_name("single"))] if logged else []
            with running(words, {}, place=place) as server:
                rounds = [_round(server, place, size, pace.seconds, seed) for seed in range(few(pace))]
            rates, times = zip(*rounds, strict=True)
            ending = " with the decision log" if logged else ""
            yield result(f"one question a request by {name}{ending}", "1/s", rates, better="more")
            yield result(
                f"p99 of a question by {name}{ending}, at {SHARE:.0%} of that",
                "ms",
                times,
                goals=[at_most(goal)],
            )
    yield PEER


def _round(server: Server, place: Path | None, size: int, seconds: float, seed: int) -> tuple[float, float]:
    connect = partial(_connect, server.port, place)
    chance = Random(1)
    requests = [_question(server.port, size, chance) for _ in range(_QUESTIONS)]
    return measured_at(connect, requests, seconds, seed)


def few(pace: Pace) -> int:
    """Return how many rounds there are of what takes two measurements."""
    return min(pace.rounds, 3)


def measured_at(connect: Connect, requests: list[bytes], seconds: float, seed: int) -> tuple[float, float]:
    """Return the requests a second that are answered, and the 99th percentile at a share of that, in ms."""
    capacity(connect, requests, seconds / 4)  # warm
    most = capacity(connect, requests, seconds / 2)
    return most, percentile(at_random(connect, requests, seconds, SHARE * most, seed), 0.99)


def _connect(port: int, place: Path | None) -> socket.socket:
    if place is None:
        return connected(port)
    made = socket.socket(socket.AF_UNIX)
    made.connect(str(place))
    return made


def connected(port: int) -> socket.socket:
    """Return a connection to a port of this machine, which sends at once."""
    made = socket.create_connection(("127.0.0.1", port))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _question(port: int, size: int, chance: Random) -> bytes:
    body = {
        "subject": {"type": "user", "id": f"user-{chance.randrange(1, size)}"},
        "action": {"name": "GET"},
        "resource": {"type": "route", "id": path_of(chance.randrange(size)).replace("{id}", "7")},
    }
    return json_request("POST", "/access/v1/evaluation", port, body)
