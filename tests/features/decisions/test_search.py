"""Searches find exactly what is allowed, and answers are events of the decision log."""

import asyncio
import itertools
import json
from typing import Any

import pytest

from service.features.decision_log.decision_event import decoded
from service.features.service_accounts.form import ApiKey, new_secret
from tests.features.decisions.conftest import EVALUATION, EVALUATIONS, Access, user
from tests.support.members import member, query

KEY = (
    "INSERT INTO sys.api_key (user_id, key_name, hint, digest, created_by)"
    " VALUES (%s, 'gateway', 'none', %s, 1) RETURNING id"
)
_numbers = itertools.count()


async def search_results(access: Access, what: str, body: dict[str, Any]) -> list[Any]:
    answer = await access.ask(f"/access/v1/search/{what}", body, by="searcher")
    assert answer.status == 200, answer.body
    results: list[Any] = answer.json["results"]
    return results


async def decisions(access: Access, questions: list[dict[str, Any]]) -> list[bool]:
    answer = await access.ask(EVALUATIONS, {"evaluations": questions})
    return [evaluation["decision"] for evaluation in answer.json["evaluations"]]


@pytest.mark.parametrize("name", ["admin", "searcher", "alice"])
async def test_what_a_search_finds_is_allowed_and_the_rest_is_not(access: Access, name: str) -> None:
    matrix = await access.service.data("GET", "/api/policy/matrix?size=200")
    everything = [row["object"] for row in matrix["items"]]
    paths = {request.partition(" ")[2] for request in everything if request.startswith("GET ")}
    results = await search_results(
        access, "resource", {"subject": user(name), "action": {"name": "GET"}, "resource": {"type": "route"}}
    )
    ids = {result["id"] for result in results}
    asked = sorted(paths | ids)
    questions = [
        {"subject": user(name), "action": {"name": "GET"}, "resource": {"type": "route", "id": path}}
        for path in asked
    ]

    allowed = await decisions(access, questions)
    assert {path for path, decision in zip(asked, allowed, strict=True) if decision} == ids
    assert len(ids) > 3


async def test_a_search_of_subjects_finds_those_who_are_allowed_and_no_others(access: Access) -> None:
    await member(access.service, "wide", "system:*")
    await member(access.service, "narrow", "system:role:list", "system:role:delete", "record:record-1:read")
    names = [each["userName"] for each in (await access.service.data("GET", "/api/user/list"))["items"]]
    counts = []
    for action, resource in (
        ("GET", {"type": "route", "id": "/api/role/list"}),
        ("GET", {"type": "route", "id": "/api/role/{id}"}),
        ("DELETE", {"type": "route", "id": "/api/role/7"}),
        ("GET", {"type": "route", "id": "/api/auth/user-info"}),
        ("read", {"type": "record", "id": "record-1"}),
        ("use", {"type": "permission", "id": "record:record-1:write"}),
    ):
        asked = {"action": {"name": action}, "resource": resource}
        subjects = await search_results(access, "subject", {"subject": {"type": "user"}, **asked})
        allowed = await decisions(access, [{"subject": user(name), **asked} for name in names])

        assert {subject["id"] for subject in subjects} == {
            name for name, decision in zip(names, allowed, strict=True) if decision
        }, asked
        counts.append(len(subjects))
    assert len({*counts}) > 3


async def test_codes_are_found_as_permissions_and_as_parts(access: Access) -> None:
    body = {"subject": user("alice"), "action": {"name": "any"}, "resource": {"type": "permission"}}
    codes = [search_result["id"] for search_result in await search_results(access, "resource", body)]
    use = await search_results(
        access, "action", {"subject": user("alice"), "resource": {"type": "permission", "id": codes[0]}}
    )
    none = await search_results(
        access, "action", {"subject": user("bob"), "resource": {"type": "permission", "id": codes[1]}}
    )

    assert codes == ["record:record-1:read", "record:record-1:write"]
    assert (use, none) == ([{"name": "use"}], [])


async def test_identities_are_found_by_login_id_and_only_those_who_may_log_in(access: Access) -> None:
    who = await member(access.service, "frank", "record:record-2:write")
    body = {
        "subject": {"type": "identity"},
        "action": {"name": "write"},
        "resource": {"type": "record", "id": "record-2"},
    }
    subject = {"type": "identity", "id": str(who.user_id)}
    assert subject in await search_results(access, "subject", body)

    await access.service.data("PUT", f"/api/user/{who.user_id}/status", {"status": "disabled"})
    assert subject not in await search_results(access, "subject", body)


async def test_methods_of_a_route_are_found(access: Access) -> None:
    resource = {"type": "route", "id": "/api/role/{id}"}
    assert await search_results(access, "action", {"subject": user("alice"), "resource": resource}) == []
    names = [
        search_result["name"]
        for search_result in await search_results(
            access, "action", {"subject": user("admin"), "resource": resource}
        )
    ]
    assert {"PUT", "DELETE"} <= set(names)


async def bound(access: Access, service: str, *codes: str) -> str:
    """Return an API key of an account that is bound to a service."""
    who = await member(access.service, f"gateway-{next(_numbers)}", *codes)
    await query(
        access.service,
        "UPDATE sys.user SET kind = 'service', password_hash = NULL, service = %s WHERE id = %s",
        service,
        who.user_id,
    )
    secret = new_secret()
    ((key_id,),) = await query(access.service, KEY, who.user_id, ApiKey(1, secret).digest_of("service"))
    return str(ApiKey(key_id, secret))


async def test_a_service_account_is_told_what_a_route_needs_as_its_proxy_would_be(access: Access) -> None:
    key = await bound(access, "portcullis", "system:policy:evaluate")
    contexts = {}
    for kind, name in (("route", "/api/role/list"), ("permission", "portcullis:x:y")):
        body = {"subject": user("alice"), "action": {"name": "GET"}, "resource": {"type": kind, "id": name}}
        contexts[kind] = (await access.service.ask("POST", EVALUATION, body, token=key)).json["context"]
    assert "system:role:list" in contexts["route"]["required"]
    assert "required" not in contexts["permission"]


async def test_an_account_that_is_bound_to_a_service_asks_about_that_service_only(access: Access) -> None:
    key = await bound(access, "record", "system:policy:evaluate", "system:policy:read")

    async def ask(path: str, body: dict[str, Any]) -> Any:
        answer = await access.service.ask("POST", path, body, token=key)
        assert answer.status == 200, answer.body
        return answer.json

    async def reason(action: str, resource: dict[str, Any]) -> str:
        body = {"subject": user("alice"), "action": {"name": action}, "resource": resource}
        text: str = (await ask(EVALUATION, body))["context"]["reason"]
        return text

    assert await reason("read", {"type": "record", "id": "record-1"}) == "opened"
    assert await reason("read", {"type": "permission", "id": "system:user:list"}) == "other_service"
    asked = {
        "subject": user("alice"),
        "action": {"name": "GET"},
        "resource": {"type": "permission", "id": "*"},
    }
    context = (await ask(EVALUATION, asked))["context"]
    assert (context["layer"], context["required"], "decisionId" in context) == ("account", [], True)
    assert await reason("GET", {"type": "route", "id": "/api/user/info"}) == "no_line"
    other = {"type": "route", "id": "/api/user/info", "properties": {"service": "portcullis"}}
    assert await reason("GET", other) == "other_service"
    body = {"subject": user("admin"), "action": {"name": "use"}, "resource": {"type": "permission"}}
    codes = [result["id"] for result in (await ask("/access/v1/search/resource", body))["results"]]
    assert codes
    assert all(code.startswith("record:") for code in codes)
    routes = {**body, "action": {"name": "GET"}, "resource": other}
    assert (await ask("/access/v1/search/resource", routes))["results"] == []


async def events(access: Access, request_id: str, number: int) -> list[dict[str, Any]]:
    """Wait for the events of answers to a request."""
    matching: list[dict[str, Any]] = []
    while len(matching) < number:
        await asyncio.sleep(0.02)
        lines = access.log.read_bytes().splitlines() if access.log.exists() else []
        evaluations = [event for line in lines if (event := json.loads(line))["event"] == "evaluation"]
        matching = [evaluation for evaluation in evaluations if evaluation["request_id"] == request_id]
    return matching


async def test_an_answer_is_an_event_that_tells_the_user_and_never_the_token(access: Access) -> None:
    alice, gateway = access.members["alice"], access.members["gateway"]
    token = {"type": "token", "id": alice.token}
    question = {"action": {"name": "read"}, "resource": {"type": "record", "id": "record-1"}}
    decisions = {}
    for name, subject in {
        "told": token,
        "unknown": user("hunter2"),
        "strange": {**token, "type": "x"},
    }.items():
        answer = await access.ask(EVALUATION, {**question, "subject": subject}, ("X-Request-ID", name))
        decisions[name] = answer.json["context"].get("decisionId")

    (event,) = await events(access, "told", 1)
    assert (event["outcome"], event["reason"], event["decision"]) == ("allow", "opened", decisions["told"])
    assert (event["asked_by"], event["user_id"], event["roles"]) == (
        gateway.user_id,
        alice.user_id,
        ["alice"],
    )
    assert event["line"] == "p, permission, record:record-1:read, record:record-1:read"
    (unknown,) = await events(access, "unknown", 1)
    assert (unknown["outcome"], unknown["reason"]) == ("deny", "subject_not_active")
    assert not {"decision", "user_id", "codes", "layer"} & set(unknown)
    assert (await events(access, "strange", 1))[0]["subject_type"] == ""
    written = access.log.read_bytes()
    assert alice.token.encode() not in written
    assert b"hunter2" not in written
    assert all(decoded(line) is None for line in written.splitlines() if b'"evaluation"' in line)


async def test_questions_are_not_entered_in_the_operation_log(access: Access) -> None:
    await access.allows("alice", "read", "record-1")

    entries = await access.service.data("GET", "/api/operation-log/list?size=200")
    assert [entry["url"] for entry in entries["items"] if entry["url"].startswith("/access/")] == []
