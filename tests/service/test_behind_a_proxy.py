"""Behind a proxy that shares its connections among all callers, nobody's request is answered by another's."""

import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.service.test_framing import CONNECT, LOGIN, NEXT, UPGRADE
from tests.support.cases import with_each
from tests.support.proxies import caddy
from tests.support.running import Running
from tests.support.waiting import eventually

ATTEMPTS = 12
LENGTH = b"Content-Length: %d\r\n\r\n" % len(NEXT)
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n%b\r\n0\r\n\r\n" % (len(NEXT), NEXT)
ATTACKS = {
    "a length": (LOGIN + UPGRADE % b"x" + LENGTH, NEXT),
    "a WebSocket": (LOGIN + UPGRADE % b"websocket" + LENGTH, NEXT),
    "chunks": (LOGIN + UPGRADE % b"x" + CHUNKS[0], CHUNKS[1]),
    "CONNECT": (CONNECT + LENGTH, NEXT),
}


@pytest.fixture(scope="module")
def proxy(service: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    assert eventually(lambda: "Application startup complete" in service.output)
    with caddy(tmp_path_factory.mktemp("caddy"), service.port) as port:
        yield port


@with_each("kind", ATTACKS)
def test_no_body_becomes_the_answer_of_the_next_caller(service: Running, proxy: int, kind: str) -> None:
    head, body = ATTACKS[kind]
    with httpx.Client(
        base_url=f"http://127.0.0.1:{proxy}", trust_env=False, verify=False, timeout=60
    ) as victim:
        for attempt in range(ATTEMPTS):
            with socket.create_connection(("127.0.0.1", proxy), timeout=20) as attacker:
                attacker.sendall(head)
                time.sleep(0.02)
                attacker.sendall(body)
                assert b"smuggled" not in attacker.recv(65_536)
            mine = f"mine-{attempt}"
            answer = victim.get("/api/nothing-here", headers={"X-Request-Id": mine})
            assert (answer.status_code, answer.headers["x-request-id"]) == (404, mine)
    assert "smuggled" not in {line.get("request_id") for line in service.log}


def test_the_service_is_reached_through_the_proxy(proxy: int) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{proxy}", trust_env=False, verify=False) as client:
        assert [client.get("/health/live").status_code for _ in range(20)] == [200] * 20
