"""Servers that benchmarks measure, one worker each, and what they do under load: requests and their time."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from service.server.hardening import MALLOC
from tests.benchmarks.frame.processes import children
from tests.benchmarks.frame.results import Goal, Pace, Result, result
from tests.benchmarks.load import served
from tests.support.ports import free_port

FIRST_CORE = {min(os.sched_getaffinity(0))}
PORT = "{port}"
UVICORN = (
    *("uvicorn", "--loop", "uvloop", "--http", "httptools", "--no-access-log"),
    *("--no-proxy-headers", "--no-server-header", "--port", PORT),
)
_GRACE = 20.0
"""Seconds that a server has to end."""


class ServerError(Exception):
    """A server did not start; the message says which, and what it wrote last."""


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """Return the processor time that the server has used, by proc(5)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pin_to_last_core() -> None:
    """Keep this process off the core of the servers, where there are two."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def serving(factory: str, environ: Mapping[str, str]) -> AbstractContextManager[Server]:
    """Run uvicorn with one worker of ``factory`` (``module:name``) and yield it; its log goes to a file."""
    return running([*UVICORN, "--factory", factory], environ)


def serving_worker(environ: Mapping[str, str]) -> AbstractContextManager[Server]:
    """Run one worker of the service, as the launcher runs it, and yield it; its log goes to a file."""
    return running(["tests.benchmarks.worker", PORT], {**MALLOC, **environ})


@contextmanager
def running(
    module: Sequence[str],
    environ: Mapping[str, str],
    *,
    python: str = sys.executable,
    forks: bool = False,
    place: Path | None = None,
) -> Iterator[Server]:
    """Run a module of ``python``, with the number of a free port where its arguments hold ``PORT``.

    One that ``forks`` is measured by its one worker; one with a ``place`` serves that Unix socket. Raises
    ServerError, with the end of its log, if it does not start.
    """
    port = free_port()
    words = [word.replace(PORT, str(port)) for word in module]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [python, "-P", "-m", *words], env={**os.environ, **environ}, stdout=log, stderr=log
        )
        os.sched_setaffinity(server.pid, FIRST_CORE)
        try:
            if not _is_ready(place or port, server, forks=forks):
                log.seek(0)
                end = log.read()[-1_000:].decode(errors="replace")
                raise ServerError(f"{words[0]} did not start: {end}")
            yield Server(port, children(server.pid)[0] if forks else server.pid)
        finally:
            server.terminate()
            try:
                server.wait(_GRACE)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _is_ready(place: Path | int, server: subprocess.Popen[bytes], *, forks: bool) -> bool:
    """Wait until ``server`` accepts connections; False if it ends, or does not within thirty seconds."""
    for _ in range(300):
        if server.poll() is not None:
            break
        is_port = isinstance(place, int)
        with socket.socket(socket.AF_INET if is_port else socket.AF_UNIX) as probe:
            address = ("127.0.0.1", place) if is_port else str(place)
            if probe.connect_ex(address) == 0 and (not forks or children(server.pid)):
                return True
        time.sleep(0.1)
    return False


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
