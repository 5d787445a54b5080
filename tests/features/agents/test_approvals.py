"""Calls of agents that people approve: exactly that call runs, once or for the life of the delegation."""

import asyncio
import json
from typing import Any

import pytest

from service.errors import Refusal
from service.features.log_reading import store_paging as paging
from service.web.content import streams
from tests.features.agents.conftest import APPROVALS, DELEGATIONS, Agent, agent_of, delegated
from tests.features.service_accounts.conftest import Workers
from tests.support.cases import with_each
from tests.support.members import Member, member
from tests.web.driver import ask

CODES = ("system:role:list", "system:user:update")
ASKED = "system:user:update"


async def _asking(workers: Workers, name: str) -> tuple[Member, Agent, str, str]:
    """Return a person, an agent that has to ask about edits of users, its token, and the path of a user."""
    agent = await agent_of(workers, *CODES)
    person = await member(workers.first, name, *CODES)
    token = await agent.token(await delegated(person, agent, *CODES, askMe=[ASKED]))
    body = {"userName": f"of-{name}", "nickName": f"Of {name}", "password": "four wary herons"}
    user = await workers.first.data("POST", "/api/user", body)
    return person, agent, token, f"/api/user/{user['id']}"


async def _decide(person: Member, refusal: Any, decision: str) -> Any:
    (waiting,) = [
        each
        for each in (await person.ask("GET", APPROVALS)).json["data"]["items"]
        if each["id"] == refusal.json["approval"]
    ]
    order = {"decision": decision, "digest": waiting["digest"]}
    answer = await person.ask("POST", f"{APPROVALS}/{waiting['id']}", order)
    assert answer.status == 200, answer.body
    return waiting


async def test_an_approved_call_runs_once_and_another_call_never(workers: Workers) -> None:
    person, agent, token, path = await _asking(workers, "ida")
    body = {"nickName": "First"}
    assert await workers.statuses(token, "/api/role/1") == [200, 200]
    # Open to system:user:update too, but the delegation has system:role:list, which needs no approval.
    assert await workers.statuses(token, "/api/role/list") == [200, 200]
    refused = await workers.first.ask("PATCH", path, body, token=token)
    assert (refused.status, refused.code) == (403, "approval_required")
    assert refused.json["link"].endswith(f"/{refused.json['approval']}")
    again = await workers.second.ask("PATCH", path, body, token=token)
    assert again.json["approval"] == refused.json["approval"]
    waiting = await _decide(person, refused, "once")
    assert (waiting["method"], waiting["path"], waiting["query"]) == ("PATCH", path, "")
    assert (json.loads(waiting["body"]), waiting["agentName"]) == (body, agent.account.name)
    others = [
        ("PATCH", path, {"nickName": "Second"}),
        ("PATCH", f"{path}?dryRun=true", body),
        ("PATCH", "/api/user/1", body),
        ("PUT", path, body),
    ]
    for method, target, sent in others:
        other = await workers.second.ask(method, target, sent, token=token)
        assert (other.status, other.code) == (403, "approval_required"), other.body
    assert (await workers.second.ask("PATCH", path, body, token=token)).status == 200
    used = await workers.first.ask("PATCH", path, body, token=token)
    assert (used.status, used.code) == (403, "approval_required")
    assert used.json["approval"] != refused.json["approval"]


@pytest.mark.parametrize("ended", [False, True])
async def test_an_approved_answer_is_sent_to_its_end_unless_the_delegation_ends(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, ended: bool
) -> None:
    monkeypatch.setattr(streams, "ASKED_EVERY", 0.0)
    monkeypatch.setattr(paging, "BATCH", 1)
    export = "system:operation-log:export"
    agent = await agent_of(workers, export)
    person = await member(workers.first, "stopped" if ended else "exporter", export)
    delegation = await delegated(person, agent, export, askMe=[export])
    token = await agent.token(delegation)
    target = "/api/operation-log/export?limit=3"
    refused = await workers.first.ask("GET", target, token=token)
    await _decide(person, refused, "once")

    async def end() -> None:
        if ended:
            assert (await person.ask("DELETE", f"{DELEGATIONS}/{delegation}")).status == 200

    exporting = ask(workers.first._app, "GET", target, ("Authorization", f"Bearer {token}"), during=end)
    if ended:
        with pytest.raises(Refusal):
            await exporting
    else:
        answer = await exporting
        assert (answer.status, answer.body.count(b"\r\n")) == (200, 4)


async def test_of_many_equal_calls_one_uses_an_approval_for_one(workers: Workers) -> None:
    person, _agent, token, path = await _asking(workers, "joe")
    body = {"nickName": "Once"}
    refused = await workers.first.ask("PATCH", path, body, token=token)
    await _decide(person, refused, "once")
    asked = [
        (workers.first if number % 2 else workers.second).ask("PATCH", path, body, token=token)
        for number in range(12)
    ]
    statuses = [answer.status for answer in await asyncio.gather(*asked)]
    assert sorted(statuses) == [200] + [403] * 11


async def test_the_person_is_notified_once_while_calls_wait(workers: Workers) -> None:
    person, agent, token, path = await _asking(workers, "una")
    for name in ("First", "Second"):
        refused = await workers.first.ask("PATCH", path, {"nickName": name}, token=token)
        assert refused.code == "approval_required"
    listed = (await person.ask("GET", "/api/user/profile/notices")).json["data"]["items"]
    asked, made = (each for each in listed if each["kind"] in ("approval_asked", "delegation_made"))
    assert made["facts"].keys() == {"name", "until"}
    assert (made["facts"]["name"], made["actedBy"]) == (agent.account.name, "self")
    facts = asked["facts"]
    assert (facts["name"], facts["call"], asked["clientIp"]) == (agent.account.name, f"PATCH {path}", None)
    first, _second = (await person.ask("GET", APPROVALS)).json["data"]["items"]
    assert (str(first["id"]), first["until"]) == (facts["approval"], facts["until"])


async def test_an_approval_for_the_delegation_lasts_and_a_refusal_approves_nothing(workers: Workers) -> None:
    person, _agent, token, path = await _asking(workers, "kit")
    body = {"nickName": "Again"}
    refused = await workers.first.ask("PATCH", path, body, token=token)
    await _decide(person, refused, "refused")
    refused = await workers.first.ask("PATCH", path, body, token=token)
    assert refused.status == 403
    await _decide(person, refused, "always")
    for worker in (workers.first, workers.second, workers.first):
        assert (await worker.ask("PATCH", path, body, token=token)).status == 200
    assert (await workers.first.ask("PATCH", path, {"nickName": "Other"}, token=token)).status == 403


async def test_what_the_person_may_not_do_is_not_put_before_the_person(workers: Workers) -> None:
    person, _agent, token, path = await _asking(workers, "lee")
    await workers.first.data("PUT", f"/api/role/{person.role_id}/permissions", {"menuIds": []})
    refused = await workers.second.ask("PATCH", path, {"nickName": "X"}, token=token)
    assert (refused.status, refused.code) == (403, "permission_denied")
    assert refused.json["deniedBy"] == ["account", "approval"]
    await person.log_in()
    assert (await person.ask("GET", APPROVALS)).json["data"]["items"] == []


@with_each("asked", ["*:user:update", "system:*", "system:*:update", "system:user:*"])
async def test_wildcards_on_both_sides_ask(workers: Workers, asked: str) -> None:
    agent = await agent_of(workers, *CODES)
    person = await member(workers.first, f"wild{abs(hash(asked)) % 10**9}", *CODES)
    token = await agent.token(await delegated(person, agent, "system:*:update", askMe=[asked]))
    refused = await workers.first.ask("PATCH", "/api/user/1", {"nickName": "X"}, token=token)
    assert (refused.status, refused.code) == (403, "approval_required")
    assert (await workers.first.ask("GET", "/api/user/profile", token=token)).status == 200


async def test_only_the_person_decides_and_about_the_call_that_was_shown(workers: Workers) -> None:
    person, _agent, token, path = await _asking(workers, "max")
    refused = await workers.first.ask("PATCH", path, {"nickName": "X"}, token=token)
    number = refused.json["approval"]
    (waiting,) = (await person.ask("GET", APPROVALS)).json["data"]["items"]
    order = {"decision": "once", "digest": waiting["digest"]}
    by_other = await workers.first.ask("POST", f"{APPROVALS}/{number}", order)
    assert by_other.status == 404
    by_agent = await workers.first.ask("POST", f"{APPROVALS}/{number}", order, token=token)
    assert (by_agent.status, by_agent.json["layer"]) == (403, "account")
    other_call = await person.ask("POST", f"{APPROVALS}/{number}", order | {"digest": "0" * 64})
    assert (other_call.status, other_call.fields) == (422, ["digest"])
    assert (await workers.first.ask("PATCH", path, {"nickName": "X"}, token=token)).status == 403
    assert (await person.ask("POST", f"{APPROVALS}/{number}", order)).status == 200


async def test_at_most_twenty_calls_wait_and_secrets_are_not_shown(workers: Workers) -> None:
    person, _agent, token, path = await _asking(workers, "nat")
    statuses = []
    for number in range(22):
        body = {"nickName": f"R{number}", "password": "hunter-two-herons"}
        statuses.append((await workers.first.ask("PATCH", path, body, token=token)).code)
    assert statuses == ["approval_required"] * 20 + ["permission_denied"] * 2
    items = (await person.ask("GET", APPROVALS)).body
    assert b"hunter" not in items


async def test_an_agent_of_two_people_does_for_each_what_that_one_allows(workers: Workers) -> None:
    agent = await agent_of(workers, *CODES, "system:menu:list")
    ann = await member(workers.first, "ann2", *CODES)
    ben = await member(workers.first, "ben2", *CODES, "system:menu:list")
    of_ann = await agent.token(await delegated(ann, agent, *CODES, askMe=[ASKED]))
    of_ben = await agent.token(await delegated(ben, agent, *CODES, "system:menu:list", askMe=[ASKED]))
    assert await workers.statuses(of_ben, "/api/menu/list") == [200, 200]
    assert await workers.statuses(of_ann, "/api/menu/list") == [403, 403]
    path, body = f"/api/user/{ann.user_id}", {"nickName": "Ann"}
    refused = await workers.first.ask("PATCH", path, body, token=of_ann)
    await _decide(ann, refused, "once")
    # The approval of one is of no use to the other, whose own call waits.
    others = await workers.second.ask("PATCH", path, body, token=of_ben)
    assert (others.code, others.json["approval"] == refused.json["approval"]) == ("approval_required", False)
    assert (await workers.second.ask("PATCH", path, body, token=of_ann)).status == 200
