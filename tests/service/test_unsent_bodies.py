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
