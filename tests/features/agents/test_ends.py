"""Tokens of agents end with the delegation, the agent, its owner, its key and the access of the person."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.features.agents.conftest import DELEGATIONS, LIST, Agent, agent_of, delegated
from tests.features.personal_keys.test_end_of_keys import ENDS
from tests.features.service_accounts.conftest import Workers
from tests.support.members import Member, member, query


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__.strip("_"))
async def test_a_delegation_ends_for_good_with_the_access_of_its_person(
    workers: Workers, end: Callable[[Workers, Member], Awaitable[Any]]
) -> None:
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, f"away{ENDS.index(end)}", LIST)
    number = await delegated(person, agent, LIST)
    token = await agent.token(number)
    assert await workers.statuses(token) == [200, 200]
    answer = await end(workers, person)
    assert answer.status in (200, 204), answer.body
    assert await workers.statuses(token) == [401, 401]
    assert (await agent.exchanged(number)).status == 400
    rows = "SELECT id FROM sys.delegation WHERE user_id = %s"
    assert await query(workers.first, rows, person.user_id) == []


async def test_a_kick_that_finds_no_session_ends_delegations(workers: Workers) -> None:
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "gone-home", LIST)
    token = await agent.token(await delegated(person, agent, LIST))
    assert (await person.ask("POST", "/api/auth/logout")).status == 200
    assert await workers.statuses(token) == [200, 200]

    assert (await workers.second.ask("DELETE", f"/api/online/{person.user_id}")).status == 404

    assert await workers.statuses(token) == [401, 401]


async def _switched(workers: Workers, agent: Agent, _owner: Member) -> None:
    await workers.second.data("PUT", f"/api/agent/{agent.id}/enabled", {"enabled": False})


async def _all_switched(workers: Workers, _agent: Agent, _owner: Member) -> None:
    await workers.second.data("PUT", "/api/agent/switch", {"enabled": False})


async def _removed(workers: Workers, agent: Agent, _owner: Member) -> None:
    await workers.second.data("DELETE", f"/api/agent/{agent.id}")


async def _disabled(workers: Workers, agent: Agent, _owner: Member) -> None:
    await workers.second.data("PUT", f"/api/user/{agent.id}/status", {"status": "disabled"})


async def _key_deleted(workers: Workers, agent: Agent, _owner: Member) -> None:
    await workers.second.data("DELETE", f"/api/user/{agent.id}/keys/{agent.key.split('_')[1]}")


async def _owner_disabled(workers: Workers, _agent: Agent, owner: Member) -> None:
    await workers.second.data("PUT", f"/api/user/{owner.user_id}/status", {"status": "disabled"})


async def _owner_banned(workers: Workers, _agent: Agent, owner: Member) -> None:
    await workers.second.data("POST", f"/api/online/{owner.user_id}/ban", {"reason": "test"})


async def _owner_deleted(workers: Workers, _agent: Agent, owner: Member) -> None:
    await workers.second.data("DELETE", f"/api/user/{owner.user_id}")


LEAVES: list[Callable[[Workers, Agent, Member], Awaitable[None]]] = [
    _switched,
    _all_switched,
    _removed,
    _disabled,
    _key_deleted,
    _owner_disabled,
    _owner_banned,
    _owner_deleted,
]


@pytest.mark.parametrize("leave", LEAVES, ids=lambda leave: leave.__name__.strip("_"))
async def test_tokens_of_an_agent_end_with_it_its_key_and_its_owner(
    workers: Workers, leave: Callable[[Workers, Agent, Member], Awaitable[None]]
) -> None:
    place = LEAVES.index(leave)
    owner = await member(workers.first, f"owner{place}")
    agent = await agent_of(workers, LIST, owner_id=owner.user_id)
    person = await member(workers.first, f"left{place}", LIST)
    number = await delegated(person, agent, LIST)
    token = await agent.token(number)
    assert await workers.statuses(token) == [200, 200]
    try:
        await leave(workers, agent, owner)
        assert await workers.statuses(token) == [401, 401]
        assert (await agent.exchanged(number)).status == 400
        if leave in (_owner_disabled, _owner_banned):
            # The suspension stays when the owner comes back.
            await workers.first.data("PUT", f"/api/user/{owner.user_id}/status", {"status": "enabled"})
            await workers.first.data("DELETE", f"/api/online/{owner.user_id}/ban")
            assert await workers.statuses(token) == [401, 401]
            await workers.first.data("PUT", f"/api/agent/{agent.id}", {"ownerId": 1})
            assert await workers.statuses(token) == [200, 200]
    finally:
        await workers.first.data("PUT", "/api/agent/switch", {"enabled": True})


async def test_a_role_that_the_person_or_the_agent_loses_is_lost_at_once(workers: Workers) -> None:
    for loses in ("person", "agent"):
        agent = await agent_of(workers, LIST)
        person = await member(workers.first, f"less-{loses}", LIST)
        token = await agent.token(await delegated(person, agent, "system:*"))
        assert await workers.statuses(token) == [200, 200]
        role_id = person.role_id if loses == "person" else agent.account.role_id
        await workers.first.data("PUT", f"/api/role/{role_id}/permissions", {"menuIds": []})
        assert await workers.statuses(token) == [403, 403]


async def test_no_request_passes_after_the_end_of_a_delegation_was_answered(workers: Workers) -> None:
    """Requests of both workers run all the time: each that begins after the answer is refused."""
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "race", LIST)
    for _ in range(10):
        number = await delegated(person, agent, LIST)
        token = await agent.token(number)
        ended = asyncio.Event()
        stale: list[int] = []

        async def use(token: str, ended: asyncio.Event, stale: list[int]) -> None:
            for _ in range(200):
                begun_after = ended.is_set()
                statuses = await workers.statuses(token)
                if begun_after:
                    stale += [status for status in statuses if status == 200]
                    return

        using = [asyncio.create_task(use(token, ended, stale)) for _ in range(3)]
        await asyncio.sleep(0.01)
        assert (await person.ask("DELETE", f"{DELEGATIONS}/{number}")).status == 200
        ended.set()
        await asyncio.gather(*using)
        assert stale == []
