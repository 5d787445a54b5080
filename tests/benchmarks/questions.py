"""What questions about the whole policy cost, in processor time, in large installations with wildcards.

Each question goes to a service of a tenth of the size right before it goes to the large one, and the ratio is
that of the two. The time is that of the one worker, which reads what is stored and encodes the answer; a
command is a process of its own, with its start, and asks the large one alone. The database's own time is not
in it.
"""

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

from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks.frame.results import Goal, Note, Pace, Result, at_most, result
from tests.benchmarks.installation import environment, log_in
from tests.benchmarks.questions_data import LARGE, SERVICE, SMALL, Installed, Shape, Size, install
from tests.benchmarks.servers import Server, pin_to_last_core, serving_worker
from tests.support.databases import database
from tests.support.running import kilobytes
from tests.support.seeded import ADMINISTRATOR

ANSWER: Final = at_most(2.0)
"""The most seconds of processor time of an answer, and of a command with its start."""
SEARCH: Final = at_most(0.5)
REQUEST: Final = ("GET", "/api/user/x0")
MORE: Final = "*:*:edit"
REVIEW: Final = {
    "title": "All",
    "scope": {"endless": True},
    "reviewers": {},
    "deadline": "2099-12-31T00:00:00Z",
    "onSilence": "keep",
    "apply": "at_end",
}
EXPLAINED: Final = {"roleCode": "team-1", "method": "GET", "path": REQUEST[1]}
SEARCHED: Final = {
    "subject": {"type": "user"},
    "action": {"name": "GET"},
    "resource": {"type": "route", "id": REQUEST[1]},
}
UNIT: Final = "s of processor time"
ROOT: Final = Path(__file__).resolve().parents[2]
_MOST_ROUNDS: Final = 2


@dataclass(frozen=True)
class Question:
    """A request that saves nothing."""

    name: str
    method: str
    path: str
    body: Any = None
    goal: Goal = ANSWER


def commands(about: Installed) -> dict[str, tuple[str, ...]]:
    """Return the commands that ask an installation, by what they say."""
    less = about.given[0]
    asked = (*REQUEST, "--service", SERVICE) if about.shape == "external" else REQUEST
    return {
        "portcullis policy who": ("policy", "who", *asked),
        "portcullis policy who --users": ("policy", "who", "--users", *asked),
        "portcullis policy what --role": ("policy", "what", "--role", "team-1"),
        "portcullis policy what --user": ("policy", "what", "--user", ADMINISTRATOR),
        "portcullis policy matrix --output": ("policy", "matrix", "--output", "matrix.csv"),
        "portcullis policy what-if": (
            *("policy", "what-if", "--role", "team-1", "--without", less, "--with", MORE),
        ),
        "portcullis policy diff": ("policy", "diff", str(about.first_revision), "live"),
        "portcullis policy lint": ("policy", "lint"),
        "portcullis policy explain": ("policy", "explain", *REQUEST, "--role", "team-1"),
        "portcullis policy unused": ("policy", "unused"),
    }


def questions(about: Installed) -> list[Question]:
    """Return what is asked of an installation."""
    less, more = about.given[0], MORE
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
        Question("dry run of a review of everything", "POST", f"/api/review{dry}", REVIEW),
        Question("who may send a request", "GET", "/api/policy/who?method=GET&path=/api/user/x0"),
        Question("what a role passes", "GET", "/api/policy/what?roleCode=team-1"),
        Question("what the administrator passes", "GET", f"/api/policy/what?userName={ADMINISTRATOR}"),
        Question("a page of the matrix", "GET", "/api/policy/matrix?size=50"),
        Question("an explanation", "POST", "/api/policy/explain", EXPLAINED),
        Question("unused rights", "GET", "/api/policy/unused"),
        Question("a search of subjects", "POST", "/access/v1/search/subject", SEARCHED, SEARCH),
    ]


@dataclass(frozen=True)
class _Asked:
    """A service with its questions."""

    environ: Mapping[str, str]
    server: Server
    client: httpx.Client
    about: Installed

    @property
    def questions(self) -> list[Question]:
        """What is asked of it."""
        return questions(self.about)

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
    return _Asked(environ, server, stack.enter_context(client), about)


def _measured(shape: Shape, small: _Asked, large: _Asked, folder: Path, rounds: int) -> Iterator[Result]:
    before = kilobytes(large.server.pid, "Rss")
    for few, many in zip(small.questions, large.questions, strict=True):
        times = [(small.ask(few), large.ask(many)) for _ in range(rounds)]
        yield from _compared(f"{many.name}, {shape}", times, [many.goal])
    grown = (kilobytes(large.server.pid, "Rss") - before) / 1024
    for name, words in commands(large.about).items():
        spent = [large.command(words, folder) for _ in range(rounds)]
        yield result(f"{name}, {shape}", UNIT, spent, goals=[ANSWER])
    yield result(f"the worker has grown, {shape}", "MiB", [grown])


def _compared(name: str, times: Sequence[tuple[float, float]], goals: Sequence[Goal]) -> Iterator[Result]:
    few, many = zip(*times, strict=True)
    reference = result(f"{name}, {SMALL.resources:,} resources", UNIT, few)
    yield reference
    yield result(f"{name}, {LARGE.resources:,} resources", UNIT, many, against=reference, goals=goals)
