"""One task answers the requests of a connection, and none of them sees anything of the one before."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final

import pytest
import uvicorn

from service.server.http import HttpProtocol, WorkerState
from service.server.http.deadlines import Limits
from tests.support.waiting import eventually_here

LEFT: Final[ContextVar[str]] = ContextVar("left")
KNOWN: Final[ContextVar[list[str]]] = ContextVar("known")
GET: Final = b"GET /%b HTTP/1.1\r\nhost: a\r\n\r\n"
Sees = Callable[[str], Awaitable[str]]
"""Takes the path of a request, and returns what is answered."""


class Peer:
    """A client of an application that answers what ``sees`` returns, over one connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, state: WorkerState
    ) -> None:
        self.reader, self.writer, self.state = reader, writer, state
        self.tasks: list[asyncio.Task[Any] | None] = []
        """The task of each request so far."""

    async def ask(self, *paths: str) -> list[str]:
        """Send requests at once, and return the bodies of the answers."""
        self.writer.write(b"".join(GET % path.encode() for path in paths))
        answers = []
        for _ in paths:
            head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 10)
            length = int(head.partition(b"content-length: ")[2].partition(b"\r")[0])
            answers.append((await self.reader.readexactly(length)).decode())
        return answers


@asynccontextmanager
async def peer(sees: Sees) -> AsyncIterator[Peer]:
    """Serve an application in this process, and yield a client of it."""

    async def application(scope: Any, _receive: Any, send: Any) -> None:
        client.tasks.append(asyncio.current_task())
        body = (await sees(scope["path"][1:])).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    state = WorkerState(Limits(5, 5, 5, 5, 1), lambda _number: None)
    state.default_headers = []
    config = uvicorn.Config(application, ws="none", lifespan="off", log_config=None)
    config.load()
    server = await asyncio.get_running_loop().create_server(
        lambda: HttpProtocol(config, state, {}), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    client = Peer(reader, writer, state)
    try:
        yield client
    finally:
        writer.close()
        server.close()
        assert await eventually_here(lambda: not state.connections)
        assert await eventually_here(lambda: all(task is None or task.done() for task in client.tasks))


async def test_requests_after_one_another_are_answered_by_one_task() -> None:
    async def sees(path: str) -> str:
        await asyncio.sleep(0)
        return path

    async with peer(sees) as client:
        assert [await client.ask(path) for path in "abc"] == [["a"], ["b"], ["c"]]
        assert len(set(client.tasks)) == 1
        assert await eventually_here(lambda: not client.state.tasks)


async def test_requests_that_come_at_once_are_answered_in_their_order() -> None:
    async def sees(path: str) -> str:
        await asyncio.sleep(0.01 if path == "a" else 0)
        return path

    async with peer(sees) as client:
        assert await client.ask("a", "b", "c") == ["a", "b", "c"]


@pytest.mark.parametrize("left", [LEFT, KNOWN])
async def test_no_request_sees_a_context_variable_that_another_has_set(left: ContextVar[Any]) -> None:
    token = KNOWN.set(["begun"])

    async def sees(path: str) -> str:
        seen = str(left.get("nothing"))
        left.set([path])
        return seen

    try:
        async with peer(sees) as client:
            answers = [(await client.ask(path))[0] for path in "abc"]
    finally:
        KNOWN.reset(token)
    assert len(set(answers)) == 1
    assert len(set(client.tasks)) == 3


async def test_a_request_after_one_that_was_cancelled_is_answered_by_another_task() -> None:
    async def sees(path: str) -> str:
        task = asyncio.current_task()
        assert task is not None
        if path == "cancelled":
            task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.001)
        return str(task.cancelling())

    async with peer(sees) as client:
        assert [await client.ask(path) for path in ("cancelled", "next")] == [["1"], ["0"]]


async def test_a_connection_that_is_closed_leaves_no_task() -> None:
    async def sees(path: str) -> str:
        return path

    async with peer(sees) as client:
        await client.ask("a")
        (task,) = client.tasks
        assert task is not None
        assert not task.done()
        client.writer.close()
        assert await eventually_here(task.done)
