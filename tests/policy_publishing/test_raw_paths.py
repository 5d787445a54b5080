"""No form of a request and no header gets around the binding of a resource."""

import json

import psycopg
import pytest

from tests.policy_publishing.conftest import PASSWORD, Workers
from tests.support.cases import with_each
from tests.support.raw import Seen, log_in, request, send

BOUND = {"/api/user/info": "newcomer", "/api/resource/1": "reader"}
"""Paths whose endpoints their callers may use, while the resources are bound to what they do not hold."""

SAME = [
    ("/api/user/info", "GET {} HTTP/1.1"),
    ("/api/user/info", "GET {} HTTP/1.0"),
    ("/api/user/info", "GET {}? HTTP/1.1"),
    ("/api/user/info", "GET {}?x=/health/live HTTP/1.1"),
    ("/api/user/info", "GET http://x{} HTTP/1.1"),
    ("/api/user/info", "GET https://elsewhere:8443{} HTTP/1.1"),
    ("/api/resource/1", "GET {} HTTP/1.1"),
    ("/api/resource/1", "GET http://x{} HTTP/1.1"),
    ("/api/resource/01", "GET {} HTTP/1.1"),
    ("/api/resource/{}1".format("0" * 30), "GET {} HTTP/1.1"),
    ("/api/resource/x,y", "GET {} HTTP/1.1"),
    ("/api/resource/1%7C2", "GET {} HTTP/1.1"),
    ("/api/resource/%C3%BC", "GET {} HTTP/1.1"),
]

HEADERS = [
    "X-HTTP-Method-Override: POST",
    "X-HTTP-Method: DELETE",
    "X-Method-Override: OPTIONS",
    "X-Original-URL: /health/live",
    "X-Rewrite-URL: /docs",
    "X-Original-URI: /api/auth/login",
    "X-Forwarded-Prefix: /docs",
    "X-Forwarded-Path: /docs",
    "X-Script-Name: /api",
    "Forwarded: for=127.0.0.1;host=localhost",
    "Referer: http://x/docs",
]


@pytest.fixture(scope="module")
async def tokens(workers: Workers) -> dict[str, str]:
    """Bind both resources to a Button that neither caller holds; return their tokens."""
    port = workers.service.port
    admin = await log_in(port, "admin", PASSWORD)
    made = {"resourceName": "x", "resourceCode": "x", "method": "GET", "path": "/api/resource/{id}"}
    await send(port, request("POST /api/resource HTTP/1.1", admin, body=made))
    with psycopg.connect(workers.database_url) as connection:
        share = connection.execute("SELECT id FROM sys.menu WHERE auth_mark = 'system:file:share'").fetchone()
        bound = connection.execute(
            "SELECT id FROM sys.resource WHERE method = 'GET' AND path = ANY(%s)",
            (["/api/user/info", "/api/resource/{id}"],),
        ).fetchall()
    assert share is not None
    put = "PUT /api/menu/{}/resources HTTP/1.1".format(*share)
    saved = await send(
        port, request(put, admin, body={"resourceIds": [resource_id for (resource_id,) in bound]})
    )
    assert (saved.status, len(bound)) == (200, 2)
    least = f"\r\nX-Policy-Min-Revision: {saved.revision}"
    return {name: await log_in(port, name, PASSWORD) + least for name in ("newcomer", "reader")}


def caller_of(path: str) -> str:
    return "reader" if "esource" in path else "newcomer"


def is_the_decision(seen: Seen) -> bool:
    """Tell whether the resource layer refused, by the binding."""
    if seen.status != 403:
        return False
    problem = json.loads(seen.body)
    return (problem["code"], problem["layer"], problem["required"]) == (
        "permission_denied",
        "resource",
        ["system:file:share"],
    )


@with_each(("path", "line"), SAME)
async def test_the_same_path_in_another_form_is_decided_alike(
    workers: Workers, tokens: dict[str, str], path: str, line: str
) -> None:
    seen = await send(workers.service.port, request(line.format(path), tokens[caller_of(path)]))

    assert is_the_decision(seen)


@with_each("path", BOUND)
@with_each("header", HEADERS)
async def test_no_header_changes_the_decision(
    workers: Workers, tokens: dict[str, str], path: str, header: str
) -> None:
    seen = await send(workers.service.port, request(f"GET {path} HTTP/1.1", tokens[BOUND[path]], header))

    assert is_the_decision(seen)


async def test_a_holder_of_the_code_is_served_on_the_plain_path(workers: Workers) -> None:
    port = workers.service.port
    admin = await log_in(port, "admin", PASSWORD)

    for path in BOUND:
        assert (await send(port, request(f"GET {path} HTTP/1.1", admin))).status == 200
