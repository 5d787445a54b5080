"""What is refused for its head alone is refused before its body comes, and the client is not asked for it."""

from __future__ import annotations

import socket

import pytest

from tests.support.running import PATIENCE, Running

HEADS = {
    "POST /api/role": 401,
    "POST /api/file": 401,
    "POST /api/nowhere": 404,
    "DELETE /api/auth/login": 405,
}


@pytest.mark.parametrize("framing", ["Content-Length: 400", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("expect", ["X-Expect: nothing", "Expect: 100-continue"])
@pytest.mark.parametrize("line", HEADS)
def test_a_refusal_does_not_wait_for_the_body(service: Running, line: str, expect: str, framing: str) -> None:
    head = [f"{line} HTTP/1.1", "Host: x", "Content-Type: application/json", expect, framing, "", ""]
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall("\r\n".join(head).encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 %d " % HEADS[line])


def test_a_body_that_will_be_read_is_asked_for(service: Running) -> None:
    login = b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall(login + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert connection.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 422 ")


@pytest.mark.parametrize("path", ["/health/live", "/api/role/list"])
def test_the_body_of_an_answered_request_is_not_read_for_ever(service: Running, path: str) -> None:
    """It may come fast enough for every deadline."""
    head = f"GET {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 ")
        with pytest.raises(ConnectionError):
            connection.sendall(bytes(67_108_864))  # of which a little more than 4 MiB are taken
