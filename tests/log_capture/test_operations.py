"""Every call of a logged operation leaves one entry, whatever becomes of it."""

import asyncio
import json
from ipaddress import ip_address
from typing import Any

import pytest
import structlog

from service.web.requests.application import Message
from tests.log_capture.conftest import PASSWORD, Logged, watched
from tests.support.cases import with_each
from tests.support.databases import NewDatabase
from tests.support.inside import inside_published
from tests.support.without import is_served
from tests.web.driver import JSON, ask

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0"


def resource(path: str, **more: Any) -> dict[str, Any]:
    code = path.strip("/").replace("/", ".")
    return {"resourceName": "Report", "resourceCode": code, "method": "GET", "path": path} | more


async def test_an_entry_says_who_asked_what_from_where_and_what_came_of_it(logged: Logged) -> None:
    body = resource("/api/report", description="for the auditors")
    answer, entry = await logged.entry_of("POST", "/api/resource", body, ("User-Agent", AGENT))
    explained = await logged.inside.data("GET", "/api/policy")

    assert answer.status == 201
    assert entry["params"]["body"].items() >= body.items()
    assert entry["response"] == answer.json
    assert entry.pop("elapsed_ms") > 0
    assert entry.pop("decision_id").startswith(f"r{explained['revision'] - 1}-")
    expected = {
        "module": "resource",
        "action": "create",
        "kind": "INSERT",
        "method": "POST",
        "url": "/api/resource",
        "query": None,
        "client_ip": ip_address("192.0.2.7"),
        "user_agent": AGENT,
        "user_id": 1,
        "user_name": "admin",
        "device": "web",
        "status": 201,
        "error": None,
        "decision": "allow",
        "policy_revision": explained["revision"] - 1,
        "request_id": answer.header("x-request-id"),
    }
    assert {name: entry[name] for name in expected} == expected


@with_each(
    ("method", "target", "body", "expected"),
    [
        ("POST", "/api/resource", [], (422, "validation_failed")),
        ("POST", "/api/resource?dryRun=maybe", resource("/api/x"), (422, "validation_failed")),
        ("PATCH", "/api/resource/0", resource("/api/x"), (422, "validation_failed")),
        ("PATCH", "/api/resource/999999", resource("/api/x"), (404, "not_found")),
        ("POST", "/api/resource", resource("/api/role/list"), (409, "conflict")),
        ("DELETE", "/api/role/1", None, (409, "conflict")),
        ("POST", "/api/auth/login", {"userName": "nobody", "password": "x"}, (401, "login_failed")),
        ("POST", "/api/auth/refresh", {"refreshToken": "x"}, (401, "token_invalid")),
        ("DELETE", "/api/online/999999", None, (404, "not_found")),
    ],
)
async def test_a_refusal_is_recorded_with_its_code(
    logged: Logged, method: str, target: str, body: Any, expected: tuple[int, str]
) -> None:
    answer, entry = await logged.entry_of(method, target, body)
    assert (answer.status, answer.code) == (entry["status"], entry["error"]) == expected
    assert entry["decision"] == "allow"


@with_each(
    ("body", "headers", "status", "code"),
    [
        (b'{"resourceName": ', (JSON,), 400, "bad_request"),
        (b"{}", (("Content-Type", "text/plain"),), 415, "unsupported_media_type"),
        (b" " * (1024 * 1024 + 1), (JSON,), 413, "too_large"),
        (b'{"resourceName": "\\u0000"}', (JSON,), 422, "validation_failed"),
        (b'{"resourceName": "\\ud800"}', (JSON,), 400, "bad_request"),
    ],
)
async def test_a_body_that_can_not_be_read_is_recorded_without_it(
    logged: Logged, body: bytes, headers: tuple[tuple[str, str], ...], status: int, code: str
) -> None:
    token = ("Authorization", f"Bearer {logged.inside.token}")
    answer = await ask(logged.inside._app, "POST", "/api/resource", token, *headers, body=body)
    entry = await logged.entry(answer)
    assert (entry["status"], entry["error"], entry["params"]) == (status, code, None)
    assert entry["response"]["code"] == code


async def test_a_failed_precondition_is_recorded(logged: Logged) -> None:
    made = await logged.inside.data("POST", "/api/resource", resource("/api/old-report"))
    old = ("If-Match", '"0"')
    _, entry = await logged.entry_of("DELETE", f"/api/resource/{made['id']}", None, old)
    assert (entry["status"], entry["error"]) == (412, "precondition_failed")


async def test_too_many_attempts_are_recorded(logged: Logged) -> None:
    person = await logged.person()
    guess = {"userName": person.name, "password": "wrong"}
    for _ in range(30):
        answer = await logged.ask("POST", "/api/auth/login", guess)
        if answer.status == 429:
            break
    entry = await logged.entry(answer)
    assert (entry["status"], entry["error"]) == (429, "rate_limited")


async def test_a_request_without_a_token_is_recorded_as_nobodys(logged: Logged) -> None:
    answer = await ask(logged.inside._app, "DELETE", "/api/resource/7", ("X-Request-Id", "no-token"))
    entry = await logged.entry(answer)
    assert (entry["status"], entry["error"], entry["url"]) == (401, "unauthenticated", "/api/resource/7")
    assert (entry["user_id"], entry["user_name"], entry["device"]) == (None, None, None)
    assert (entry["decision"], entry["decision_id"]) == (None, None)


async def test_a_login_and_a_refresh_are_recorded_with_the_owner_of_the_session(logged: Logged) -> None:
    person = await logged.person()
    login = {"userName": person.name, "password": PASSWORD, "device": "desk"}
    answer, entry = await logged.entry_of("POST", "/api/auth/login", login)
    assert (entry["user_id"], entry["user_name"], entry["device"]) == (person.id, person.name, "desk")
    spent = {"refreshToken": answer.json["data"]["refreshToken"]}
    _, entry = await logged.entry_of("POST", "/api/auth/refresh", spent)
    assert (entry["user_id"], entry["user_name"], entry["device"]) == (person.id, person.name, "desk")
    _, entry = await logged.entry_of("POST", "/api/auth/login", login | {"password": "wrong"})
    assert (entry["status"], entry["user_id"], entry["user_name"]) == (401, None, None)


async def test_a_denial_is_recorded_with_its_decision_and_the_one_who_was_denied(logged: Logged) -> None:
    person = await logged.person()
    token = await logged.inside.log_in(person.name, PASSWORD)
    body = {"buttonIds": ["what was not read is not kept"]}
    answer, entry = await logged.entry_of("PUT", "/api/resource/7/buttons?a=b", body, token=token)

    assert (entry["status"], entry["error"]) == (403, "permission_denied")
    assert (entry["decision"], entry["decision_id"]) == ("deny", answer.json["decisionId"])
    assert (entry["user_id"], entry["user_name"], entry["device"]) == (person.id, person.name, "web")
    assert (entry["url"], entry["query"], entry["params"]) == (
        "/api/resource/7/buttons",
        "",
        {"path": {"id": 7}},
    )
    assert entry["response"]["required"] == answer.json["required"] != []


async def test_a_fault_is_recorded_without_its_details(logged: Logged) -> None:
    await logged.execute(
        "CREATE FUNCTION sys.fail() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE EXCEPTION 'a hidden relation'; END $$"
    )
    await logged.execute("CREATE TRIGGER fail BEFORE DELETE ON sys.resource EXECUTE FUNCTION sys.fail()")
    with structlog.testing.capture_logs():  # a traceback with all its variables takes seconds to write
        _, entry = await logged.entry_of("DELETE", "/api/resource/7")
    await logged.execute("DROP FUNCTION sys.fail CASCADE")
    assert (entry["status"], entry["error"]) == (500, "internal_error")
    assert "hidden" not in json.dumps(entry["response"])
    assert "relation" not in json.dumps(entry["response"])


async def test_a_call_that_asks_for_an_unknown_policy_is_recorded(logged: Logged) -> None:
    newer = ("X-Policy-Min-Revision", "999999")
    _, entry = await logged.entry_of("DELETE", "/api/resource/7", None, newer)
    assert (entry["status"], entry["error"], entry["decision"]) == (409, "revision_unknown", None)


async def test_a_client_that_goes_away_amid_its_body_is_recorded(logged: Logged) -> None:
    token = ("Authorization", f"Bearer {logged.inside.token}")
    answer = await ask(logged.inside._app, "POST", "/api/resource", token, JSON, body=b'{"resou', ends=False)
    entry = await logged.entry(answer)
    assert (entry["status"], entry["error"], entry["params"]) == (400, "bad_request", None)


async def test_a_call_that_ends_without_an_answer_is_recorded(logged: Logged) -> None:
    """As when the worker stops and does not wait any longer."""
    pieces: list[Message] = [{"type": "http.request", "body": b"{", "more_body": True}]
    waiting = asyncio.Event()

    async def receive() -> Message:
        if not pieces:
            waiting.set()
            await asyncio.Event().wait()
        return pieces.pop()

    async def send(message: Message) -> None:
        raise AssertionError(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "path": "/api/resource",
        "raw_path": b"/api/resource",
        "query_string": b"",
        "headers": [
            (b"x-request-id", b"cut"),
            (b"authorization", f"Bearer {logged.inside.token}".encode()),
            (b"content-type", b"application/json"),
        ],
        "client": ("192.0.2.7", 1),
    }
    context = asyncio.ensure_future(logged.inside._app(scope, receive, send))
    await waiting.wait()
    context.cancel()
    with pytest.raises(asyncio.CancelledError):
        await context
    (entry,) = await logged.rows("operation_log", "cut", 1)
    assert (entry["status"], entry["error"], entry["decision"]) == (499, "unanswered", "allow")


async def test_an_operation_that_is_not_logged_leaves_no_entry(logged: Logged) -> None:
    unlogged = await logged.ask("GET", "/api/resource/list")
    assert unlogged.status == 200
    last = await logged.ask("DELETE", "/api/resource/7")
    await logged.entry(last)
    name = unlogged.header("x-request-id")
    assert name is not None
    assert await logged.rows("operation_log", name, 0) == []


async def test_the_client_is_the_one_that_a_trusted_proxy_names(
    published_template: str, new_database: NewDatabase, redis_url: str
) -> None:
    trusted = {"PORTCULLIS_SERVER__TRUSTED_PROXIES": "192.0.2.7/32"}
    async with (
        inside_published(new_database(published_template), redis_url, **trusted) as behind,
        watched(behind, redis_url) as logged,
    ):
        forwarded = ("X-Forwarded-For", "forged, 203.0.113.9")
        _, entry = await logged.entry_of("DELETE", "/api/resource/7", None, forwarded)
    assert entry["client_ip"] == ip_address("203.0.113.9")


async def test_text_in_a_path_is_kept_once_it_has_led_to_a_success(logged: Logged) -> None:
    missed, entry = await logged.entry_of("DELETE", "/api/auth/sessions/my-password")
    assert (missed.status, entry["url"], entry["params"]) == (404, "/api/auth/sessions/{device}", None)

    person = await logged.person()
    token = await logged.log_in(person, "kiosk")
    ended, entry = await logged.entry_of("DELETE", "/api/auth/sessions/kiosk", token=token)
    assert (ended.status, entry["url"]) == (200, "/api/auth/sessions/kiosk")
    assert entry["params"] == {"path": {"device": "kiosk"}}


async def test_what_is_no_id_is_not_kept(logged: Logged) -> None:
    _, entry = await logged.entry_of("DELETE", "/api/resource/my-password")
    assert (entry["status"], entry["url"], entry["params"]) == (422, "/api/resource/{id}", None)


async def test_a_refusal_names_no_field_but_those_of_the_operation(logged: Logged) -> None:
    _, entry = await logged.entry_of("POST", "/api/resource", resource("/api/x", hunter2="x"))
    fault = {"code": "unknown_field", "params": {}, "message": "There is no such field"}
    assert entry["response"]["errors"] == [{"field": "\u2026"} | fault]
    _, entry = await logged.entry_of("POST", "/api/resource", resource("/api/x", method="TRACE"))
    assert [error["field"] for error in entry["response"]["errors"]] == ["method"]


async def test_much_is_cut_and_stays_readable(logged: Logged) -> None:
    made = await logged.inside.data("POST", "/api/resource", resource("/api/long-report"))
    ids, path = list(range(1, 3000)), f"/api/resource/{made['id']}/buttons"
    answer = await logged.ask("PUT", path, {"menuIds": ids}, ("If-Match", '"99"'))
    assert answer.status == 412  # and not 422, of which nothing is kept
    entry = await logged.entry(answer)
    kept = entry["params"]["body"]["menuIds"]
    assert kept[:50] == ids[:50]
    assert kept[50].startswith("\u2026")


@with_each(
    ("asked", "expected"),
    [
        ("", None),
        ("?dryRun=false", None),
        ("?dryRun=true", True),
        ("?dry%52un=true", True),
        ("?dryRun=maybe", None),
        ("?dryRun=true&x=1", None),
    ],
)
async def test_an_entry_says_if_a_call_asked_only_what_it_would_change(
    logged: Logged, asked: str, expected: bool | None
) -> None:
    role = {"roleCode": "previewed", "roleName": ""}  # so that nothing is ever saved

    _, entry = await logged.entry_of("POST", f"/api/role{asked}", role)

    assert (entry["kind"], entry["status"], entry["dry_run"]) == ("INSERT", 422, expected)


async def test_a_preview_is_marked_whether_it_was_answered_or_refused_by_the_policy(logged: Logged) -> None:
    person = await logged.person("user")
    token = await logged.log_in(person)

    _, answered = await logged.entry_of("DELETE", f"/api/user/{person.id}?dryRun=true")
    _, refused = await logged.entry_of("DELETE", f"/api/user/{person.id}?dryRun=true", token=token)
    imported = []
    if is_served("POST /api/role/import"):
        imported = [(await logged.entry_of("POST", "/api/role/import?dryRun=true", {"roles": []}))[1]]
    _, done = await logged.entry_of("DELETE", f"/api/user/{person.id}")

    outcomes = [
        (entry["status"], entry["decision"], entry["dry_run"])
        for entry in (answered, refused, *imported, done)
    ]
    rehearsed = (200, "allow", True)
    assert outcomes == [
        rehearsed,
        (403, "deny", True),
        *(rehearsed for _ in imported),
        (200, "allow", None),
    ]
    assert (answered["changes"], done["targets"]) == (None, [f"user:{person.name}"])
