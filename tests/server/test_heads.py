"""What the server notes while headers arrive saves the full check of a head, and never changes a verdict."""

import asyncio
from typing import Any

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st

from service.server.http import HttpProtocol, Limits, WorkerState, protocol
from service.web.requests.middleware import REFUSAL
from tests.support.cases import with_each
from tests.web.test_garbage import Transport

Verdict = tuple[object, ...]

METHODS = ("HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "PROPFIND", "get")
TARGETS = ("/a?b=c", "/a%2Fb", "/a#b", "*", "//a", "a:80", "http://b/c", "/é", "/" + "a" * 70_000)
VERSIONS = ("HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1.2")
HOSTS = ("a:80", "[::1]:80", "[::g]", "", "a b", "a,b", "é", "a/b", None)
OTHERS = (
    "Host: a",
    "Content-Length: 0",
    "Content-Length: 5",
    "Content-Length: -1",
    "Transfer-Encoding: chunked",
)
MORE = (
    "Transfer-Encoding: gzip",
    "Expect: 100-continue",
    "Connection: close",
    "Connection: upgrade\r\nUpgrade: h2c",
)


def head_of(method: str, target: str, version: str, host: str | None, others: list[str]) -> str:
    hosts = [] if host is None else [f"Host: {host}"]
    return "\r\n".join([f"{method} {target} {version}", *hosts, *others, "", ""])


def usually(value: str, *others: str | None) -> Any:
    """Draw ``value``, or one of ``others`` in a quarter of all draws."""
    return st.integers(0, 3).flatmap(
        lambda number: st.sampled_from(others) if number == 0 else st.just(value)
    )


HEADS = st.builds(
    head_of,
    usually("GET", *METHODS),
    usually("/", *TARGETS),
    usually("HTTP/1.1", *VERSIONS),
    usually("a", *HOSTS),
    st.lists(st.sampled_from((*OTHERS, *MORE)), max_size=2),
)
ONE_ODD_PART = [
    *(head_of(method, "/", "HTTP/1.1", "a", []) for method in METHODS),
    *(head_of("GET", target, "HTTP/1.1", "a", []) for target in TARGETS),
    *(head_of("GET", "/", version, "a", []) for version in VERSIONS),
    *(head_of("GET", "/", "HTTP/1.1", host, []) for host in HOSTS),
    *(head_of("GET", "/", "HTTP/1.1", "a", [other]) for other in (*OTHERS, *MORE)),
]


def verdict(head: bytes) -> Verdict:
    """Return what a head becomes: the scope or the refusal for the application, and how the connection is."""
    seen: list[Any] = []

    async def app(scope: dict[str, Any], _receive: object, send: Any) -> None:
        refusal = scope.get(REFUSAL)
        shown = refusal or {name: value for name, value in scope.items() if name != "state"}
        seen.append((type(refusal), str(shown)))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def serve() -> Verdict:
        config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None, access_log=False)
        config.load()
        config.loaded_app = app
        connection = HttpProtocol(config, WorkerState(Limits(5, 5, 5, 5, 1), lambda _connections: None), {})
        written: list[bytes] = []
        transport = Transport(written.append)
        transport.write_eof = transport.close = lambda: None  # type: ignore[attr-defined]
        connection.connection_made(transport)  # type: ignore[arg-type]  # the part that is used
        connection.data_received(head)
        for _ in range(5):
            await asyncio.sleep(0)
        lingers = isinstance(
            connection.cycle.transport, protocol.LingeringTransport
        )  # as after a request with a body
        return tuple(seen), connection._in_body, connection._deaf, lingers, b"close" in b"".join(written)

    return asyncio.run(serve())


def with_and_without_the_full_check(head: str) -> tuple[Verdict, Verdict]:
    sent = head.encode("latin-1")
    usual = verdict(sent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "is_plain", lambda *_facts: False)
        return usual, verdict(sent)


@with_each("head", ONE_ODD_PART)
def test_one_odd_part_of_a_head_gets_the_full_check(head: str) -> None:
    usual, full = with_and_without_the_full_check(head)
    assert usual == full


@given(head=HEADS)
def test_a_head_gets_the_same_verdict_with_and_without_the_full_check(head: str) -> None:
    usual, full = with_and_without_the_full_check(head)
    assert usual == full
