"""What a request leaves behind: nothing that only the garbage collector could free."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn

from service.server.http import HttpProtocol, Limits, WorkerState
from service.web.requests.guard import AuthorizationGuard
from service.web.requests.middleware import RequestMiddleware
from tests.support.cases import with_each
from tests.web.example_service import example
from tests.web.test_guard import APP as GUARDED

GET = b"GET /api/open HTTP/1.1\r\nHost: a\r\n\r\n"
LISTED = b"GET /api/thing?page=2 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer lister\r\n\r\n"
FORBIDDEN = b"GET /api/thing HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer nobody\r\n\r\n"
MADE = (
    b"POST /api/thing HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n"
    b'{"userName":"a"}'
)
FAULTY_BODY = MADE.replace(b'"a"', b"123")
UNKNOWN = b"GET /api/nothing HTTP/1.1\r\nHost: a\r\n\r\n"


class Transport:
    """Takes answers, and tells of each that is whole."""

    def __init__(self, answered: Callable[[bytes], None]) -> None:
        self.write = answered

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("192.0.2.7", 5000) if name == "peername" else default

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def resume_reading(self) -> None:
        """Nothing is paused."""


def garbage_of(app: RequestMiddleware, request: bytes, status: bytes, times: int = 20) -> list[Any]:
    """Return what the garbage collector finds after ``request`` was served some times by one connection."""
    garbage: list[Any] = []

    async def serve() -> None:
        config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None, access_log=False)
        protocol = HttpProtocol(config, WorkerState(Limits(5, 5, 5, 5, 1), lambda _connections: None), {})
        answers: list[bytes] = []
        protocol.connection_made(Transport(answers.append))  # type: ignore[arg-type]  # the part that is used

        async def ask() -> None:
            answers.clear()
            protocol.data_received(request)
            while not protocol.cycle.response_complete:  # noqa: ASYNC110 - counts turns, not time
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert answers[0].startswith(b"HTTP/1.1 " + status), answers

        for _ in range(3):  # what is made once, and kept
            await ask()
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            for _ in range(times):
                await ask()
            gc.collect()
            garbage.extend(gc.garbage)
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()

    asyncio.run(serve())
    return garbage


@with_each(
    ("request_", "status"),
    [(GET, b"200"), (MADE, b"201"), (UNKNOWN, b"404"), (FAULTY_BODY, b"422")],
)
def test_a_request_leaves_no_cyclic_garbage(request_: bytes, status: bytes) -> None:
    assert garbage_of(example()[0], request_, status) == []


@pytest.mark.parametrize(
    ("request_", "status"),
    [(LISTED, b"200"), (FORBIDDEN, b"403"), (UNKNOWN.replace(b"nothing", b"thing"), b"401")],
    ids=["admitted", "forbidden", "nobody"],
)
def test_a_guarded_request_leaves_no_cyclic_garbage(request_: bytes, status: bytes) -> None:
    assert garbage_of(GUARDED, request_, status) == []


def test_the_collector_finds_what_a_request_leaves() -> None:
    class Leaving(AuthorizationGuard):
        def __init__(self) -> None:
            """Need nothing."""

        async def admit(self, context: Any, _operation: Any) -> None:
            context.itself = context

    assert garbage_of(example(Leaving())[0], GET, b"200")
