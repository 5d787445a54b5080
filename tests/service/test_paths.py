"""Requests as no polite client writes them: none passes without a token, and none is a fault."""

from __future__ import annotations

import socket

import pytest

from tests.support.running import PATIENCE, Running

LIST = "/api/role/list"


def talk(port: int, data: bytes) -> bytes:
    """Send ``data`` on a connection of its own; return all that comes until the server closes it."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        while piece := connection.recv(65536):
            answer += piece
    return answer


def request(line: str, *headers: str, version: str = "HTTP/1.1") -> bytes:
    """Return a request as bytes, its line and headers as they are given."""
    words = [f"{line} {version}", "Host: x", "Connection: close", *headers, "", ""]
    return "\r\n".join(words).encode("latin-1")


def status(answer: bytes) -> int:
    """Return the status of the answer."""
    return int(answer.split(b" ", 2)[1])


SPELLINGS = {
    f"GET /{LIST}": 400,
    "GET /api//role/list": 400,
    f"GET {LIST}/": 400,
    "GET /api/role/./list": 400,
    "GET /api/role/%2e/list": 400,
    "GET /api/x/../role/list": 400,
    "GET /api/x/%2e%2e/role/list": 400,
    "GET /api/role/%6cist": 400,
    "GET /api/role%2flist": 400,
    "GET /api/role%252flist": 400,
    "GET /api%5crole\\list": 400,
    f"GET {LIST};a=1": 400,
    "GET /api/role;a=1/list": 400,
    f"GET {LIST}%00": 400,
    f"GET {LIST}%0a": 400,
    f"GET {LIST}%c0%af": 400,
    # Another route: that of one role, whose id this is not.
    f"GET {LIST}%20": 401,
    f"GET {LIST}%e2%80%8b": 401,
    "GET /API/Role/List": 404,
    f"GET {LIST}?": 401,
    f"GET {LIST}#x": 400,
    f"GET http://x{LIST}": 401,
    f"GET http://x/{LIST}": 400,
    f"GET {LIST[1:]}": 400,
    "GET /" + "a" * 4000: 400,
    f"GET {LIST} extra": 400,
    "GET ": 400,
}

METHODS = {
    f"HEAD {LIST}": 405,
    f"OPTIONS {LIST}": 405,
    f"TRACE {LIST}": 405,
    f"PROPFIND {LIST}": 405,
    f"get {LIST}": 400,
    f"FOO {LIST}": 400,
    "OPTIONS *": 400,
    "CONNECT x:80": 400,
}

DETOURS = (
    ("POST", "X-HTTP-Method-Override: GET", 405),
    ("POST", "X-HTTP-Method: GET", 405),
    ("GET", "X-HTTP-Method-Override: POST", 401),
    ("GET", "X-Original-URL: /health/live", 401),
    ("GET", "X-Rewrite-URL: /docs", 401),
    ("GET", "X-Forwarded-Prefix: /docs", 401),
    ("GET", "X-Forwarded-For: 127.0.0.1", 401),
    ("GET", "X-Forwarded-User: admin", 401),
    ("GET", "Authorization: Basic YWRtaW46eA==", 401),
    ("GET", "Authorization:", 401),
    ("GET", "Authorization: Bearer", 401),
    ("GET", "Authorization: Bearer ,", 400),
    ("GET", "Cookie: Authorization=x; access_token=x; token=x", 401),
    ("GET", "Content-Length: -1", 400),
    ("GET", "Transfer-Encoding: identity", 501),
)


@pytest.mark.parametrize(("line", "expected"), [*SPELLINGS.items(), *METHODS.items()])
def test_no_spelling_of_a_guarded_route_passes_without_a_token(
    service: Running, line: str, expected: int
) -> None:
    assert status(talk(service.port, request(line))) == expected


SAME = {f"GET {LIST}?", f"GET http://x{LIST}"}


@pytest.mark.parametrize("line", [line for line in SPELLINGS if line not in SAME])
def test_no_other_spelling_of_a_guarded_route_is_served_to_who_may_call_it(
    service: Running, administrator: dict[str, str], line: str
) -> None:
    token = f"Authorization: {administrator['Authorization']}"
    assert status(talk(service.port, request(line, token))) in (400, 404, 422)


@pytest.mark.parametrize(("method", "header", "expected"), DETOURS)
def test_no_header_leads_around_the_gate(service: Running, method: str, header: str, expected: int) -> None:
    assert status(talk(service.port, request(f"{method} {LIST}", header))) == expected


@pytest.mark.parametrize("query", ["access_token=x", "Authorization=Bearer%20x", "token=x"])
def test_no_token_is_taken_from_the_query(service: Running, query: str) -> None:
    assert status(talk(service.port, request(f"GET {LIST}?{query}"))) == 401


def test_two_tokens_in_one_request_are_refused(service: Running, administrator: dict[str, str]) -> None:
    token = f"Authorization: {administrator['Authorization']}"
    assert status(talk(service.port, request(f"GET {LIST}", token, "Authorization: Bearer x"))) == 400
    assert status(talk(service.port, request(f"GET {LIST}", token, token))) == 400


def test_a_length_and_chunks_together_are_refused(service: Running) -> None:
    both = ("Content-Length: 5", "Transfer-Encoding: chunked")
    assert status(talk(service.port, request(f"GET {LIST}", *both) + b"0\r\n\r\n")) == 400


def test_a_canonical_request_with_a_token_is_served(service: Running, administrator: dict[str, str]) -> None:
    token = f"Authorization: {administrator['Authorization']}"
    assert status(talk(service.port, request(f"GET {LIST}", token))) == 200
    assert status(talk(service.port, request(f"GET {LIST}", token, version="HTTP/1.0"))) == 200


@pytest.mark.parametrize("version", ["HTTP/0.9", "HTTP/2.0", "HTTP/3.0", "HTTP/1.2", "HTTQ/1.1"])
def test_a_version_that_is_not_spoken_is_refused(
    service: Running, administrator: dict[str, str], version: str
) -> None:
    token = f"Authorization: {administrator['Authorization']}"
    assert status(talk(service.port, request(f"GET {LIST}", token, version=version))) == 400
