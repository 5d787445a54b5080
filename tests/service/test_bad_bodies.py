"""Bodies that get their refusal: nothing of them is echoed, logged, or asked for before it is read."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.cases import with_each
from tests.support.running import PATIENCE, Running

CANARY = "canary-7f3e9a"
LOGIN = "/api/auth/login"
JSON = "application/json"
MEGABYTE = 1024 * 1024


def credentials(user_name: str = f'"{CANARY}"', password: str = f'"{CANARY}"', more: str = "") -> bytes:
    """Return a body made of these pieces of JSON, as they are given."""
    return f'{{"userName": {user_name}, "password": {password}{more}}}'.encode()


def nested(pairs: tuple[str, str]) -> str:
    return pairs[0] * 10_000 + pairs[1] * 10_000


BODIES: dict[str, tuple[bytes, int, str]] = {
    "malformed": (credentials()[:-1], 400, "bad_request"),
    "something behind it": (credentials() + b" x", 400, "bad_request"),
    "empty": (b"", 400, "bad_request"),
    "NaN": (credentials(password="NaN"), 400, "bad_request"),
    "infinity": (credentials(password="-Infinity"), 400, "bad_request"),
    "a member twice": (credentials(more=f', "password": "{CANARY}"'), 400, "bad_request"),
    "not UTF-8": (credentials().replace(b"7f3e9a", b"7f3e9a\xff"), 400, "bad_request"),
    "UTF-16": (credentials().decode().encode("utf-16"), 400, "bad_request"),
    "a byte order mark": (b"\xef\xbb\xbf" + credentials(), 400, "bad_request"),
    "half a surrogate pair": (credentials(f'"{CANARY}\\ud800"'), 400, "bad_request"),
    "a control character": (credentials(f'"{CANARY}\n"'), 400, "bad_request"),
    "a raw NUL": (credentials(f'"{CANARY}\0"'), 400, "bad_request"),
    "a NUL in the name": (credentials(f'"{CANARY}\\u0000"'), 422, "validation_failed"),
    "a NUL in the password": (credentials(password=f'"{CANARY}\\u0000"'), 422, "validation_failed"),
    "no object": (f'"{CANARY}"'.encode(), 422, "validation_failed"),
    "null": (b"null", 422, "validation_failed"),
    "a list for text": (credentials(password=f'["{CANARY}"]'), 422, "validation_failed"),
    "a number beyond all numbers": (credentials(password="1e999999"), 422, "validation_failed"),
    "a number of 5000 digits": (credentials(password="7" * 5000), 422, "validation_failed"),
    "an unknown field": (credentials(more=f', "remember": "{CANARY}"'), 422, "validation_failed"),
    "an unknown field of a strange name": (credentials(more=f', "{CANARY}!": 1'), 422, "validation_failed"),
    "a field left out": (f'{{"password": "{CANARY}"}}'.encode(), 422, "validation_failed"),
    "a device of another form": (credentials(more=f', "device": "{CANARY}!"'), 422, "validation_failed"),
    "a name that is too long": (credentials(f'"{CANARY * 40}"'), 422, "validation_failed"),
    "lists 10,000 deep": (nested(("[", "]")).encode(), 400, "bad_request"),
    "objects 10,000 deep": (nested(('{"a":', "}")).replace(":}", ":1}").encode(), 400, "bad_request"),
    "a field 10,000 deep": (credentials(nested(("[", "]"))), 400, "bad_request"),
    "an unclosed list": (b"[1", 400, "bad_request"),
    "a comma too many": (f'["{CANARY}",]'.encode(), 400, "bad_request"),
    "half a surrogate pair after an unknown field": (
        f'{{"{CANARY}": 1, "password": "\\ud800"}}'.encode(),
        400,
        "bad_request",
    ),
    "2 MiB": (credentials(password=f'"{CANARY * 165_000}"'), 413, "too_large"),
}

MEDIA_TYPES = (
    "text/plain",
    "application/x-www-form-urlencoded",
    f"multipart/form-data; boundary={CANARY}",
    "application/json; charset=latin-1",
    "application/jsonx",
    f"{CANARY}/json",
)


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


@with_each("media_type", MEDIA_TYPES)
def test_a_body_of_another_media_type_is_refused(
    service: Running, client: httpx.Client, media_type: str
) -> None:
    answer = client.post(LOGIN, content=credentials(), headers={"Content-Type": media_type})
    check_refusal(service, answer, 415, "unsupported_media_type")


def test_a_body_without_a_media_type_or_in_an_encoding_is_refused(
    service: Running, client: httpx.Client
) -> None:
    check_refusal(service, client.post(LOGIN, content=credentials()), 415, "unsupported_media_type")
    headers = {"Content-Type": JSON, "Content-Encoding": "gzip"}
    answer = client.post(LOGIN, content=credentials(), headers=headers)
    check_refusal(service, answer, 415, "unsupported_media_type")


def test_a_refusal_names_the_fields_that_are_wrong(client: httpx.Client) -> None:
    answer = client.post(LOGIN, json={"userName": "admin", "password": ["x"]})
    message = "must be a text of 1 to 1024 characters"
    assert answer.json()["errors"] == [{"field": "password", "message": message}]


def test_a_query_that_no_one_reads_is_refused(service: Running, client: httpx.Client) -> None:
    answer = client.post(f"{LOGIN}?next={CANARY}", json={"userName": "x", "password": "x"})
    check_refusal(service, answer, 422, "validation_failed")


def test_tokens_and_paths_that_lead_nowhere_leave_no_trace(service: Running, client: httpx.Client) -> None:
    headers = {"Authorization": f"Bearer {CANARY}", "Cookie": CANARY, "User-Agent": CANARY, "Referer": CANARY}
    check_refusal(service, client.get("/api/role/list", headers=headers), 401, "token_invalid")
    check_refusal(service, client.get(f"/api/{CANARY}?{CANARY}", headers=headers), 404, "not_found")
    check_refusal(service, client.get(f"/api/{CANARY};{CANARY}"), 400, "bad_request")


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # the client may serve all examples
)
@given(user_name=st.text(st.characters(exclude_categories=["Cs"])), password=st.text(max_size=200))
def test_no_name_and_no_password_is_a_fault(client: httpx.Client, user_name: str, password: str) -> None:
    body = {"userName": user_name, "password": password.encode(errors="replace").decode()}
    assert client.post(LOGIN, json=body).status_code in (401, 422)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # as above
)
@given(
    body=st.binary(max_size=200)
    | st.text(alphabet='{}[]":,\\u019eE-+.truefalsn ', max_size=60).map(str.encode)
)
def test_no_sequence_of_bytes_is_a_fault(client: httpx.Client, body: bytes) -> None:
    answer = client.post(LOGIN, content=body, headers={"Content-Type": JSON})
    assert answer.status_code in (400, 422)


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
