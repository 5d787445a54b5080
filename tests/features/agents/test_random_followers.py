"""Random questions about agents, between changes: a follower answers them as the hub does, to the id."""

import contextlib
import os
from collections.abc import Sequence
from typing import Any

import pytest

from service.features.follower.point import Evaluated
from tests.features.agents.conftest import DELEGATIONS
from tests.features.agents.test_followers import exchanged
from tests.features.follower.conftest import House, log_in
from tests.features.follower.conftest import furnished_site as furnished_site  # noqa: PLC0414 - a fixture
from tests.features.follower.conftest import house as house  # noqa: PLC0414 - a fixture
from tests.features.follower.test_equality import CODES, World, compared


class WorldOfAgents(World):
    """A random service with agents: most questions are about their tokens."""

    def __init__(self, house: House, seed: int) -> None:
        super().__init__(house, seed)
        self.agents: dict[int, tuple[str, str]] = {}
        self.delegations: list[int] = []
        self.ended = 0

    async def build(self) -> None:
        await super().build()
        for number in range(3):
            name, role = f"world-agent-{number}", self.random.choice(self.roles)
            agent_id, key = await self.house.account(name, role)
            await self.house.data("PUT", f"/api/agent/{agent_id}", {"ownerId": 1})
            self.agents[agent_id] = name, key

    async def new_tokens(self) -> list[str]:
        tokens, choice = await super().new_tokens(), self.random
        for name in choice.sample(list(self.users), 12):
            agent_id = choice.choice(list(self.agents))
            with contextlib.suppress(AssertionError):  # the person or the agent is disabled, or off
                number = await self.delegated(await log_in(self.house.hub, name), agent_id)
                tokens.append(await exchanged(self.house, *self.agents[agent_id], number))
        return tokens

    async def delegated(self, session: str, agent_id: int) -> int:
        choice = self.random
        held = (await self.house.hub.ask("GET", "/api/user/info", token=session)).json["data"]["permissions"]
        near = [code for code in (CODES if "*" in held else held) if code != "*"]
        assert near, "a person without codes"
        codes = choice.sample(near, choice.randint(1, min(5, len(near))))
        order = {
            "agentId": agent_id,
            "codes": codes,
            "askMe": choice.sample(codes, choice.randrange(2)),
            "services": choice.choice([["orders"], ["orders"], ["orders"], ["portcullis"]]),
            "expiresIn": 600,
        }
        made = await self.house.hub.ask("POST", DELEGATIONS, order, token=session)
        assert made.status == 201, made.body
        number: int = made.json["data"]["id"]
        self.delegations.append(number)
        return number

    async def change(self) -> None:
        choice, hub = self.random, self.house.hub
        if choice.random() < 0.5:
            await super().change()
            return
        agent_id = choice.choice(list(self.agents))
        requests: list[tuple[str, str, Any]] = [
            ("PUT", f"/api/agent/{agent_id}/enabled", {"enabled": choice.random() < 0.8}),
            ("PUT", "/api/agent/switch", {"enabled": choice.random() < 0.8}),
            ("PUT", f"/api/user/{agent_id}/status", {"status": choice.choice(["enabled", "disabled"])}),
            ("PATCH", f"/api/user/{agent_id}", {"roleIds": choice.sample(self.roles, 2)}),
        ]
        if self.delegations and choice.random() < 0.4:
            number = self.delegations.pop(choice.randrange(len(self.delegations)))
            answer = await hub.ask("DELETE", f"/api/agent/delegation/{number}")
            self.ended += answer.status == 200
            return
        await hub.ask(*choice.choice(requests))
        if choice.random() < 0.5:  # most of the time agents are on
            await hub.ask("PUT", "/api/agent/switch", {"enabled": True})
            await hub.ask("PUT", f"/api/agent/{agent_id}/enabled", {"enabled": True})
            await hub.ask("PUT", f"/api/user/{agent_id}/status", {"status": "enabled"})

    def subject(self, tokens: Sequence[str]) -> dict[str, str]:
        if self.random.random() < 0.2:
            return super().subject(tokens)
        return {"type": "token", "id": self.random.choice(tokens[-45:])}  # the delegations of older ones end

    def kinds(self, event: dict[str, Any], evaluated: Evaluated) -> list[str]:
        caller, decision = evaluated.caller, evaluated.answer.decision
        if caller is None or caller.agent is None:
            return ["no agent"]
        if evaluated.answer.allowed:
            return ["allowed"]
        return [event["reason"], *(() if decision is None else decision.denied_by)]


async def test_answers_about_agents_are_those_of_the_hub_through_changes(house: House) -> None:
    world = WorldOfAgents(house, 4711)
    kinds = await compared(world, 9, 20)
    assert world.ended >= 3
    kinds_expected = {"allowed", "no agent", "account", "agent", "delegation", "approval", "other_service"}
    assert kinds_expected <= set(kinds), kinds


@pytest.mark.extended
async def test_twenty_thousand_answers_about_agents_are_those_of_the_hub(house: House) -> None:
    seed = int(os.environ.get("PDP_SEED", "1"))
    kinds = await compared(WorldOfAgents(house, seed), 200, 100)
    assert min(kinds["allowed"], kinds["approval"], kinds["agent"], kinds["delegation"]) > 100, kinds
