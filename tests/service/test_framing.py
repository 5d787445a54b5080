"""Where a request ends is plain, or it is refused: nothing that follows is ever served as another one."""

from __future__ import annotations

import pytest

from tests.service.wire import Received, exchange
from tests.support.running import Running

NEXT = b"GET /health/live HTTP/1.1\r\nHost: x\r\nX-Request-Id: smuggled\r\nConnection: close\r\n\r\n"
UPGRADE = b"Connection: keep-alive, Upgrade\r\nUpgrade: %b\r\n"
CONNECT = b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n"
LOGIN = b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
PLAIN = b"GET /health/live HTTP/1.1\r\n"
HOST = b"Host: x\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n" % len(NEXT)
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"

WITH_A_BODY = {
    "an unknown protocol, with a length": (LOGIN + UPGRADE % b"x" + LENGTH, NEXT),
    "a WebSocket, with a length": (LOGIN + UPGRADE % b"websocket" + LENGTH, NEXT),
    "HTTP/2, with a length": (LOGIN + UPGRADE % b"h2c" + LENGTH, NEXT),
    "in chunks": (LOGIN + UPGRADE % b"x" + CHUNKED, b"%x\r\n%b\r\n0\r\n\r\n" % (len(NEXT), NEXT)),
    "in chunks, which are no chunks": (LOGIN + UPGRADE % b"x" + CHUNKED, NEXT),
    "GET": (PLAIN + HOST + UPGRADE % b"x" + LENGTH, NEXT),
    "CONNECT, with a length": (CONNECT + LENGTH, NEXT),
    "CONNECT, in chunks": (CONNECT + CHUNKED, b"%x\r\n%b\r\n0\r\n\r\n" % (len(NEXT), NEXT)),
    "CONNECT": (CONNECT + b"\r\n", NEXT),
}

MALFORMED = {
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    "a method of its own": (b"TAKE / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "no version": (b"GET /\r\n\r\n", 400),
    "line feeds alone": (b"GET /health/live HTTP/1.1\nHost: x\n\n", 400),
    "two Hosts": (PLAIN + HOST + HOST + b"\r\n", 400),
    "two different Hosts": (PLAIN + HOST + b"Host: y\r\n\r\n", 400),
    "no Host": (PLAIN + b"\r\n", 400),
    "an empty Host": (PLAIN + b"Host:\r\n\r\n", 400),
    "a Host with a path": (PLAIN + b"Host: x/y\r\n\r\n", 400),
    "a Host with a user": (PLAIN + b"Host: me@x\r\n\r\n", 400),
    "a Host with two ports": (PLAIN + b"Host: x:1:2\r\n\r\n", 400),
    "a Host with a comma and a space": (PLAIN + b"Host: x, y\r\n\r\n", 400),
    "a Host with an address that is none": (PLAIN + b"Host: [::1::]\r\n\r\n", 400),
    "a space before the colon": (PLAIN + b"Host : x\r\n\r\n", 400),
    "a folded header": (PLAIN + HOST + b"X-A: b\r\n c\r\n\r\n", 400),
    "a fragment": (b"GET /health/live#x HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a compressed transfer": (LOGIN + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    "an unknown coding": (LOGIN + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    "identity": (LOGIN + b"Transfer-Encoding: identity\r\n\r\n", 501),
    "chunked twice": (LOGIN + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    "two Transfer-Encodings": (LOGIN + b"Transfer-Encoding: chunked\r\n" + CHUNKED + b"0\r\n\r\n", 400),
    "an empty Transfer-Encoding": (LOGIN + b"Transfer-Encoding:\r\n\r\n", 400),
    "chunks in HTTP/1.0": (LOGIN.replace(b"1.1", b"1.0") + CHUNKED + b"0\r\n\r\n", 400),
    "a length, then chunks": (LOGIN + b"Content-Length: 5\r\n" + CHUNKED + b"0\r\n\r\n", 400),
    "chunks, then a length": (
        LOGIN + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        400,
    ),
    "two lengths": (LOGIN + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400),
    "a length with a sign": (LOGIN + b"Content-Length: +2\r\n\r\n{}", 400),
    "a chunk of no size": (LOGIN + CHUNKED + b"x\r\n{}\r\n0\r\n\r\n", 400),
    "a chunk that is too long": (LOGIN + CHUNKED + b"1\r\n{}\r\n0\r\n\r\n", 400),
}


def check_refused(seen: list[Received], status: int) -> None:
    assert [answer.status for answer in seen] == [status]
    assert "\r\nconnection: close\r\n" in seen[0].head
    codes = {400: "bad_request", 431: "head_too_large", 501: "not_implemented"}
    assert seen[0].problem["code"] == codes[status]


@pytest.mark.parametrize("kind", WITH_A_BODY)
@pytest.mark.parametrize("cut", [True, False], ids=["in two packets", "in one packet"])
def test_an_upgrade_with_a_body_is_refused_and_its_body_is_never_served(
    service: Running, kind: str, cut: bool
) -> None:
    head, body = WITH_A_BODY[kind]
    check_refused(exchange(service.port, *((head, body) if cut else (head + body,))), 400)


@pytest.mark.parametrize("cut", [True, False], ids=["in two packets", "in one packet"])
def test_an_upgrade_without_a_body_is_answered_and_nothing_behind_it_is(service: Running, cut: bool) -> None:
    head = PLAIN + HOST + UPGRADE % b"websocket" + b"Content-Length: 0\r\n\r\n"
    (answer,) = exchange(service.port, *((head, NEXT) if cut else (head + NEXT,)))
    assert answer.status == 200
    assert "\r\nconnection: close\r\n" in answer.head
    assert "smuggled" not in answer.head


@pytest.mark.parametrize("kind", MALFORMED)
@pytest.mark.parametrize("cut", [True, False], ids=["byte by byte", "in one packet"])
def test_what_can_be_read_in_two_ways_is_refused(service: Running, kind: str, cut: bool) -> None:
    raw, status = MALFORMED[kind]
    packets = [raw[at : at + 1] for at in range(len(raw))] if cut else [raw + NEXT]
    check_refused(exchange(service.port, *packets, pause=0), status)


def test_a_refusal_waits_for_the_answers_to_earlier_requests(service: Running) -> None:
    earlier = PLAIN + HOST + b"X-Request-Id: first\r\n\r\n"
    first, second = exchange(service.port, earlier + MALFORMED["two Hosts"][0] + NEXT)
    assert (first.status, second.status) == (200, 400)
    assert "\r\nx-request-id: first\r\n" in first.head
    check_refused([second], 400)


def test_a_connection_outlives_refusals(service: Running) -> None:
    refused = LOGIN + b"Content-Length: 1\r\n\r\n{" + b"GET /api/nothing HTTP/1.1\r\n" + HOST + b"\r\n"
    answers = exchange(service.port, refused + NEXT)
    assert [answer.status for answer in answers] == [400, 404, 200]
    for answer in answers:
        assert "\r\nx-content-type-options: nosniff\r\n" in answer.head
        assert "\r\nserver:" not in answer.head


@pytest.mark.parametrize(
    "host", ["x", "X.example:8080", "127.0.0.1:", "[::1]", "[::ffff:127.0.0.1]:80", "a_b.c%20"]
)
def test_every_other_host_is_served(service: Running, host: str) -> None:
    request = PLAIN + f"Host: {host}\r\nConnection: close\r\n\r\n".encode()
    assert [answer.status for answer in exchange(service.port, request)] == [200]


def test_http_1_0_needs_no_host(service: Running) -> None:
    assert [seen.status for seen in exchange(service.port, b"GET /health/live HTTP/1.0\r\n\r\n")] == [200]


@pytest.mark.parametrize("pieces", [1, 2, 7, 70])
@pytest.mark.parametrize("kind", ["one header", "many headers", "the target"])
def test_a_head_above_the_limit_is_refused_however_it_is_cut(
    service: Running, kind: str, pieces: int
) -> None:
    heads = {
        "one header": PLAIN + HOST + b"Cookie: " + b"a" * 66_000 + b"\r\n\r\n",
        "many headers": PLAIN + HOST + b"".join(b"X-%d: %060d\r\n" % (n, n) for n in range(1000)) + b"\r\n",
        "the target": b"GET /" + b"a" * 66_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    }
    raw = heads[kind]
    size = -(-len(raw) // pieces)
    packets = [raw[at : at + size] for at in range(0, len(raw), size)]
    check_refused(exchange(service.port, *packets, pause=0.002), 431)


def test_a_trailer_is_no_header(service: Running, administrator: dict[str, str]) -> None:
    token = "".join(f"{name}: {value}\r\n" for name, value in administrator.items()).encode()
    head = b"POST /api/role HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
    body = b"2\r\n{}\r\n0\r\n"
    (with_header,) = exchange(service.port, head + token + CHUNKED + body + b"\r\n")
    (with_trailer,) = exchange(service.port, head + CHUNKED + body + token + b"X-Last: 1\r\n\r\n")
    assert (with_header.status, with_trailer.status) == (422, 401)


def test_what_is_refused_is_logged_under_its_id(service: Running) -> None:
    request = PLAIN + HOST + HOST + b"X-Request-Id: two-hosts\r\n\r\n"
    (answer,) = exchange(service.port, request)
    assert answer.problem["requestId"] == "two-hosts"
    line = service.line_of("two-hosts")
    assert (line["status"], line["level"]) == (400, "info")
