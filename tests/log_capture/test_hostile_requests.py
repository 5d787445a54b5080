"""Secrets that are sent in every place of every request appear nowhere afterwards."""

import json
import re
import secrets
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest
import redis
from psycopg import sql

from service.app import check_routes
from service.authz.publishing.shipped import read_shipped
from service.features.embedded.stores import EmbeddedStores
from service.web.messages.operation_metadata import ACCESS
from tests.support.databases import database
from tests.support.running import Running, running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.waiting import eventually

CANARY = "Canary.7f3b-herons&hinges"
OPERATIONS = check_routes(read_shipped()).operations
WRITES = [operation for operation in OPERATIONS if operation.method != "GET"]


@dataclass
class Site:
    """A service in cookie mode, all that it has answered, and all that was commands to its session store."""

    service: Running
    database_url: str
    redis_url: str
    commands: list[str]
    secrets: set[str] = field(default_factory=lambda: {CANARY, ADMINISTRATOR_PASSWORD})
    refused: list[str] = field(default_factory=list)

    def log_in(self, client: httpx.Client, name: str, password: str) -> dict[str, str]:
        """Log in, and remember every token and cookie as a secret."""
        answer = client.post("/api/auth/login", json={"userName": name, "password": password})
        assert answer.status_code == 200, answer.text
        pair: dict[str, str] = answer.json()["data"]
        self.secrets |= {pair["accessToken"], pair["refreshToken"], *answer.cookies.values()}
        client.cookies.clear()
        return pair

    def ask(self, client: httpx.Client, method: str, path: str, **sent: Any) -> httpx.Response:
        """Send a request, and remember the answer unless it is a success."""
        answer = client.request(method, path, **sent)
        client.cookies.clear()
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            self.refused.append(f"{told_headers(answer)} {answer.text}")
        return answer


def told_headers(answer: httpx.Response) -> httpx.Headers:
    """Return the headers of ``answer`` without the id of a request below ``/access/``, if it is the one sent.

    There the answer must repeat it exactly, whatever it is (AuthZEN Authorization API 1.0, "Request
    Identification"). It is looked for in bodies, logs and stores all the same.
    """
    received, sent = answer.headers.copy(), answer.request.headers.get("X-Request-Id")
    if answer.request.url.path.startswith(ACCESS) and received["X-Request-Id"] == sent:
        del received["X-Request-Id"]
    return received


@contextmanager
def monitored(redis_url: str) -> Iterator[list[str]]:
    """Gather every command that the session store is given."""
    commands: list[str] = []
    with redis.Redis.from_url(redis_url, socket_timeout=None) as client, client.monitor() as monitor:

        def listen() -> None:
            while "the end of the test" not in (commands[-1:] or [""])[0]:
                commands.append(str(monitor.next_command()["command"]))

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield commands
        with redis.Redis.from_url(redis_url) as other:
            other.echo("the end of the test")
        thread.join(20)


@pytest.fixture(scope="module")
def site(
    stores: EmbeddedStores,
    published_template: str,
    module_redis_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    with database(stores, published_template) as url, monitored(module_redis_url) as commands:
        variables = {
            "DATABASE_URL": url,
            "REDIS_URL": module_redis_url,
            "JWT_SECRET": secrets.token_urlsafe(48),
            "PORTCULLIS_AUTH__IS_READ_COOKIE": "true",
            "PORTCULLIS_THROTTLE__LOGIN_ADDRESS": "100000",
            "PORTCULLIS_THROTTLE__REFRESH_ADDRESS": "100000",
        }
        with running(tmp_path_factory.mktemp("canaries"), "--workers", "1", **variables) as service:
            yield Site(service, url, module_redis_url, commands)


def two_of(kinds: Sequence[Any], at: int) -> list[Any]:
    """Return two of ``kinds``, and the next two for the next ``at``.

    For what is read by the same code whichever operation it is sent to.
    """
    return [kinds[(2 * at + number) % len(kinds)] for number in range(2)]


def headers(token: str) -> Iterator[dict[str, str]]:
    """Return headers that carry secrets where they belong, and where they don't."""
    yield {"Authorization": f"Bearer {token}"}
    yield {"Authorization": f"Bearer {CANARY}"}
    yield {"Authorization": f"Bearer {token}", "X-Request-Id": token}
    yield {"Authorization": f"Bearer {token}", "X-CSRF-Token": CANARY, "Referer": f"http://x/?{CANARY}"}
    yield {
        "Cookie": f"__Host-portcullis_access={token}; __Host-portcullis_csrf={CANARY}",
        "X-CSRF-Token": CANARY,
    }
    yield {
        "Authorization": f"Bearer {token}",
        "Cookie": f"__Host-portcullis_access={CANARY}; session={CANARY}",
    }
    yield {"Authorization": f"Bearer {token}", "X-Forwarded-For": CANARY, "Content-Type": CANARY}


OBJECTS: list[Any] = [
    {CANARY: CANARY},
    {"password": CANARY, "newPassword": CANARY, "token": CANARY},
    {"userName": CANARY, "password": "x"},
    {"userName": "admin", "password": CANARY, "device": CANARY},
    {"userName": "admin", "password": CANARY},
    {"refreshToken": CANARY},
    {"currentPassword": CANARY, "newPassword": CANARY},
    {"resourceName": {"secret": CANARY}, "roleName": [CANARY], "menuIds": CANARY, "status": CANARY},
    {"resourceName": "x", "resourceCode": CANARY, "method": CANARY, "path": CANARY},
    [CANARY],
    CANARY,
]
BODIES = [
    *(("application/json", json.dumps(body)) for body in OBJECTS),
    ("text/csv", f"userName,{CANARY}\r\nann,{CANARY}\r\n"),
    ("text/csv", f"userName,nickName,password\r\n{CANARY},,{CANARY}\r\nadmin,A,{CANARY}\r\n"),
]
UNREADABLE = [
    ("application/json", f'{{"password": "{CANARY}"'),
    ("application/json", f'{{"a": "{CANARY}", "a": "{CANARY}"}}'),
    ("application/json", CANARY),
    (CANARY, CANARY),
]
ENCODED = quote(CANARY, safe="")
QUERIES = (f"password={ENCODED}", f"{ENCODED}=1", f"dryRun={ENCODED}", f"page={ENCODED}", ENCODED)


def send_everywhere(site: Site, client: httpx.Client, token: str) -> None:
    authorized = {"Authorization": f"Bearer {token}"}
    for at, operation in enumerate(OPERATIONS):
        unreadable = operation.template
        for name in operation.signature.path:
            unreadable = unreadable.replace(f"{{{name}}}", CANARY)
        readable = unreadable.replace(CANARY, "999999")
        site.ask(client, operation.method, unreadable, headers=authorized)
        for query in QUERIES:
            site.ask(client, operation.method, f"{readable}?{query}", headers=authorized)
        if operation not in WRITES:
            continue
        for each in two_of([*headers(token)], at):
            site.ask(client, operation.method, readable, headers=each, json={CANARY: CANARY})
        for media_type, content in (*BODIES, *two_of(UNREADABLE, at)):
            sent = authorized | {"Content-Type": media_type}
            site.ask(client, operation.method, readable, headers=sent, content=content)
    for _ in range(12):  # more than one account may have
        guess = {"userName": CANARY, "password": CANARY}
        last = site.ask(client, "POST", "/api/auth/login", json=guess)
    assert last.status_code == 429
    for known in site.secrets:
        for agent in (f"App/1 password={known}", f"App/1 (token: {known})", f"Bearer {known}"):
            agent_headers = authorized | {"User-Agent": agent}
            site.ask(client, "DELETE", "/api/resource/999999", headers=agent_headers)
    site.ask(client, "GET", f"/api/public/file/{CANARY}", headers=authorized)
    site.ask(client, "GET", f"/api/{CANARY}?token={ENCODED}", headers=authorized)


def stored(site: Site) -> str:
    """Return everything in the database as text."""
    with psycopg.connect(site.database_url) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'sys'"
        ).fetchall()
        rows = [
            str(row[0])
            for (table,) in tables
            for row in connection.execute(
                sql.SQL("SELECT to_jsonb(t)::text FROM sys.{} t").format(sql.Identifier(table))
            )
        ]
    return "\n".join(rows)


ODD = [
    b"quotes \" and \\ and '",
    b"a\r\nX-Injected: b",
    "caf\xe9 \x80\x9b\xff \u2028 \U0001f3f0".encode(),
    b"\xe9\x80\x9b\xff",
    b'{"event": "forged", "level": "info"}',
    b"\xed\xa0\x80 a lone surrogate",
    b"tab\ttab",
    b"%0d%0a%00\\u0000\\ud800",
    b"x" * 60_000,
]
REFUSED = [b"\x1b[31mred\x1b[0m", b"a\x00b", b"a\rb", b"x" * 1_000_000]


def status_of(site: Site, token: str, name: str, agent: bytes) -> int:
    """Send a request with a User-Agent of any bytes; return the status, 0 when the connection just ends."""
    head = f"DELETE /api/resource/999999 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    head += f"Connection: close\r\nX-Request-Id: {name}\r\nUser-Agent: "
    with socket.create_connection(("127.0.0.1", site.service.port), 20) as connection:
        try:
            connection.sendall(head.encode() + agent + b"\r\n\r\n")
            return int(connection.recv(4096).split(b" ", 2)[1])
        except (ConnectionError, IndexError):
            return 0


def odd_rows(site: Site) -> dict[str, str]:
    """Return request ids and User-Agents of the entries of such requests."""
    with psycopg.connect(site.database_url) as connection:
        rows = connection.execute(
            "SELECT request_id, user_agent FROM sys.operation_log WHERE request_id LIKE 'odd-%'"
        ).fetchall()
    assert len({row[0] for row in rows}) == len(rows)
    return dict(rows)


def odd_lines(site: Site) -> list[str]:
    """Return the request ids of such requests in the log of the service, sorted."""
    return sorted(line["request_id"] for line in site.service.log if "odd-" in str(line.get("request_id")))


def test_odd_bytes_give_one_well_formed_entry_or_are_refused_and_give_none(site: Site) -> None:
    with site.service.client() as client:
        token = site.log_in(client, ADMINISTRATOR, ADMINISTRATOR_PASSWORD)["accessToken"]
    for number, agent in enumerate(ODD):
        assert status_of(site, token, f"odd-{number}", agent) == 404, agent
    for number, agent in enumerate(REFUSED):
        assert status_of(site, token, f"odd-refused-{number}", agent) in (0, 400, 431), agent[:10]

    expected = {f"odd-{number}" for number in range(len(ODD))}
    assert eventually(lambda: odd_rows(site).keys() >= expected)
    rows = odd_rows(site)
    assert rows.keys() == expected
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028]", "".join(rows.values()))
    assert len(rows["odd-8"]) == 512
    # What is refused for its head alone has its line too, and no entry.
    logged = sorted(expected | {f"odd-refused-{number}" for number in range(len(REFUSED))})
    assert eventually(lambda: odd_lines(site) == logged), odd_lines(site)


def test_secrets_sent_in_every_place_appear_nowhere(site: Site) -> None:
    with site.service.client() as client:
        token = site.log_in(client, ADMINISTRATOR, ADMINISTRATOR_PASSWORD)["accessToken"]
        send_everywhere(site, client, token)
        # Whatever was let through may have ended the session.
        token = site.log_in(client, ADMINISTRATOR, ADMINISTRATOR_PASSWORD)["accessToken"]
        made = site.ask(
            client,
            "POST",
            "/api/user",
            headers={"Authorization": f"Bearer {token}"},
            json={"userName": "heron", "nickName": "Heron", "password": CANARY},
        )
        assert made.status_code == 201, made.text
        pair = site.log_in(client, "heron", CANARY)
        renewed = client.post("/api/auth/refresh", json={"refreshToken": pair["refreshToken"]})
        site.secrets |= set(renewed.json()["data"].values()) - {renewed.json()["data"]["expiresIn"]}
        site.secrets |= set(renewed.cookies.values())
    site.service.stop()  # all entries are written by then

    everything = stored(site)
    assert everything.count('"module"') > 15 * len(WRITES)
    assert sum('"operations":' in command for command in site.commands) > 10
    assert len(site.refused) > 15 * len(WRITES)
    places = {
        "the log": site.service.output + site.service.errors,
        "the database": everything,
        "the session store": "\n".join(site.commands),
        "refusals": "\n".join(site.refused),
    }
    leaks = {
        (place, secret[:12])
        for place, text in places.items()
        for secret in site.secrets
        for shown in {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}
        if shown in text
    }
    assert leaks == set()
