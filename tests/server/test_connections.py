"""Connections: who takes one, how many there may be, and how long one may take."""

import asyncio
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import uvicorn

from service.server import acceptor
from service.server.acceptor import Acceptor
from service.server.children import use_short_sockets
from service.server.http import HttpProtocol, WorkerState
from service.server.http.deadlines import Deadlines, Limits, Overdue, Phase
from service.server.shares import CLOSED, Share, SharedNumbers
from service.server.stop_order import GRACE, with_stop_grace
from service.settings import Database, Redis, Server, Settings
from tests.support.cases import with_each
from tests.support.running import ROOT
from tests.support.waiting import eventually_here

MOST = 100


async def _no_application(_scope: Any, _receive: Any, _send: Any) -> None:
    """Nobody sends a request here."""


class Pair:
    """A worker that accepts in this process, and the count of another one beside it."""

    def __init__(self, listener: socket.socket) -> None:
        self.counts = SharedNumbers(2, CLOSED)
        self.share = Share(self.counts, 0)
        self.state = WorkerState(Limits(5, 5, 5, 5, 1), self.share.tell)
        self.address = listener.getsockname()
        self.clients: list[asyncio.StreamWriter] = []
        config = uvicorn.Config(_no_application, ws="none", lifespan="off", log_config=None)
        self.acceptor = Acceptor(
            listener,
            lambda: HttpProtocol(config, self.state, {}),
            lambda: self.state.connections,
            MOST,
            self.share,
        )

    def other_has(self, connections: int) -> None:
        """Let the other worker have so many connections."""
        self.counts[1] = connections

    async def connect(self) -> asyncio.StreamWriter:
        """Open a connection to the listener."""
        _, client = await asyncio.open_connection(*self.address)
        self.clients.append(client)
        return client

    async def has(self, connections: int) -> bool:
        """Return whether this worker comes to have so many connections, and says so."""
        return await eventually_here(
            lambda: (len(self.state.connections), self.counts[0]) == (connections, connections)
        )


@asynccontextmanager
async def pair() -> AsyncIterator[tuple[Pair, socket.socket]]:
    """Yield the pair, and a copy of its listener, as the other worker has it."""
    listener = socket.create_server(("127.0.0.1", 0))
    with listener.dup() as of_other:
        made = Pair(listener)
        made.acceptor.start()
        try:
            yield made, of_other
        finally:
            await made.acceptor.close(others_accept=True)
            for client in made.clients:
                client.close()
                await client.wait_closed()
            assert await eventually_here(lambda: not made.state.connections)


async def test_a_worker_tells_how_many_connections_it_has_and_when_it_accepts_no_more() -> None:
    async with pair() as (worker, _):
        first, _second = await worker.connect(), await worker.connect()
        assert await worker.has(2)
        first.close()
        assert await worker.has(1)
    assert worker.counts[0] == CLOSED
    worker.share.tell(0)  # a connection that ends after that
    assert worker.counts[0] == CLOSED


async def test_a_connection_is_left_to_a_worker_that_has_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptor, "YIELD", 600.0)
    async with pair() as (worker, of_other):
        await worker.connect()
        assert await worker.has(1)
        worker.other_has(0)

        await worker.connect()
        taken, _ = await asyncio.get_running_loop().sock_accept(of_other)

        taken.close()
        assert await worker.has(1)


@pytest.mark.parametrize("others", [0, 1, CLOSED])
async def test_a_connection_that_nobody_else_takes_is_accepted_all_the_same(others: int) -> None:
    async with pair() as (worker, _):
        await worker.connect()
        assert await worker.has(1)
        worker.other_has(others)

        for expected in (2, 3):
            await worker.connect()
            assert await worker.has(expected)


PROGRAM = """
import resource, sys
soft, hard, wanted = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from service.server.shares import most_connections, raise_file_limit
from service.settings import load
settings = load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__MAX_CONNECTIONS": str(wanted)})
print(raise_file_limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0], most_connections(settings))
"""


def figures(soft: int, hard: int, requested: int) -> list[int]:
    """Return the limit that was raised to, the one in force, and the connections, in a process of its own."""
    words = [sys.executable, "-c", PROGRAM, str(soft), str(hard), str(requested)]
    done = subprocess.run(
        words, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    return [int(word) for word in done.stdout.split()]


@with_each(
    ("soft", "hard", "requested", "most"),
    [
        (256, 512, 0, 363),
        (256, 512, 100, 100),
        (256, 512, 5000, 363),
        (256, 18_000, 0, 10_000),
        (64, 64, 0, 1),
    ],
)
def test_connections_stay_below_the_limit_for_files(soft: int, hard: int, requested: int, most: int) -> None:
    assert figures(soft, hard, requested) == [hard, hard, most]


@pytest.mark.parametrize(("length", "moved"), [(75, False), (76, True), (300, True)])
def test_a_temporary_folder_that_is_too_long_for_a_socket_is_not_used(
    length: int, moved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = "/" + "x" * (length - 1)
    monkeypatch.setattr(tempfile, "tempdir", usual)
    use_short_sockets()
    assert tempfile.gettempdir() == ("/tmp" if moved else usual)


LIMITS = Limits(head=10, body=10, write=10, keep_alive=60, rate=100)


def watch(deadlines: Deadlines, *, until: int, a_second: int = 0, paused: bool = False) -> dict[int, Overdue]:
    """Look once a second, while ``a_second`` bytes come each time; return what was overdue, and when."""
    noticed = {}
    for now in range(1, until + 1):
        deadlines.taken += a_second
        if late := deadlines.overdue(now, paused=paused, unsent=0):
            noticed[now] = late
    return noticed


def test_a_connection_that_says_nothing_is_closed() -> None:
    assert watch(Deadlines(LIMITS, 0), until=11) == {11: Overdue.IDLE}


def test_a_head_is_timed_as_a_whole_however_steadily_it_comes() -> None:
    assert watch(Deadlines(LIMITS, 0), until=11, a_second=1000) == {11: Overdue.REQUEST}


def test_the_application_may_take_as_long_as_it_needs() -> None:
    deadlines = Deadlines(LIMITS, 0)
    deadlines.begin(Phase.BUSY, 0)
    assert watch(deadlines, until=1000) == {}


def test_a_kept_connection_is_closed_after_its_own_time() -> None:
    deadlines = Deadlines(LIMITS, 0)
    deadlines.begin(Phase.IDLE, 0)
    assert watch(deadlines, until=61) == {61: Overdue.IDLE}


def body() -> Deadlines:
    deadlines = Deadlines(LIMITS, 0)
    deadlines.begin(Phase.BODY, 0)
    return deadlines


def test_a_silent_body_is_late() -> None:
    assert watch(body(), until=11)[11] is Overdue.REQUEST


def test_a_body_that_trickles_is_late() -> None:
    assert watch(body(), until=10, a_second=99) == {10: Overdue.REQUEST}


def test_a_body_that_comes_as_fast_as_it_must_is_not_late() -> None:
    assert watch(body(), until=1000, a_second=100) == {}


def test_a_body_that_stops_after_a_fast_start_is_late() -> None:
    deadlines = body()
    deadlines.taken += 1_000_000
    late = watch(deadlines, until=30)
    assert min(late) == 12  # noticed after a second, and then silent for more than ten


def test_what_the_service_does_not_read_is_nobodys_fault() -> None:
    deadlines = body()
    assert watch(deadlines, until=100, paused=True) == {}
    assert deadlines.overdue(109, paused=False, unsent=0) is None
    assert deadlines.overdue(110, paused=False, unsent=0) is Overdue.REQUEST


def unsent(*sizes: int) -> list[int]:
    """Return at which seconds the reader was overdue, when so much was unsent at each."""
    deadlines = Deadlines(LIMITS, 0)
    deadlines.begin(Phase.BUSY, 0)
    noticed = [deadlines.overdue(now, paused=False, unsent=size) for now, size in enumerate(sizes)]
    return [now for now, late in enumerate(noticed) if late is Overdue.READER]


def test_a_reader_that_takes_nothing_is_late() -> None:
    assert unsent(*[5000] * 12) == [11]


def test_a_reader_that_takes_too_little_is_late() -> None:
    assert unsent(*range(50_000, 50_000 - 12 * 90, -90)) == [11]


def test_a_reader_that_takes_enough_is_not_late() -> None:
    assert unsent(*range(100_000, 0, -100)) == []


def test_a_reader_who_is_given_more_has_taken_something() -> None:
    assert unsent(*range(5000, 5100)) == []


def test_a_reader_that_has_taken_all_begins_anew() -> None:
    assert unsent(*[5000] * 9, 0, *[5000] * 10) == []


DATABASE, STORE = Database(url="postgresql://h/d"), Redis(url="redis://h")


@with_each(
    ("settings", "grace"),
    [
        (Settings(), 0.0),
        (Settings(database=DATABASE), GRACE),
        (Settings(redis=STORE), GRACE),
        (Settings(database=DATABASE, redis=STORE), GRACE),
    ],
)
def test_without_a_setting_only_nodes_beside_which_others_may_run_have_a_grace(
    settings: Settings, grace: float
) -> None:
    assert with_stop_grace(settings).server.stop_grace == grace
    for chosen in (0.0, 7.0):
        given = replace(settings, server=Server(stop_grace=chosen))
        assert with_stop_grace(given) == given
