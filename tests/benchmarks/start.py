"""What a start and a command take, and what the service costs that nobody calls.

All stores are embedded. What commands cost is their processor time less that of ``python -c pass`` in the
same round: imports, and the little that they do in a new database. Memory is read once workers have settled.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg

from service.features.embedded.stores import urls_of_running
from tests.benchmarks.frame.results import Goal, Note, Pace, Result, at_most, result
from tests.support.running import RunningAnew, command, environment, kilobytes

RESOURCES = 10_000
_COMMAND = at_most(0.55)
COMMANDS = {
    ("--help",): at_most(0.15),
    ("admin", "list"): _COMMAND,
    ("audit", "verify"): _COMMAND,
    ("db", "migrate"): _COMMAND,
    ("doctor",): at_most(0.9),
    ("policy", "explain", "GET", "/api/user/list", "--role", "super"): _COMMAND,
    ("policy", "sync", "--dry-run"): _COMMAND,
    ("state", "export", "-"): _COMMAND,
}
"""The commands, and the seconds of processor time that each may take."""
COLD, WARM = at_most(6.0), at_most(1.3)
"""Seconds until a service is ready: with a new data directory, and with the one of before."""
FIGURES = {
    "resident": ("Rss",),  # pages that processes share count for each of them
    "its own and its share": ("Pss",),
    "its own": ("Private_Clean", "Private_Dirty"),
}
MEMORY = {
    ("launcher", "its own and its share", 1, 0): at_most(22.0),
    ("worker", "its own and its share", 1, 0): at_most(64.0),
    ("worker", "its own and its share", 3, 0): at_most(52.0),
    ("worker", "its own", 1, 0): at_most(36.0),
    ("worker", "its own", 3, 0): at_most(36.0),
    ("worker", "its own", 1, RESOURCES): at_most(50.0),
    ("worker", "its own", 3, RESOURCES): at_most(50.0),
    ("launcher", "resident", 1, RESOURCES): at_most(40.0),
    ("worker", "resident", 1, RESOURCES): at_most(130.0),
}
"""The most MiB of a process, by the numbers of workers and resources.

100 resident was the goal of a worker before directories, requests and reviews: what serves them is loaded
once, before workers are made. What a worker adds to a node is its own.
"""
IDLE = at_most(0.4)
"""Percent of a core that a worker uses without requests."""
_IDLE_FOR, _BRIEFLY = 7.0, 1.0  # seconds of each round
_MOST_ROUNDS = 3  # of what takes long
_SETTLED = 3.0  # seconds after which all that a worker does once has been done

FILL = """
WITH made AS (
    INSERT INTO sys.resource (resource_name, resource_code, method, path)
    SELECT 'x', 'bench' || n, 'GET', '/api/area' || n %% 50 || '/thing' || n || '/{id}'
    FROM generate_series(1, %s) n RETURNING id
)
INSERT INTO sys.action_resource (resource_id, menu_id)
SELECT made.id, (SELECT min(id) FROM sys.menu WHERE auth_mark IS NOT NULL) FROM made
"""


def main(pace: Pace) -> Iterator[Result | Note]:
    """Yield seconds, MiB and percent of a core."""
    with tempfile.TemporaryDirectory(prefix="pc-") as name:
        place = Path(name)
        data = place / "data"
        with _started(place, data) as (service, cold):
            yield result("ready, with a new data directory", "s", [cold], goals=[COLD], chart="A start")
            yield from _memory(service, 1, 0)
        warm = []
        for _ in range(pace.rounds):
            with _started(place, data) as (_, seconds):
                warm.append(seconds)
        yield result("ready, with the data of before", "s", warm, goals=[WARM], chart="A start")
        with _started(place, data, workers=3) as (service, _):
            yield from _memory(service, 3, 0)
            yield from _commands(place, data, pace)
            urls = urls_of_running(data)
            assert urls is not None  # it runs
            with psycopg.connect(urls[0]) as connection:
                connection.execute(FILL, [RESOURCES])
        with _started(place, data) as (service, _):
            yield from _memory(service, 1, RESOURCES)
            yield from _idle(service, pace)
        with _started(place, data, workers=3) as (service, _):
            yield from _memory(service, 3, RESOURCES)
    yield from _modules()
    yield Note(f"Idle processor time is that of a service with {RESOURCES:,} resources.")
    yield Note("Memory of three workers is the median of the three.")


LOADED = """
import secrets, sys
from service.app import create_app
from service.authz.publishing.shipped import configured
from service.settings import Auth, Database, Features, Redis, Settings
from service.settings.values import Names
stores = {"database": Database(url="postgresql:///"), "redis": Redis(url="unix:///dev/null")}
stores |= {"auth": Auth(jwt_secret=secrets.token_hex(32)), "features": Features(off=Names(sys.argv[1:]))}
settings = Settings(**stores)
create_app(settings, configured(settings))
print(len(sys.modules))
"""


def _modules() -> Iterator[Result]:
    """Yield how many modules a worker has imported, also with all features off."""
    for off, what in (((), "all features on"), (("all",), "all features off")):
        program = [sys.executable, "-c", LOADED, *off]
        counted = subprocess.run(program, capture_output=True, text=True, check=True).stdout
        yield result(f"modules of a worker, {what}", "modules", [float(counted)], chart="Modules")


@contextmanager
def _started(place: Path, data: Path, workers: int = 1) -> Iterator[tuple[RunningAnew, float]]:
    """Start a service; yield it once it is ready, with the seconds that it took. Stops it."""
    began = time.perf_counter()
    service = RunningAnew(place, "--workers", str(workers), "--data", str(data))
    try:
        service.wait()
        with service.client() as client:
            while not _is_ready(client):
                time.sleep(0.01)
        yield service, time.perf_counter() - began
    finally:
        service.stop()


def _is_ready(client: httpx.Client) -> bool:
    return client.get("/health/ready").status_code == httpx.codes.OK


def _commands(place: Path, data: Path, pace: Pace) -> Iterator[Result]:
    costs: dict[tuple[str, ...], list[float]] = {arguments: [] for arguments in COMMANDS}
    for _ in range(min(pace.rounds, _MOST_ROUNDS)):
        python = _processor_time(place, [sys.executable, "-c", "pass"])
        for arguments, seconds in costs.items():
            line = [*command(*arguments), *_data(arguments, data)]
            seconds.append(_processor_time(place, line) - python)
    for arguments, seconds in costs.items():
        goals: list[Goal] = [COMMANDS[arguments]]
        name = " ".join(["portcullis", *arguments])
        yield result(name, "s of processor time", seconds, goals=goals, chart="Commands")


def _data(words: Sequence[str], data: Path) -> list[str]:
    return [] if words == ("--help",) else ["--data", str(data)]


def _processor_time(place: Path, line: Sequence[str]) -> float:
    """Run a command; return the seconds of processor time that it used."""
    process = subprocess.Popen(
        line, cwd=place, env=environment(place), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # it has been waited for
    if process.returncode:  # an error costs something else than the answer
        raise subprocess.CalledProcessError(process.returncode, line)
    return usage.ru_utime + usage.ru_stime


def _idle(service: RunningAnew, pace: Pace) -> Iterator[Result]:
    seconds = _BRIEFLY if pace.is_quick else _IDLE_FOR
    (worker,) = service.workers
    shares = []
    for _ in range(min(pace.rounds, _MOST_ROUNDS)):
        before, begun = _on_a_core(worker), time.perf_counter()
        time.sleep(seconds)
        shares.append(100 * (_on_a_core(worker) - before) / (time.perf_counter() - begun))
    yield result("a worker without requests", "% of a core", shares, goals=[IDLE])


def _on_a_core(pid: int) -> float:
    """Return the seconds that all threads of a process have run (Linux: scheduler statistics)."""
    seconds = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        seconds += int((task / "schedstat").read_text("ascii").split()[0]) / 1e9
    return seconds


def _memory(service: RunningAnew, workers: int, resources: int) -> Iterator[Result]:
    """Yield what each kind of process has, once all workers have done what they do once."""
    while len(service.workers) < workers:
        time.sleep(0.1)
    time.sleep(_SETTLED)
    pids = {"launcher": [service.process.pid], "template": service.templates, "worker": service.workers}
    size = f"{workers} worker{'s' * (workers > 1)}, {resources:,} resources"
    for name, processes in pids.items():
        for what, figures in FIGURES.items():
            goal = MEMORY.get((name, what, workers, resources))
            mebibytes = [sum(kilobytes(pid, figure) for figure in figures) / 1024 for pid in processes]
            yield result(
                f"{name}, {what}: {size}",
                "MiB",
                mebibytes,
                goals=[goal] if goal else [],
                chart=f"Memory: {size}",
            )
