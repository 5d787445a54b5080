"""Clients that never finish are let go of, and too many of them keep nobody else out."""

import socket
import struct
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.service.conftest import variables_for
from tests.service.wire import Received, answers, exchange, read_all
from tests.support.cases import with_each
from tests.support.databases import database, session_store
from tests.support.running import Running, running
from tests.support.waiting import eventually

MOST = 30
REQUEST = b"GET /health/live HTTP/1.1\r\nHost: x\r\n"
LOGIN = b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
LIVE = b'{"data":{"status":"live"}}'
CLOSED = 7  # TCP_CLOSE of linux/tcp.h: the other side has reset the connection

UNFINISHED = {
    "half a head": (REQUEST, 408),
    "half a request line": (b"GET /hea", 408),
    "half a body": (LOGIN + b'Content-Length: 50\r\n\r\n{"userName":', 408),
    "no byte of a body": (LOGIN + b"Content-Length: 50\r\n\r\n", 408),
    "half a chunk": (LOGIN + b"Transfer-Encoding: chunked\r\n\r\n20\r\n{", 408),
    "no last chunk": (LOGIN + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", 408),
    "a body that nobody reads": (b"POST /api/role HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", 401),
}
TRICKLING = {
    "a head": (REQUEST, b"X-A: b\r\n"),
    "a body": (LOGIN + b"Content-Length: 50000\r\n\r\n", b" "),
}
SILENT = {"at first": b"", "after an answer": REQUEST + b"\r\n"}


@pytest.fixture(scope="module")
def impatient(
    stores: EmbeddedStores,
    seeded_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    """A service of one worker, which waits for a second at most and takes thirty connections."""
    limits = {
        "HEAD_TIMEOUT": "1",
        "BODY_TIMEOUT": "1",
        "WRITE_TIMEOUT": "1",
        "KEEP_ALIVE": "4",
        "MAX_CONNECTIONS": str(MOST),
    }
    own = {f"PORTCULLIS_SERVER__{name}": value for name, value in limits.items()}
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        variables = variables_for(url, redis_url)
        with running(tmp_path_factory.mktemp("impatient"), "--workers", "1", **variables, **own) as service:
            yield service


def connect(service: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=20)


def readable(connection: socket.socket) -> bool:
    connection.settimeout(0.1)
    try:
        return len(connection.recv(1, socket.MSG_PEEK)) == 1
    except TimeoutError:
        return False
    finally:
        connection.settimeout(20)


def trickle(service: Running, begun: bytes, piece: bytes) -> list[Received]:
    """Send ``begun``, then ``piece`` again and again until there is an answer; return the answers."""
    with connect(service) as connection:
        connection.sendall(begun)
        started = time.monotonic()
        while not readable(connection):
            connection.sendall(piece)
            assert time.monotonic() < started + 20
        return answers(read_all(connection))


Said = Mapping[str, Future[list[Received]]]


@pytest.fixture(scope="module")
def replies(impatient: Running) -> Iterator[Said]:
    """What slow clients are answered, who wait all at once."""
    sent = {kind: raw for kind, (raw, _) in UNFINISHED.items()} | SILENT
    with ThreadPoolExecutor(len(sent) + len(TRICKLING)) as clients:
        yield {kind: clients.submit(exchange, impatient.port, raw) for kind, raw in sent.items()} | {
            kind: clients.submit(trickle, impatient, *pieces) for kind, pieces in TRICKLING.items()
        }


@with_each("kind", UNFINISHED)
def test_a_request_that_does_not_go_on_is_refused(replies: Said, kind: str) -> None:
    (answer,) = replies[kind].result()
    status = UNFINISHED[kind][1]
    assert answer.status == status
    assert answer.problem["code"] == {408: "request_timeout", 401: "unauthenticated"}[status]


@with_each("kind", TRICKLING)
def test_a_request_that_trickles_is_refused(replies: Said, kind: str) -> None:
    assert replies[kind].result()[0].status == 408


@with_each("kind", SILENT)
def test_a_connection_without_a_request_is_closed_without_a_word(replies: Said, kind: str) -> None:
    assert [answer.status for answer in replies[kind].result()] == [200] * bool(SILENT[kind])


def test_a_client_that_does_not_read_is_disconnected(impatient: Running) -> None:
    with connect(impatient) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(b"GET /docs/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 200)
        assert eventually(lambda: tcp_state(connection) == CLOSED)


def tcp_state(connection: socket.socket) -> int:
    state: int = struct.unpack("B", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1))[0]
    return state


def test_one_connection_too_many_is_told_so_and_the_others_are_served(impatient: Running) -> None:
    with ExitStack() as stack:
        held: list[socket.socket] = []
        while True:
            connection = stack.enter_context(connect(impatient))
            if not (raw := asked(connection)).endswith(LIVE):
                break
            held.append(connection)
        assert MOST // 2 < len(held) <= MOST  # connections of the tests before may not be closed yet
        (answer,) = answers(raw)
        assert (answer.status, answer.problem["code"]) == (503, "unavailable")
        assert "\r\nretry-after: 5\r\n" in answer.head
        assert "\r\nconnection: close\r\n" in answer.head
        assert asked(held[-1]).endswith(LIVE)


def asked(connection: socket.socket) -> bytes:
    """Ask whether the service lives; return the answer, be it LIVE or the last of the connection."""
    connection.sendall(REQUEST + b"\r\n")
    received = b""
    while not received.endswith(LIVE) and (piece := connection.recv(65_536)):
        received += piece
    return received


def test_many_more_than_fit_keep_nobody_out_for_long(impatient: Running) -> None:
    with ExitStack() as stack:
        for _ in range(10 * MOST):
            stack.enter_context(connect(impatient))
        assert eventually(lambda: first_status(impatient) == 200)


def first_status(service: Running) -> int:
    with connect(service) as connection:
        connection.sendall(REQUEST + b"Connection: close\r\n\r\n")
        try:
            return answers(read_all(connection))[0].status
        except (ConnectionError, IndexError):
            return 0
