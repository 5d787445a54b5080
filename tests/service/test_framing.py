"""Requests as no polite client writes them: where each ends is plain, and none passes without a token."""

import socket

import pytest

from service.server.http import MAX_HEAD
from tests.service.wire import Received, exchange
from tests.support.cases import with_each
from tests.support.running import PATIENCE, Running, kilobytes

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


@with_each("kind", WITH_A_BODY)
@with_each("cut", [True, False])
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


@with_each("kind", MALFORMED)
@with_each("cut", [True, False])
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


@with_each("host", ["x", "X.example:8080", "127.0.0.1:", "[::1]", "[::ffff:127.0.0.1]:80", "a_b.c%20"])
def test_every_other_host_is_served(service: Running, host: str) -> None:
    request = PLAIN + f"Host: {host}\r\nConnection: close\r\n\r\n".encode()
    assert [answer.status for answer in exchange(service.port, request)] == [200]


def test_http_1_0_needs_no_host(service: Running) -> None:
    assert [seen.status for seen in exchange(service.port, b"GET /health/live HTTP/1.0\r\n\r\n")] == [200]


@with_each("pieces", [1, 2, 7, 70])
@with_each("kind", ["one header", "many headers", "the target"])
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


@with_each(("line", "expected"), [*SPELLINGS.items(), *METHODS.items()])
def test_no_spelling_of_a_guarded_route_passes_without_a_token(
    service: Running, line: str, expected: int
) -> None:
    assert status(talk(service.port, request(line))) == expected


OTHER_PATHS = """
//api/user/info  /api//user/info  /api/user//info  /api/user/info/  /api/user/info//
///api/user/info  /./api/user/info  /api/./user/info  /api/user/./info  /api/user/info/.
/api/../api/user/info  /x/../api/user/info  /api/user/x/../info  /api/user/info/..
/../api/user/info  /api/user/.../info  /api/%2e/user/info  /api/user/%2e/info
/api/%2e%2e/api/user/info  /api/user/x/%2e%2e/info  /api/user/info/%2E  /api%2fuser/info
/api/user%2finfo  /api%2Fuser%2Finfo  %2fapi/user/info  /api/user/info%2f  /api%252fuser/info
/api\\user\\info  /api/user%5cinfo  /api/user/info%5c  /api/user/info%00  /api/user/info%0a
/api/user/info%0d%0a  /api/user/info%09  /api/user/info%7f  /api/user/info%20  /api/user/info+
/api/user/%20info  /api/user/info.  /api/user/info;a=1  /api/user;a=1/info  /api;/user/info
/api/user/info;  /api/user/info%3ba=1  /API/user/info  /api/User/info  /api/user/INFO
/api/%75ser/info  /%61pi/user/info  /api/user/inf%6f  /api/user/info%c0%af  /api/user/info%e2%80%8b
/api/user/%ef%bd%89nfo  /api/user/info%ff  /api/user/info%25  /api/user/info%3f  /api/user/info%23
/api/user/info.json  /api/user/info,  /api/user/{id}  /api/user/*  /api/resource/  /api/resource//1
/api/resource/1/  /api/resource/./1  /api/resource/%31  /api/resource/1%2f  /api/resource/1;x
/api/resource/1%00  /api/resource/1%0a  /api/Resource/1  /api/resource%2f1  /api/resource/1/.
http://x//api/user/info  http://x/api/user/info/  http://x/api/resource/%31  api/user/info  *
""".split()  # noqa: SIM905 - a table of eighty words


def test_no_other_spelling_of_a_guarded_path_is_served_to_who_may_call_it(
    service: Running, administrator: dict[str, str]
) -> None:
    token = f"Authorization: {administrator['Authorization']}"
    statuses = {path: status(talk(service.port, request(f"GET {path}", token))) for path in OTHER_PATHS}
    assert {path: seen for path, seen in statuses.items() if seen not in (400, 404, 422)} == {}


@with_each(("method", "header", "expected"), DETOURS)
def test_no_header_leads_around_the_gate(service: Running, method: str, header: str, expected: int) -> None:
    assert status(talk(service.port, request(f"{method} {LIST}", header))) == expected


def test_two_tokens_in_one_request_are_refused(service: Running, administrator: dict[str, str]) -> None:
    token = f"Authorization: {administrator['Authorization']}"
    assert status(talk(service.port, request(f"GET {LIST}", token, "Authorization: Bearer x"))) == 400
    assert status(talk(service.port, request(f"GET {LIST}", token, token))) == 400


def test_a_canonical_request_with_a_token_is_served(service: Running, administrator: dict[str, str]) -> None:
    token = f"Authorization: {administrator['Authorization']}"
    assert status(talk(service.port, request(f"GET {LIST}", token))) == 200
    assert status(talk(service.port, request(f"GET {LIST}", token, version="HTTP/1.0"))) == 200


@with_each("version", ["HTTP/0.9", "HTTP/2.0", "HTTP/3.0", "HTTP/1.2", "HTTQ/1.1"])
def test_a_version_that_is_not_spoken_is_refused(
    service: Running, administrator: dict[str, str], version: str
) -> None:
    token = f"Authorization: {administrator['Authorization']}"
    assert status(talk(service.port, request(f"GET {LIST}", token, version=version))) == 400


PIECE = b"a" * 65_536
PIECES = 1600  # 100 MiB, if all of them were taken

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


@with_each("kind", ENDLESS)
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
