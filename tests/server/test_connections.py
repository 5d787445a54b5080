"""How a worker shares, bounds and names its connections with the other processes of a service."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from service.server import acceptor
from service.server.acceptor import Acceptor
from service.server.children import use_short_sockets
from service.server.http import HttpProtocol, Limits, WorkerState
from service.server.shared_numbers import SharedNumbers
from service.server.shares import CLOSED, Share
from tests.support.running import ROOT
from tests.support.waiting import eventually_here

pytestmark = pytest.mark.anyio

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


@pytest.mark.parametrize(
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
