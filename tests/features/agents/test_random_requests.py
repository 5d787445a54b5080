"""Random requests of agents over HTTP, with changes in between, on two nodes.

The expected answers are a statement of ``docs/reference/agents.md``. A request passes if the delegation is in
force and its agent may act, and if the codes that the person and the agent hold at that instant and those of
the delegation each open the resource and the endpoint. Without an approval, codes of the delegation outside
``askMe`` have to open them too.
"""

import random
import time
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.features.agents.conftest import Agent, agent_of
from tests.features.personal_keys import test_random_questions as keys
from tests.features.personal_keys.test_random_questions import CODES, PATHS, SCOPES, Person
from tests.features.service_accounts.conftest import Workers
from tests.support import rules_oracle as oracle
from tests.support.members import query

RENEWED: Final = 600.0
"""Seconds after which a token is exchanged again, and the administrator logs in again."""
LEAST: Final = 12
"""The least number of delegations in force after a restoration."""
NEAR: Final = 0.5
"""Seconds around the end of a delegation in which nothing is asked."""
ADD: Final = (
    "INSERT INTO sys.delegation (user_id, agent_id, codes, ask_me, services, until)"
    " VALUES (%s, %s, %s, %s, %s, now() + make_interval(secs => %s))"
    " RETURNING id, extract(epoch FROM until)::float8"
)
ONCE: Final = (
    "UPDATE sys.agent_approval SET state = 'once', until = now() + interval '1 minute' WHERE id = %s"
)


@dataclass(eq=False)
class Acting:
    """An agent, the codes of its role, the scopes of its key, and its switch."""

    agent: Agent
    codes: set[str]
    scopes: set[str] | None = None
    enabled: bool = True


@dataclass(eq=False)
class Delegated:
    """A delegation until an instant, and the token of its agent."""

    id: int
    person: Person
    acting: Acting
    codes: set[str]
    ask_me: set[str]
    services: list[str]
    until: float
    token: str
    made: float
    ended: bool = False


class World(keys.World):
    """People of the random questions about keys, and agents that act for them."""

    def __init__(self, workers: Workers, seed: int) -> None:
        super().__init__(workers, seed)
        self.agents: list[Acting] = []
        self.delegations: list[Delegated] = []
        self.all_on = True

    async def begin(self) -> None:
        """Make the agents too, each with a role of its own."""
        await super().begin()
        for _ in range(4):
            acting = Acting(await agent_of(self.workers), set())
            self.agents.append(acting)
            await self.refill(acting)
        for person in self.people:
            for _ in range(2):
                await self.delegate(person)

    async def make_key(self, _person: Person) -> None:
        """Make none: the questions are about agents."""

    async def change(self) -> None:
        """Make one random change; each is answered before the next question."""
        person, acting = self.random.choice(self.people), self.random.choice(self.agents)
        match self.random.randrange(12):
            case 0 | 1:
                await self.fill(self.random.choice(list(self.roles)))
            case 2 | 3:
                await self.give(person)
            case 4:
                await self.give_for_a_time(person)
            case 5 | 6:
                await self.refill(acting)
            case 7:
                await self.delegate(person)
            case 8:
                await self.end_one(person)
            case 9:
                await self.switch(acting)
            case 10:
                await self.end_sessions(person)
            case _:
                await self.disable_for_a_moment(person)

    async def refill(self, acting: Acting) -> None:
        """Give the role of an agent other codes, and sometimes its key other scopes."""
        codes = set(self.random.sample(keys.HELD, self.random.choice([0, 1, 2, 3])))
        if self.random.random() < 0.5:
            codes.add("system:*")
        menu_ids = [self.buttons[code] for code in codes]
        role_id = acting.agent.account.role_id
        await self._service.data("PUT", f"/api/role/{role_id}/permissions", {"menuIds": menu_ids})
        acting.codes = codes
        if self.random.random() < 0.2:
            old = acting.agent.key.split("_")[1]
            await self._service.data("DELETE", f"/api/user/{acting.agent.id}/keys/{old}")
            scopes = sorted(self.random.sample(SCOPES, 3)) if self.random.random() < 0.5 else None
            acting.agent.key = await self.workers.key(acting.agent.account, scopes=scopes)
            acting.scopes = None if scopes is None else set(scopes)
            for each in self.delegations:  # the tokens belong to the deleted key
                each.ended = each.ended or each.acting is acting

    async def delegate(self, person: Person) -> None:
        """Let a person delegate to an agent, past the API, which asks for a fresh login."""
        acting = self.random.choice(self.agents)
        if not (person.enabled and acting.enabled and self.all_on):
            return
        codes = set(self.random.sample(SCOPES, self.random.choice([1, 2, 2, 3])))
        ask_me = (
            set(self.random.sample(SCOPES, self.random.choice([1, 2])))
            if self.random.random() < 0.3
            else set()
        )
        services = ["orders"] if self.random.random() < 0.1 else ["portcullis"]
        lasts = self.random.choice([2.0, 5.0, 3600.0, 3600.0])
        values = (person.id, acting.agent.id, sorted(codes), sorted(ask_me), services, lasts)
        ((number, until),) = await query(self.workers.first, ADD, *values)
        token = await acting.agent.token(number)
        self.delegations.append(
            Delegated(number, person, acting, codes, ask_me, services, until, token, time.time())
        )

    async def end_one(self, person: Person) -> None:
        """End a delegation of a person."""
        mine = [each for each in self.delegations if each.person is person and not each.ended]
        if mine and (each := self.random.choice(mine)).until > time.time() + NEAR:
            await self._service.data("DELETE", f"/api/agent/delegation/{each.id}")
            each.ended = True

    async def switch(self, acting: Acting) -> None:
        """Switch an agent, or all of them."""
        if self.random.random() < 0.3:
            self.all_on = not self.all_on
            await self._service.data("PUT", "/api/agent/switch", {"enabled": self.all_on})
            return
        await self.switch_one(acting)

    async def switch_one(self, acting: Acting) -> None:
        """Switch one agent on or off."""
        acting.enabled = not acting.enabled
        path = f"/api/agent/{acting.agent.id}/enabled"
        await self._service.data("PUT", path, {"enabled": acting.enabled})

    async def restore(self) -> None:
        """Switch agents on again, and delegate where few delegations are in force."""
        if not self.all_on:
            self.all_on = True
            await self._service.data("PUT", "/api/agent/switch", {"enabled": True})
        for acting in self.agents:
            if not acting.enabled:
                await self.switch_one(acting)
        now = time.time()
        in_force = [each for each in self.delegations if not each.ended and each.until > now]
        while len(in_force) < LEAST:
            before = len(self.delegations)
            await self.delegate(self.random.choice(self.people))
            in_force += self.delegations[before:]

    async def end_sessions(self, person: Person) -> None:
        """End all sessions of a person, and so all delegations."""
        await self._service.data("POST", "/api/user/bulk/end-sessions", {"ids": [person.id]})
        self._end_all(person)
        await self.delegate(person)

    async def disable_for_a_moment(self, person: Person) -> None:
        """Disable a person, whose delegations end for good, or enable a disabled one."""
        status = "disabled" if person.enabled else "enabled"
        await self._service.data("PUT", f"/api/user/{person.id}/status", {"status": status})
        person.enabled = not person.enabled
        self._end_all(person)
        await self.delegate(person)

    def _end_all(self, person: Person) -> None:
        for each in self.delegations:
            each.ended = each.ended or each.person is person

    async def request(self) -> tuple[Any, Any] | None:
        """Send a random request; return the answer and the expected one, None if it was not sent."""
        now = time.time()
        lasting = [each for each in self.delegations if not each.ended and each.until > now]
        over = [each for each in self.delegations if each not in lasting]
        self.delegations = [*lasting[-60:], *over[-4:]]
        if not self.delegations:
            return None
        each = self.random.choice(self.delegations)
        if abs(each.until - now) < NEAR:
            return None
        in_force = not each.ended and each.until > now
        acts = self.all_on and each.acting.enabled
        if in_force and acts and now - each.made > RENEWED:
            each.token, each.made = await each.acting.agent.token(each.id), now
        path = self.random.choice(PATHS)
        before = self.held(each.person, now)
        answer = await self._service.ask("GET", path, token=each.token)
        after = time.time()
        if before is None or self.held(each.person, after) != before or abs(each.until - after) < NEAR:
            return None
        if not (in_force and acts):
            why = (each.ended, each.until - now, self.all_on, each.acting.enabled)
            return (answer.status, why), (401, why)
        expected = self.expected(each, path, before)
        answered: tuple[Any, ...] = (answer.status,)
        if answer.status == 403:
            answered = (answer.status, answer.code, answer.json.get("layer"), answer.json.get("deniedBy"))
        if expected == APPROVAL and answered[:2] == APPROVAL[:2] and self.random.random() < 0.3:
            await self.approved(each, path, answer.json["approval"])
        return answered, expected

    async def approved(self, each: Delegated, path: str, approval: int) -> None:
        """Approve a call: exactly that one passes, once, on either node."""
        await query(self.workers.first, ONCE, approval)
        assert (await self._service.ask("GET", f"{path}?other=1", token=each.token)).status == 403
        again = [(await self._service.ask("GET", path, token=each.token)).status for _ in range(2)]
        assert again == [200, 403], (again, path)

    def expected(self, each: Delegated, path: str, person: set[str]) -> tuple[Any, ...]:
        """Return the status, the code, the layer and the denying parties by the pages."""
        for asked in (True, False) if each.ask_me else (False,):
            denial = self.denial(each, path, person, asked=asked)
            if denial is None:
                return (200,) if asked or not each.ask_me else APPROVAL
            if denial[3] != ["approval"]:
                return denial
        raise AssertionError("without a question for an approval, none denies")

    def denial(self, each: Delegated, path: str, person: set[str], *, asked: bool) -> tuple[Any, ...] | None:
        """Return the first denial; ``asked``: the person has not approved the call."""
        agent = each.acting.codes
        scopes = each.acting.scopes
        for layer, codes in (("resource", self.bound.get(path, set())), ("endpoint", CODES[path])):
            if not codes or oracle.LOGIN in codes:
                continue
            within = codes if scopes is None else {code for code in codes if oracle.covers(scopes, code)}
            free = {code for code in codes if not oracle.covers(each.ask_me, code)}
            parts = [
                ("account", oracle.opens(codes, person)),
                ("agent", oracle.opens(within, agent)),
                ("delegation", oracle.opens(codes, each.codes)),
                ("approval", not asked or oracle.opens(free, each.codes)),
            ]
            if denied := [by for by, passes in parts if not passes]:
                return 403, "permission_denied", layer, denied
        if each.services != ["portcullis"]:
            closed_to = ["account", "agent", "delegation", *(["approval"] if asked else [])]
            return 403, "permission_denied", "account", closed_to
        return None


APPROVAL: Final = (403, "approval_required", None, None)


async def _compare(workers: Workers, seed: int, requests: int) -> int:
    await workers.first.data("POST", "/api/service", {"name": "orders"})
    world = World(workers, seed)
    await world.begin()
    asked, outcomes, renewed, revoked = 0, set(), time.time(), 0
    while asked < requests:
        if world.random.random() < 0.05:
            await world.change()
        if time.time() - renewed > RENEWED:
            workers.first.token = workers.second.token = await workers.first.log_in()
            renewed = time.time()
        if world.random.random() < 0.1:
            await world.restore()
        pair = await world.request()
        if pair is None:
            continue
        answer, expected = pair
        revoked += expected[0] == 401
        assert answer == expected, f"seed {seed}, request {asked}"
        outcomes.add(str(expected[0] if expected[0] == 401 else expected))
        asked += 1
    assert len(outcomes) >= 6
    assert revoked > requests / 100
    return revoked


@pytest.mark.extended
@pytest.mark.timeout(3_600)
async def test_twenty_thousand_random_requests_are_answered_as_the_page_says(workers: Workers) -> None:
    await _compare(workers, random.randrange(2**32), 20_000)
