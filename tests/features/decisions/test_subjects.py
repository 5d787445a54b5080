"""Whom a question is about, with which rights: those of its moment, without a round trip of its own."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from service.keyspace import SessionStore
from tests.features.decisions.conftest import EVALUATION, EVALUATIONS, Access, user
from tests.support.cases import with_each
from tests.support.members import ids_of, member
from tests.web.driver import JSON, ask

FIRST = {"type": "record", "id": "record-1"}
READ = "record:record-1:read"


async def test_a_subject_is_named_in_three_ways(access: Access) -> None:
    alice = access.members["alice"]
    for kind, name in (
        ("user", "alice"),
        ("user", "ALICE"),
        ("identity", str(alice.user_id)),
        ("token", alice.token),
    ):
        assert (await access.decision({"type": kind, "id": name}, "read", FIRST))["decision"] is True
        assert (await access.decision({"type": kind, "id": name}, "delete", FIRST))["decision"] is False


@with_each(
    ("kind", "name"),
    [
        ("user", "nobody-here"),
        ("user", ""),
        ("user", "a" * 5000),
        ("user", "a\0"),
        ("identity", "0"),
        ("identity", "999999"),
        ("identity", "alice"),
        ("identity", "9" * 30),
        ("identity", " 1"),
        ("identity", "\u0661"),
        ("token", ""),
        ("token", "eyJhbGciOiJub25lIn0.e30."),
        ("token", "pck_1_x_y"),
        ("token", "\u00e9"),
        ("spaceship", "alice"),
    ],
)
async def test_a_subject_that_is_not_active_may_do_nothing(access: Access, kind: str, name: str) -> None:
    answer = await access.decision({"type": kind, "id": name}, "read", FIRST)

    assert answer["decision"] is False
    assert answer["context"]["reason"] == "subject_not_active"
    assert set(answer["context"]) == {"reason", "revision"}


async def test_an_api_key_has_the_rights_of_its_account_within_its_scopes_until_it_is_deleted(
    access: Access,
) -> None:
    service = access.service
    role = {"roleCode": "robot", "roleName": "Robot", "permissions": [READ]}
    role_id = (await service.data("POST", "/api/role", role))["id"]
    account = {"userName": "robot", "nickName": "Robot", "kind": "service", "roleIds": [role_id]}
    user_id = (await service.data("POST", "/api/user", account))["id"]
    keys = f"/api/user/{user_id}/keys"
    whole = await service.data("POST", keys, {"name": "whole"})
    narrow = await service.data("POST", keys, {"name": "narrow", "scopes": ["record:record-2:*"]})

    allowed = await access.decision({"type": "token", "id": whole["key"]}, "read", FIRST)
    denied = await access.decision({"type": "token", "id": narrow["key"]}, "read", FIRST)
    await service.data("DELETE", f"{keys}/{whole['id']}")
    gone = await access.decision({"type": "token", "id": whole["key"]}, "read", FIRST)

    assert allowed["decision"] is True
    assert allowed["context"]["subject"] == {"id": str(user_id), "name": "robot", "roles": ["robot"]}
    assert (denied["decision"], denied["context"]["reason"]) == (False, "not_held")
    assert "subject" not in denied["context"]
    assert (gone["decision"], gone["context"]["reason"]) == (False, "subject_not_active")


async def test_rights_are_those_of_the_moment_of_the_question(access: Access) -> None:
    service, who = access.service, await member(access.service, "carol")
    (button,) = await ids_of(service, READ)
    menus, status = f"/api/role/{who.role_id}/permissions", f"/api/user/{who.user_id}/status"
    ban = f"/api/online/{who.user_id}/ban"
    steps: list[tuple[str, str, Any, bool]] = [
        ("PUT", menus, {"menuIds": [button]}, True),
        ("PUT", menus, {"menuIds": []}, False),
        ("PUT", menus, {"menuIds": [button]}, True),
        ("PUT", status, {"status": "disabled"}, False),
        ("PUT", status, {"status": "enabled"}, True),
        ("POST", ban, {"reason": "for a test"}, False),
        ("DELETE", ban, None, True),
        ("PATCH", f"/api/user/{who.user_id}", {"roleIds": []}, False),
        ("PATCH", f"/api/user/{who.user_id}", {"roleIds": [who.role_id]}, True),
    ]
    assert await access.allows("carol", "read", "record-1") is False
    for method, path, body, expected in steps:
        await service.data(method, path, body)
        by_name = await access.allows("carol", "read", "record-1")
        by_id = await access.decision({"type": "identity", "id": str(who.user_id)}, "read", FIRST)
        assert (by_name, by_id["decision"]) == (expected, expected), (method, path, body)


async def test_no_question_is_answered_by_older_rights_while_many_ask(access: Access) -> None:
    service, who = access.service, await member(access.service, "gina", READ)
    (button,) = await ids_of(service, READ)
    ended = False

    async def ask_on() -> None:
        while not ended:
            await access.allows("gina", "read", "record-1")

    asking = [asyncio.create_task(ask_on()) for _ in range(4)]
    try:
        for number in range(12):
            allowed = number % 2 == 1
            menus = {"menuIds": [button] if allowed else []}
            await service.data("PUT", f"/api/role/{who.role_id}/permissions", menus)
            answers = await asyncio.gather(*(access.allows("gina", "read", "record-1") for _ in range(4)))
            assert answers == [allowed] * 4, number
    finally:
        ended = True
        await asyncio.gather(*asking)


async def test_a_name_is_that_of_the_user_who_has_it_now(access: Access) -> None:
    service, who = access.service, await member(access.service, "dave", READ)
    assert await access.allows("dave", "read", "record-1")

    await service.data("PATCH", f"/api/user/{who.user_id}", {"userName": "david"})
    assert await access.allows("dave", "read", "record-1") is False
    assert await access.allows("david", "read", "record-1")
    other = await member(service, "dan")
    await service.data("PATCH", f"/api/user/{other.user_id}", {"userName": "dave"})
    assert await access.allows("dave", "read", "record-1") is False
    await service.data("DELETE", f"/api/user/{who.user_id}")
    assert await access.allows("david", "read", "record-1") is False


async def test_a_disabled_button_closes_its_code_for_everybody(access: Access) -> None:
    (button,) = await ids_of(access.service, "record:record-2:write")
    assert await access.allows("admin", "write", "record-2")

    await access.service.data("PATCH", f"/api/menu/{button}", {"enabled": False})
    answer = await access.decision(user("admin"), "write", {"type": "record", "id": "record-2"})
    assert (answer["decision"], answer["context"]["reason"]) == (False, "no_line")
    await access.service.data("PATCH", f"/api/menu/{button}", {"enabled": True})
    assert await access.allows("admin", "write", "record-2")


async def test_a_revoked_token_is_no_subject(access: Access) -> None:
    who = await member(access.service, "erin", READ)
    token = {"type": "token", "id": who.token}
    assert (await access.decision(token, "read", FIRST))["decision"] is True

    await access.service.data("PUT", f"/api/role/{who.role_id}/permissions", {"menuIds": []})
    assert (await access.decision(token, "read", FIRST))["decision"] is False
    await who.log_in()
    answer = await who.ask("POST", "/api/auth/logout")
    assert answer.status == 200
    reply = await access.decision({"type": "token", "id": who.token}, "read", FIRST)
    assert reply["context"]["reason"] == "subject_not_active"


async def test_users_of_one_moment_are_read_together(access: Access) -> None:
    names = [f"crowd-{number}" for number in range(5)]
    for name in names:
        await member(access.service, name, READ)
    body = {
        "action": {"name": "read"},
        "resource": FIRST,
        "evaluations": [{"subject": user(name)} for name in (*names, "nobody-here", *names)],
    }
    answers = await asyncio.gather(*(access.ask(EVALUATIONS, body) for _ in range(4)))

    for answer in answers:
        assert [evaluation["decision"] for evaluation in answer.json["evaluations"]] == [True] * 5 + [
            False
        ] + [True] * 5


async def test_routes_are_those_of_this_service_unless_another_is_named(access: Access) -> None:
    route = {"type": "route", "id": "/api/role/list"}
    elsewhere = {**route, "properties": {"service": "orders"}}
    nonsense = {**route, "properties": {"service": 7}}

    assert (await access.decision(user("admin"), "GET", route))["decision"] is True
    denied = await access.decision(user("alice"), "GET", route)
    assert (denied["decision"], denied["context"]["layer"]) == (False, "resource")
    assert (await access.decision(user("admin"), "GET", elsewhere))["context"]["reason"] == "no_line"
    assert (await access.decision(user("admin"), "GET", nonsense))["context"]["reason"] == "unknown_service"


async def test_only_readers_of_the_policy_are_told_what_would_open(access: Access) -> None:
    body = {"subject": user("bob"), "action": {"name": "write"}, "resource": FIRST}
    unanchored = (await access.ask(EVALUATION, body)).json["context"]
    context = (await access.service.ask("POST", EVALUATION, body)).json["context"]

    assert "required" not in unanchored
    assert context["required"] == ["record:record-1:write"]
    assert context["decisionId"] == unanchored["decisionId"]


async def test_nobody_asks_without_the_code(access: Access) -> None:
    answer = await access.ask(EVALUATION, {}, by="alice")

    assert (answer.status, answer.code) == (403, "permission_denied")
    assert (await access.service.as_anonymous("POST", EVALUATION)).status == 401


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the users whose epochs are compared from now on."""
    asked: list[str] = []
    real = SessionStore.check_all_rights

    def counted(store: SessionStore, login_ids: Any) -> Any:
        ids = list(login_ids)
        asked.extend(ids)
        return real(store, ids)

    monkeypatch.setattr(SessionStore, "check_all_rights", counted)
    return asked


@pytest.fixture
async def client(module_redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(module_redis_url)
    yield client
    await client.aclose()


async def test_a_known_user_is_compared_once_after_a_change_of_anybody(
    access: Access, compared: list[str]
) -> None:
    who, other = await member(access.service, "hugo", READ), await member(access.service, "ines")
    await access.allows("hugo", "read", "record-1")
    for change in ("disabled", "enabled"):
        await access.service.data("PUT", f"/api/user/{other.user_id}/status", {"status": change})
        for comparisons in ([str(who.user_id)], [], []):
            compared.clear()
            assert await access.allows("hugo", "read", "record-1")
            assert compared == comparisons, change


async def test_of_a_batch_only_users_in_doubt_are_compared(access: Access, compared: list[str]) -> None:
    known, new = await member(access.service, "jana", READ), await member(access.service, "kurt", READ)
    for _ in range(2):
        await access.allows("jana", "read", "record-1")
    compared.clear()
    questions = [{"subject": user(name)} for name in ("jana", "kurt", "nobody")]
    body = {"action": {"name": "read"}, "resource": FIRST, "evaluations": questions}
    answer = await access.ask(EVALUATIONS, body)

    assert [evaluation["decision"] for evaluation in answer.json["evaluations"]] == [True, True, False]
    assert str(new.user_id) in compared
    assert str(known.user_id) not in compared


async def test_without_the_epoch_of_all_rights_a_question_compares(
    access: Access, compared: list[str], client: Redis
) -> None:
    who = await member(access.service, "lena", READ)
    await access.allows("lena", "read", "record-1")
    await client.delete("auth:rights")
    for _ in range(2):
        compared.clear()
        assert await access.allows("lena", "read", "record-1")
        assert compared == [str(who.user_id)]


@pytest.mark.parametrize("expects", [False, True])
async def test_a_question_that_ends_after_a_change_is_not_answered_by_rights_from_before(
    access: Access, *, expects: bool
) -> None:
    """The head of the request comes before the change, and its body after it."""
    service, name = access.service, f"mona-{int(expects)}"
    who = await member(service, name, READ)
    question = {"subject": user(name), "action": {"name": "read"}, "resource": FIRST}
    raw = json.dumps(question).encode()
    headers = [
        JSON,
        ("Authorization", f"Bearer {access.members['gateway'].token}"),
        ("Content-Length", str(len(raw))),
    ]
    if expects:
        headers.append(("Expect", "100-continue"))
    has_come, waits = asyncio.Event(), asyncio.Event()

    async def late(scope: Any, receive: Any, send: Any) -> None:
        async def receive_late() -> Any:
            if not has_come.is_set():
                waits.set()
            await has_come.wait()
            return await receive()

        await service._app(scope, receive_late, send)

    for _ in range(2):
        assert await access.allows(name, "read", "record-1")
    asking = asyncio.create_task(ask(late, "POST", EVALUATION, *headers, body=raw))  # type: ignore[arg-type]
    await waits.wait()
    await asyncio.sleep(0.05)  # the guard has the answer of the session store
    await service.data("PATCH", f"/api/user/{who.user_id}", {"roleIds": []})
    has_come.set()
    assert (await asking).json["decision"] is False
