"""What questions about the whole policy cost, in processor time, in large installations with wildcards.

Each question goes to a service of a tenth of the size right before it goes to the large one, and the ratio is
that of the two. The time is that of the one worker, which reads what is stored and encodes the answer; a
command is a process of its own, with its start. The database's own time is not in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import httpx

from service.embedded import EmbeddedStores
from tests.benchmarks.frame.results import Goal, Note, Pace, Result, at_most, result
from tests.benchmarks.installation import environment, log_in
from tests.benchmarks.questions_data import LARGE, SMALL, Installed, Shape, Size, install
from tests.benchmarks.servers import Server, pin_to_last_core, serving_worker
from tests.support.databases import database
from tests.support.running import kilobytes

ANSWER: Final = at_most(2.0)
COMMANDS: Final[dict[str, tuple[tuple[str, ...], Goal]]] = {
    "the lint": (("policy", "lint"), at_most(3.0)),
    "the matrix as CSV": (("policy", "matrix", "--output", "matrix.csv"), at_most(6.0)),
}
"""Commands that ask about all roles, and the most seconds of processor time."""
FREE: Final = ("who may send a request", "a page of the matrix")
"""Questions without a goal."""
UNIT: Final = "s of processor time"
ROOT: Final = Path(__file__).resolve().parents[2]
_MOST_ROUNDS: Final = 3


@dataclass(frozen=True)
class Question:
    """A request that saves nothing."""

    name: str
    method: str
    path: str
    body: Any = None


def questions(about: Installed) -> list[Question]:
    """Return what is asked of an installation."""
    less, more = about.given[0], "*:*:edit"
    given = {"permissions": [code for code in about.given if code != less]}
    resource = {"resourceName": "New", "resourceCode": "new", "method": "GET", "path": "/api/user/new"}
    revisions = f"from={about.first_revision}&to={about.last_revision}"
    dry = "?dryRun=true"
    return [
        Question("what-if", "GET", f"/api/policy/what-if?roleCode=team-1&without={less}&with={more}"),
        Question(
            "difference of two revisions",
            "GET",
            f"/api/policy/diff?{revisions}&access=true&accessSize=20&size=20",
        ),
        Question("dry run of a role", "PUT", f"/api/role/{about.role_id}/permissions{dry}", given),
        Question(
            "dry run of a user", "PATCH", f"/api/user/{about.user_id}{dry}", {"roleIds": [about.role_id]}
        ),
        Question(
            "dry run of a status", "PUT", f"/api/user/{about.user_id}/status{dry}", {"status": "disabled"}
        ),
        Question("dry run of a new resource", "POST", f"/api/resource{dry}", resource),
        Question(
            "dry run of bindings", "PUT", f"/api/resource/{about.resource_id}/buttons{dry}", {"menuIds": []}
        ),
        Question("dry run of a Button", "PATCH", f"/api/menu/{about.button_id}{dry}", {"enabled": False}),
        Question("who may send a request", "GET", "/api/policy/who?method=GET&path=/api/user/x0"),
        Question("a page of the matrix", "GET", "/api/policy/matrix?size=50"),
    ]


@dataclass(frozen=True)
class _Asked:
    """A service with its questions."""

    environ: Mapping[str, str]
    server: Server
    client: httpx.Client
    questions: list[Question]

    def ask(self, question: Question) -> float:
        """Return the seconds of processor time of the worker."""
        before = self.server.cpu_seconds()
        self.client.request(question.method, question.path, json=question.body).raise_for_status()
        return self.server.cpu_seconds() - before

    def command(self, words: Sequence[str], folder: Path) -> float:
        """Return the seconds of processor time of a command; 1 is its status if the lint finds something."""
        line = [sys.executable, "-P", "-m", "service", *words]
        process = subprocess.Popen(
            line, cwd=folder, env={**os.environ, **self.environ}, stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # it has been waited for
        if process.returncode not in (0, 1):
            raise subprocess.CalledProcessError(process.returncode, line)
        return usage.ru_utime + usage.ru_stime


def main(pace: Pace) -> Iterator[Result | Note]:
    """Yield seconds of processor time, and by how much the worker grows."""
    for shape in get_args(Shape):
        with tempfile.TemporaryDirectory(prefix="pc-") as name, ExitStack() as stack:
            folder = Path(name)
            stores = stack.enter_context(EmbeddedStores(folder / "data", durable=False))
            pin_to_last_core()
            small = _asked(stack, stores, folder, shape, SMALL)
            large = _asked(stack, stores, folder, shape, LARGE)
            yield from _measured(shape, small, large, folder, min(pace.rounds, _MOST_ROUNDS))
    yield Note(
        f"The large installation has {LARGE.roles} roles with wildcards, {LARGE.resources:,} resources and "
        f"{LARGE.users:,} users, the small one a tenth of each."
    )


def _asked(stack: ExitStack, stores: EmbeddedStores, folder: Path, shape: Shape, size: Size) -> _Asked:
    url = stack.enter_context(database(stores, name=f"{shape}_{size.resources}"))
    number = 0 if size == SMALL else 1
    environ = environment(stores, folder) | {
        "DATABASE_URL": url,
        "REDIS_URL": f"{stores.redis_url}?db={number}",
        "PYTHONPATH": str(ROOT),
    }
    about = install(environ, shape, size)
    server = stack.enter_context(serving_worker(environ))
    headers = {"Authorization": f"Bearer {log_in(server)}"}
    client = httpx.Client(
        base_url=f"http://127.0.0.1:{server.port}", headers=headers, timeout=300, trust_env=False
    )
    return _Asked(environ, server, stack.enter_context(client), questions(about))


def _measured(shape: Shape, small: _Asked, large: _Asked, folder: Path, rounds: int) -> Iterator[Result]:
    before = kilobytes(large.server.pid, "Rss")
    for few, many in zip(small.questions, large.questions, strict=True):
        times = [(small.ask(few), large.ask(many)) for _ in range(rounds)]
        goals = [] if many.name in FREE else [ANSWER]
        yield from _compared(f"{many.name}, {shape}", times, goals)
    grown = (kilobytes(large.server.pid, "Rss") - before) / 1024
    for name, (words, goal) in COMMANDS.items():
        times = [(small.command(words, folder), large.command(words, folder)) for _ in range(rounds)]
        yield from _compared(f"{name}, {shape}", times, [goal])
    yield result(f"the worker has grown, {shape}", "MiB", [grown])


def _compared(name: str, times: Sequence[tuple[float, float]], goals: Sequence[Goal]) -> Iterator[Result]:
    few, many = zip(*times, strict=True)
    reference = result(f"{name}, {SMALL.resources:,} resources", UNIT, few)
    yield reference
    yield result(f"{name}, {LARGE.resources:,} resources", UNIT, many, against=reference, goals=goals)
