"""Searches find exactly what is allowed, and accounts that are bound to a service ask about it only."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from service.authn.api_key_form import ApiKey, new_secret
from tests.access.conftest import EVALUATION, EVALUATIONS, Access, user
from tests.support.members import member, query

pytestmark = pytest.mark.anyio

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
    ((key_id,),) = await query(access.service, KEY, who.user_id, ApiKey(1, secret).digest)
    return str(ApiKey(key_id, secret))


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
