"""Bodies that get their refusal: nothing of them is echoed, logged, or asked for before it is read."""

import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.support.cases import with_each
from tests.support.running import PATIENCE, Running

CANARY = "canary-7f3e9a"
LOGIN = "/api/auth/login"
JSON = "application/json"
MEGABYTE = 1024 * 1024


def credentials(user_name: str = f'"{CANARY}"', password: str = f'"{CANARY}"', more: str = "") -> bytes:
    """Return a body made of these pieces of JSON, as they are given."""
    return f'{{"userName": {user_name}, "password": {password}{more}}}'.encode()


BODIES: dict[str, tuple[bytes, int, str]] = {
    "malformed": (credentials()[:-1], 400, "bad_request"),
    "a member twice": (credentials(more=f', "password": "{CANARY}"'), 400, "bad_request"),
    "not UTF-8": (credentials().replace(b"7f3e9a", b"7f3e9a\xff"), 400, "bad_request"),
    "half a surrogate pair": (credentials(f'"{CANARY}\\ud800"'), 400, "bad_request"),
    "a NUL in the password": (credentials(password=f'"{CANARY}\\u0000"'), 422, "validation_failed"),
    "no object": (f'"{CANARY}"'.encode(), 422, "validation_failed"),
    "an unknown field of a strange name": (credentials(more=f', "{CANARY}!": 1'), 422, "validation_failed"),
    "a device of another form": (credentials(more=f', "device": "{CANARY}!"'), 422, "validation_failed"),
    "a name that is too long": (credentials(f'"{CANARY * 40}"'), 422, "validation_failed"),
    "half a surrogate pair after an unknown field": (
        f'{{"{CANARY}": 1, "password": "\\ud800"}}'.encode(),
        400,
        "bad_request",
    ),
    "2 MiB": (credentials(password=f'"{CANARY * 165_000}"'), 413, "too_large"),
}


def check_refusal(service: Running, answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert CANARY not in answer.text
    assert not any(CANARY in value for value in answer.headers.values())
    assert service.line_of(answer.headers["x-request-id"])["status"] == status
    assert CANARY not in service.output + service.errors


@with_each("name", BODIES)
def test_a_bad_body_gets_its_refusal_and_leaves_no_trace(
    service: Running, client: httpx.Client, name: str
) -> None:
    body, status, code = BODIES[name]
    answer = client.post(LOGIN, content=body, headers={"Content-Type": JSON})
    check_refusal(service, answer, status, code)


def test_a_body_in_chunks_is_refused_once_it_is_too_long(service: Running, client: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        yield credentials()[:-2]
        for _ in range(32):
            yield CANARY.encode() * (2 * MEGABYTE // 32 // len(CANARY))

    answer = client.post(LOGIN, content=chunks(), headers={"Content-Type": JSON})
    check_refusal(service, answer, 413, "too_large")


def test_a_body_of_another_media_type_is_refused(service: Running, client: httpx.Client) -> None:
    headers = {"Content-Type": f"{CANARY}/json"}
    answer = client.post(LOGIN, content=credentials(), headers=headers)
    check_refusal(service, answer, 415, "unsupported_media_type")


def test_tokens_and_paths_that_lead_nowhere_leave_no_trace(service: Running, client: httpx.Client) -> None:
    headers = {"Authorization": f"Bearer {CANARY}", "Cookie": CANARY, "User-Agent": CANARY, "Referer": CANARY}
    check_refusal(service, client.get("/api/role/list", headers=headers), 401, "token_invalid")
    check_refusal(service, client.get(f"/api/{CANARY}?{CANARY}", headers=headers), 404, "not_found")
    check_refusal(service, client.get(f"/api/{CANARY};{CANARY}"), 400, "bad_request")


HEADS = {
    "POST /api/role": 401,
    "POST /api/file": 401,
    "POST /api/nowhere": 404,
    "DELETE /api/auth/login": 405,
}


@with_each("framing", ["Content-Length: 400", "Transfer-Encoding: chunked"])
@with_each("expect", ["X-Expect: nothing", "Expect: 100-continue"])
@with_each("line", HEADS)
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
