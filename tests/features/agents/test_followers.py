"""Followers decide about tokens of agents as the hub does, as long as they know the delegations."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.features.follower import protocol
from service.features.follower.following import Follower
from service.features.follower.library import point_of
from service.features.follower.point import AtLeast
from service.features.follower.protocol import DelegationRecord
from service.features.follower.server import PdpApp
from service.features.follower.state import DivergedError
from tests.features.agents.conftest import APPROVALS, DELEGATION, DELEGATIONS, EXCHANGE
from tests.features.follower.conftest import House, HubTransport
from tests.features.follower.conftest import furnished_site as furnished_site  # noqa: PLC0414 - a fixture
from tests.features.follower.conftest import house as house  # noqa: PLC0414 - a fixture
from tests.features.follower.test_tokens import asked, hub_reason, refused
from tests.features.personal_keys.test_end_of_keys import ENDS
from tests.features.service_accounts.conftest import Workers
from tests.support.members import Member, member, query

READ, WRITE = "orders:order:read", "orders:order:write"


@dataclass
class Acting:
    """An agent with a token for a person."""

    house: House
    owner: Member
    person: Member
    agent_id: int
    agent_role: int
    name: str
    key: str
    delegation: int = 0
    token: str = ""

    async def delegate(self, *codes: str, **more: Any) -> None:
        """Let the person delegate anew, and exchange the delegation for a token."""
        order = {"agentId": self.agent_id, "codes": list(codes), "services": ["orders"], "expiresIn": 600}
        made = await self.person.ask("POST", DELEGATIONS, order | more)
        assert made.status == 201, made.body
        self.delegation = made.json["data"]["id"]
        self.token = await exchanged(self.house, self.name, self.key, self.delegation)


async def exchanged(house: House, name: str, key: str, delegation: int) -> str:
    form = {
        "grant_type": EXCHANGE,
        "client_id": name,
        "client_secret": key,
        "subject_token": str(delegation),
        "subject_token_type": DELEGATION,
    }
    answer = await house.hub.as_anonymous_form("/oauth/token", form)
    assert answer.status == 200, answer.body
    token: str = answer.json["access_token"]
    return token


async def acting(house: House, name: str, *codes: str, **more: Any) -> Acting:
    """Make an agent of an owner, and a person who delegates ``codes``; both hold all codes of the service."""
    role = await house.role(f"acting-{name}", *house.buttons.values())
    agent_id, key = await house.account(f"agent-{name}", role)
    owner = await member(house.hub, f"owner-{name}")
    await house.data("PUT", f"/api/agent/{agent_id}", {"ownerId": owner.user_id})
    person = await member(house.hub, f"person-{name}", *house.buttons)
    made = Acting(house, owner, person, agent_id, role, f"agent-{name}", key)
    await made.delegate(*(codes or (READ,)), **more)
    return made


async def test_a_follower_decides_about_the_token_of_an_agent_as_the_hub_does(house: House) -> None:
    made = await acting(house, "first", READ)
    async with house.follower(house.evaluator) as follower:
        point = follower.point
        assert point.evaluate(asked(made.token)).reason == "stale", "before the first renewal"
        await follower.renew()
        assert await hub_reason(house, made.token) == "opened"
        assert point.evaluate(asked(made.token)).reason == "opened"
        denied = point.evaluate(asked(made.token, "POST", "/orders"))
        assert denied.decision is not None
        assert (denied.allowed, denied.decision.denied_by) == (False, ("delegation",))
        caller = point.identify(made.token)
        assert caller is not None
        assert caller.agent is not None
        assert (caller.user_id, caller.agent.agent_id) == (made.person.user_id, made.agent_id)
        assert point.identify(made.token) is caller, "made once while nothing changes"
        # Each of the three is asked at each moment.
        await house.data("PUT", f"/api/role/{made.agent_role}/permissions", {"menuIds": []})
        await follower.renew(wait=False)
        denied = point.evaluate(asked(made.token))
        assert denied.decision is not None
        assert denied.decision.denied_by == ("agent",)
        assert await hub_reason(house, made.token) == denied.reason == "not_held"


async def test_a_delegation_for_another_service_opens_nothing(house: House) -> None:
    made = await acting(house, "elsewhere", READ, services=["portcullis"])
    async with house.follower(house.evaluator) as follower:
        await follower.renew()
        answer = follower.point.evaluate(asked(made.token))
        assert (answer.allowed, answer.reason) == (False, await hub_reason(house, made.token))
        assert answer.decision is not None
        assert answer.decision.object == "act-for other-service"


FORWARD = "/access/v1/forward/nginx/orders"


def forwarding(token: str) -> dict[str, str]:
    return {
        "X-Original-Method": "GET",
        "X-Original-URI": "/orders/7",
        "X-Original-Host": "localhost",
        "Authorization": f"Bearer {token}",
    }


@contextlib.asynccontextmanager
async def beside(follower: Follower) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(PdpApp(follower))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def test_a_proxy_learns_the_person_of_an_agent_without_name_and_roles(house: House) -> None:
    made = await acting(house, "forwarded", READ)
    async with (
        house.following(house.evaluator, hosts=("localhost",)) as follower,
        beside(follower) as client,
    ):
        passed = await client.get(FORWARD, headers=forwarding(made.token))
        assert passed.status_code == 200, passed.text
        names = ("x-portcullis-user", "x-portcullis-user-id", "x-portcullis-roles")
        assert [passed.headers[name] for name in names] == ["", str(made.person.user_id), ""]
        headers = {"X-Portcullis-Key": house.evaluator} | forwarding(made.token)
        of_hub = await house.hub.as_anonymous("GET", FORWARD, *headers.items())
        decision = "x-portcullis-decision"
        assert dict(of_hub.headers)[decision] == passed.headers[decision]
        assert (await made.person.ask("DELETE", f"{DELEGATIONS}/{made.delegation}")).status == 200
        await refused(follower.point, made.token)
        answer = await client.get(FORWARD, headers=forwarding(made.token))
        assert (answer.status_code, answer.json()["code"]) == (401, "token_invalid")


async def test_a_follower_denies_what_needs_an_approval_and_uses_none(house: House) -> None:
    made = await acting(house, "asking", READ, askMe=[READ])
    headers = {"X-Portcullis-Key": house.evaluator} | forwarding(made.token)

    async def of_hub() -> Any:
        return await house.hub.as_anonymous("GET", FORWARD, *headers.items())

    link = (await of_hub()).json["link"]
    (waiting,) = (await made.person.ask("GET", APPROVALS)).json["data"]["items"]
    verdict = {"decision": "once", "digest": waiting["digest"]}
    number = link.rpartition("/")[2]
    assert (await made.person.ask("POST", f"{APPROVALS}/{number}", verdict)).status == 200
    async with (
        house.following(house.evaluator, hosts=("localhost",)) as follower,
        beside(follower) as client,
    ):
        denied = follower.point.evaluate(asked(made.token))
        assert denied.decision is not None
        assert (denied.allowed, denied.decision.denied_by) == (False, ("approval",))
        assert denied.reason == await hub_reason(house, made.token)
        refusal = await client.get(FORWARD, headers=forwarding(made.token))
        problem = refusal.json()
        assert (refusal.status_code, problem["code"]) == (403, "permission_denied")
        assert (problem["detailCode"], problem["deniedBy"]) == ("approval_not_here", ["approval"])
        # What the agent's roles do not allow is denied without a word about approvals.
        await house.data("PUT", f"/api/role/{made.agent_role}/permissions", {"menuIds": []})
        await asyncio.sleep(follower.point.lease.bound)
        refusal = await client.get(FORWARD, headers=forwarding(made.token))
        assert refusal.json()["detailCode"] != "approval_not_here"
        menus = list(house.buttons.values())
        await house.data("PUT", f"/api/role/{made.agent_role}/permissions", {"menuIds": menus})
    assert (await of_hub()).status == 200, "the approval was not used up"


async def _ended(made: Acting) -> Any:
    return await made.person.ask("DELETE", f"{DELEGATIONS}/{made.delegation}")


async def _ended_by_others(made: Acting) -> Any:
    return await made.house.hub.ask("DELETE", f"/api/agent/delegation/{made.delegation}")


async def _switched(made: Acting) -> Any:
    return await made.house.hub.ask("PUT", f"/api/agent/{made.agent_id}/enabled", {"enabled": False})


async def _all_switched(made: Acting) -> Any:
    return await made.house.hub.ask("PUT", "/api/agent/switch", {"enabled": False})


async def _removed(made: Acting) -> Any:
    return await made.house.hub.ask("DELETE", f"/api/agent/{made.agent_id}")


async def _agent_disabled(made: Acting) -> Any:
    return await made.house.hub.ask("PUT", f"/api/user/{made.agent_id}/status", {"status": "disabled"})


async def _agent_deleted(made: Acting) -> Any:
    return await made.house.hub.ask("DELETE", f"/api/user/{made.agent_id}")


async def _key_deleted(made: Acting) -> Any:
    key_id = made.key.split("_")[1]
    return await made.house.hub.ask("DELETE", f"/api/user/{made.agent_id}/keys/{key_id}")


async def _owner_disabled(made: Acting) -> Any:
    target = f"/api/user/{made.owner.user_id}/status"
    return await made.house.hub.ask("PUT", target, {"status": "disabled"})


async def _owner_banned(made: Acting) -> Any:
    return await made.house.hub.ask("POST", f"/api/online/{made.owner.user_id}/ban", {"reason": "test"})


async def _owner_deleted(made: Acting) -> Any:
    return await made.house.hub.ask("DELETE", f"/api/user/{made.owner.user_id}")


LEAVES: list[Callable[[Acting], Awaitable[Any]]] = [
    _ended,
    _ended_by_others,
    _switched,
    _all_switched,
    _removed,
    _agent_disabled,
    _agent_deleted,
    _key_deleted,
    _owner_disabled,
    _owner_banned,
    _owner_deleted,
]


@pytest.mark.parametrize("leave", LEAVES, ids=lambda leave: leave.__name__.strip("_"))
async def test_tokens_of_an_agent_end_within_the_bound(
    house: House, leave: Callable[[Acting], Awaitable[Any]]
) -> None:
    made = await acting(house, leave.__name__.strip("_").replace("_", "-"))
    try:
        async with house.following() as follower:
            assert follower.point.evaluate(asked(made.token)).allowed
            assert (await leave(made)).status in (200, 204)
            assert await hub_reason(house, made.token) == "subject_not_active"
            await refused(follower.point, made.token)
            if leave in (_owner_disabled, _owner_banned):
                # The suspension stays when the owner comes back.
                owner = made.owner.user_id
                await house.hub.ask("PUT", f"/api/user/{owner}/status", {"status": "enabled"})
                await house.hub.ask("DELETE", f"/api/online/{owner}/ban")
                await follower.renew(wait=False)
                assert follower.point.evaluate(asked(made.token)).reason == "subject_not_active"
                await house.data("PUT", f"/api/agent/{made.agent_id}", {"ownerId": 1})
                await follower.renew(wait=False)
                assert follower.point.evaluate(asked(made.token)).allowed
    finally:
        await house.data("PUT", "/api/agent/switch", {"enabled": True})


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__.strip("_"))
async def test_a_delegation_ends_within_the_bound_after_the_access_of_its_person(
    house: House, end: Callable[[Workers, Member], Awaitable[Any]]
) -> None:
    made = await acting(house, f"away{ENDS.index(end)}")
    async with house.following() as follower:
        assert follower.point.evaluate(asked(made.token)).allowed
        answer = await end(Workers(house.hub, house.hub), made.person)
        assert answer.status in (200, 204), answer.body
        assert await hub_reason(house, made.token) == "subject_not_active"
        await refused(follower.point, made.token)


async def test_a_delegation_ends_at_its_instant_though_nothing_is_sent(house: House) -> None:
    made = await acting(house, "expiring")
    rows = "UPDATE sys.delegation SET until = now() + interval '1 second' WHERE id = %s RETURNING id"
    await query(house.hub, rows, made.delegation)  # an edit by hand is followed too
    async with house.follower(bound=30.0) as follower:
        await follower.renew()
        assert follower.point.evaluate(asked(made.token)).allowed
        await asyncio.sleep(1.2)
        assert follower.point.lease.holds()
        assert follower.point.evaluate(asked(made.token)).reason == "subject_not_active"


@pytest.mark.parametrize("target", ["/api/agent/{id}/enabled", "/api/agent/switch"])
async def test_a_question_can_demand_a_switch(house: House, target: str) -> None:
    made = await acting(house, f"demanded{len(target)}")
    async with house.follower() as follower:
        await follower.renew()
        for enabled in (False, True):
            answer = await house.hub.ask("PUT", target.format(id=made.agent_id), {"enabled": enabled})
            least = AtLeast(rights=int(dict(answer.headers)["portcullis-rights"]))
            assert not follower.point.has(least)
            await follower.renew(wait=False)
            assert follower.point.has(least)
            assert follower.point.evaluate(asked(made.token)).allowed is enabled


async def test_the_switch_of_all_agents_ends_remembered_answers(house: House) -> None:
    made = await acting(house, "again")
    question = {
        "subject": {"type": "token", "id": made.token},
        "action": {"name": "GET"},
        "resource": {"type": "route", "id": "/orders/7"},
    }
    async with house.follower(bound=30.0, hosts=("localhost",)) as follower, beside(follower) as client:
        await follower.renew()
        users = follower.point.state.users
        switch = (
            "INSERT INTO sys.agent_switch (enabled) VALUES (%s)"
            " ON CONFLICT (id) DO UPDATE SET enabled = excluded.enabled"
        )
        for enabled in (True, False, True):
            await query(house.hub, switch, enabled)  # by hand: it comes with no other change
            await follower.renew(wait=False)
            for _ in range(2):
                answer = await client.post("/access/v1/evaluation", json=question)
                assert answer.json()["decision"] is enabled
            assert follower.point.state.users is users, "read anew"


async def test_without_a_lease_agents_are_refused_though_the_last_known_is_answered(house: House) -> None:
    made = await acting(house, "stale")
    async with house.follower(stale="last-known") as follower:
        point = follower.point
        await follower.renew()
        assert point.evaluate(asked(made.token)).allowed
        assert point.evaluate(asked(made.person.token)).allowed
        point.lease.give_up()
        assert point.evaluate(asked(made.person.token)).allowed, "the last known"
        assert point.evaluate(asked(made.token)).reason == "subject_not_active"
        assert point.identify(made.token) is None


async def test_a_file_keeps_delegations(house: House, tmp_path: Path) -> None:
    made = await acting(house, "kept")
    file = tmp_path / "policy"
    async with house.follower(file=file) as follower:
        await follower.renew()
        follower.keep_now()
    async with house.follower(file=file) as follower:
        assert follower.restore()
        assert follower.point.evaluate(asked(made.token)).reason == "stale"
        before = follower.point.state.delegations
        await follower.renew()
        assert follower.point.state.delegations is before, "not read anew"
        assert follower.point.evaluate(asked(made.token)).allowed


async def test_delegations_are_read_in_parts(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [await acting(house, f"part-{number}") for number in range(4)]
    monkeypatch.setattr(protocol, "MOST_RECORDS", 3)
    async with house.follower(house.evaluator) as follower:
        await follower.renew(wait=False)
        for each in made:
            assert follower.point.evaluate(asked(each.token)).allowed
            assert (await each.person.ask("DELETE", f"{DELEGATIONS}/{each.delegation}")).status == 200
        await made[0].delegate(READ)
        await follower.renew(wait=False)
        allowed = [follower.point.evaluate(asked(each.token)).allowed for each in made]
        assert allowed == [True, False, False, False]


async def renewed(follower: Follower, times: int) -> None:
    for _ in range(times):
        await follower.renew(wait=False)


async def test_delegations_that_are_not_those_of_the_hub_are_read_anew(house: House) -> None:
    made = await acting(house, "forged")
    async with house.follower() as follower:
        state, point = follower.point.state, follower.point
        await follower.renew()
        forged = DelegationRecord(10**6, made.person.user_id, made.agent_id, ("*",), (), ("orders",), 9e9)
        state.delegations[made.person.user_id][forged.id] = forged
        with pytest.raises(DivergedError):
            await renewed(follower, 20)
        assert not point.lease.holds()
        assert not state.delegations
        await follower.renew()
        assert [*state.delegations[made.person.user_id]] == [made.delegation]


class OfAnEarlierVersion(httpx.AsyncBaseTransport):
    """Carries renewals as an earlier version writes them, and keeps the answers."""

    def __init__(self, transport: HubTransport) -> None:
        self._transport = transport
        self.answers: list[Any] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        content = json.loads(request.content)
        del content["acting"]
        sent = httpx.Request(request.method, request.url, headers=request.headers, json=content)
        answer = await self._transport.handle_async_request(sent)
        self.answers.append(json.loads(await answer.aread()))
        return answer


async def test_a_follower_of_an_earlier_version_is_sent_nothing_of_agents(house: House) -> None:
    made = await acting(house, "earlier")
    transport, settings = OfAnEarlierVersion(house.transport), house.settings(house.key)
    async with Follower(settings, point_of(settings), transport) as follower:
        await follower.renew()
        await made.delegate(READ)
        await follower.renew(wait=False)
        assert follower.point.evaluate(asked(made.person.token)).allowed
        # So does a follower of this version whose hub is of an earlier one.
        assert follower.point.evaluate(asked(made.token)).reason == "subject_not_active"
        assert [answer.get("reset", False) for answer in transport.answers].count(True) <= 1
        text = json.dumps(transport.answers)
        assert "act-for" not in text
        assert not any(name in answer for answer in transport.answers for name in ("acting", "agents"))
        assert not any("delegations" in answer for answer in transport.answers)
        sent = [user[0] for answer in transport.answers for user in answer.get("users", ())]
        assert made.person.user_id in sent


async def test_beside_a_node_of_an_earlier_version_agents_are_refused(house: House) -> None:
    made = await acting(house, "mixed")
    worker = "earlier:1:00"
    added = "INSERT INTO sys.policy_worker (worker, revision, facts) VALUES (%s, 1, %s) RETURNING worker"
    facts = json.dumps({"version": "0.3.0", "settings": {}, "parts": {}, "knows": []})
    async with house.follower() as follower:
        await follower.renew()
        assert follower.point.evaluate(asked(made.token)).allowed
        try:
            await query(house.hub, added, worker, facts)
            for _ in range(2):
                await follower.renew(wait=False)
                assert follower.point.evaluate(asked(made.person.token)).allowed
                assert follower.point.evaluate(asked(made.token)).reason == "subject_not_active"
        finally:
            await query(house.hub, "DELETE FROM sys.policy_worker WHERE worker = %s RETURNING 1", worker)
        await follower.renew(wait=False)
        assert follower.point.evaluate(asked(made.token)).allowed


async def test_an_emptied_table_of_delegations_is_noticed(house: House) -> None:
    made = await acting(house, "emptied")
    async with house.follower() as follower:
        await follower.renew()
        assert follower.point.evaluate(asked(made.token)).allowed
        await query(house.hub, "TRUNCATE sys.agent_approval, sys.delegation; SELECT 1")
        await follower.renew(wait=False)
        assert follower.point.evaluate(asked(made.token)).reason == "subject_not_active"
