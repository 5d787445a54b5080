"""Requests that never end are cut off before they fill the memory of a worker."""

from __future__ import annotations

import socket

import pytest

from service.server.http import MAX_HEAD
from tests.support.running import Running, kilobytes

PIECE = b"a" * 65_536
PIECES = 1600  # 100 MiB, if all of them were taken
LOGIN = b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

ENDLESS = {
    "request line": b"GET /",
    "header": b"GET /health/live HTTP/1.1\r\nHost: x\r\nCookie: ",
    "headers": b"GET /health/live HTTP/1.1\r\nHost: x\r\n",
    "chunk extension": LOGIN + b"Transfer-Encoding: chunked\r\n\r\n1;",
    "trailers": LOGIN + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n",
}


def send_all(connection: socket.socket, beginning: bytes, piece: bytes) -> int:
    """Send until the other side closes; return how many pieces it took."""
    connection.sendall(beginning)
    for number in range(PIECES):
        try:
            connection.sendall(piece)
        except OSError:
            return number
    return PIECES


def most_memory(service: Running) -> int:
    """Return the kB of the largest worker."""
    return max(kilobytes(pid, "Rss") for pid in service.workers)


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_request_without_end_is_cut_off(service: Running, kind: str) -> None:
    piece = (
        b"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 1000 if kind[-1] == "s" else PIECE
    )
    before = most_memory(service)
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        taken = send_all(connection, ENDLESS[kind], piece)

    assert taken < PIECES / 4  # what was under way when it was cut off
    assert most_memory(service) < before + 30 * 1024


def test_a_long_head_within_reason_is_read(service: Running) -> None:
    head = b"GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: " + b"a" * (MAX_HEAD - 200)
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


def test_a_body_in_tiny_chunks_is_read(service: Running) -> None:
    body = b'{"userName":"nobody-there","password":"' + b"x" * 1000 + b'"}'
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    request = LOGIN + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall(request)
        assert connection.recv(100).startswith(b"HTTP/1.1 401 ")
