"""A follower answers as the hub does: the same answers, by the same lines, with the same ids."""

import asyncio
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from service.features.decisions.questions import Asked, Resource, Subject
from service.features.follower.point import Evaluated
from service.laboratory.analysis.answers import Answer
from tests.features.follower.conftest import House, log_in
from tests.support.members import query

CODES = [
    *(f"orders:{noun}:{verb}" for noun in ("a", "b", "c") for verb in ("read", "write", "list")),
    *("orders:*", "orders:a:*", "orders:*:read", "*", "stock:x:y", "stock:*"),
]
PATHS = ["/a", "/a/{id}", "/a/new", "/a/{id}/b", "/{any}/x", "/b/{id}", "/c/"]
METHODS = ["GET", "POST", "DELETE", "HEAD", "PATCH"]
DEMANDS = [None, None, "login", "two-factors", "login-within-15m"]


class World:
    """A random service that changes, and questions about it."""

    def __init__(self, house: House, seed: int) -> None:
        self.house = house
        self.random = random.Random(seed)
        self.buttons: dict[str, int] = {}
        self.roles: list[int] = []
        self.users: dict[str, int] = {}
        self.resources: list[int] = []

    async def build(self) -> None:
        house, choice = self.house, self.random
        for code in CODES:
            rows = await query(house.hub, "SELECT id FROM sys.menu WHERE auth_mark = %s", code)
            self.buttons[code] = rows[0][0] if rows else await house.button(code)
        for number in range(8):
            self.roles.append(await house.role(f"world-{number}", *self.some_buttons()))
        for number in range(20):
            name = f"world-{number}"
            self.users[name] = await house.user(name, *choice.sample(self.roles, choice.randrange(4)))
        for _ in range(10):
            await self.add_resource()

    def some_buttons(self) -> list[int]:
        return self.random.sample(list(self.buttons.values()), self.random.randrange(5))

    async def add_resource(self) -> None:
        path, method = self.random.choice(PATHS), self.random.choice(METHODS[:3])
        demand = self.random.choice(DEMANDS)
        code = f"world.{self.random.randrange(10**9)}"
        body: dict[str, Any] = {
            "resourceName": code,
            "resourceCode": code,
            "method": method,
            "path": path,
            "service": "orders",
        }
        body |= {"assurance": demand, "services": demand is not None and self.random.random() < 0.5}
        answer = await self.house.hub.ask("POST", "/api/resource", body)
        if answer.status != 201:
            return  # there is one already
        made = answer.json["data"]["id"]
        self.resources.append(made)
        await self.house.hub.ask("PUT", f"/api/resource/{made}/buttons", {"menuIds": self.some_buttons()})

    async def change(self) -> None:
        """Change something; what is refused changes nothing."""
        house, choice = self.house, self.random
        user, role = choice.choice(list(self.users.values())), choice.choice(self.roles)
        button = choice.choice(list(self.buttons.values()))
        requests: list[tuple[str, str, Any]] = [
            ("PUT", f"/api/role/{role}/permissions", {"menuIds": self.some_buttons()}),
            ("PATCH", f"/api/user/{user}", {"roleIds": choice.sample(self.roles, choice.randrange(4))}),
            ("PATCH", f"/api/user/{user}", {"status": choice.choice(["enabled", "enabled", "disabled"])}),
            ("POST", f"/api/online/{user}/ban", {"seconds": 600, "reason": "test"}),
            ("DELETE", f"/api/online/{user}/ban", None),
            ("PATCH", f"/api/menu/{button}", {"enabled": choice.random() < 0.8}),
            ("PATCH", f"/api/role/{role}", {"enabled": choice.random() < 0.8}),
            ("POST", "/api/opening", {"service": "orders", "code": choice.choice(["@login", "@anyone"])}),
        ]
        if self.resources:
            resource = choice.choice(self.resources)
            requests += [
                ("PUT", f"/api/resource/{resource}/buttons", {"menuIds": self.some_buttons()}),
                ("PUT", f"/api/resource/{resource}/enabled", {"enabled": choice.random() < 0.7}),
                ("DELETE", f"/api/resource/{resource}", None),
                ("POST", "/api/opening", {"service": "orders", "resourceId": resource, "code": "@login"}),
            ]
        method, target, body = choice.choice(requests)
        await house.hub.ask(method, target, body)
        if choice.random() < 0.3:
            await self.add_resource()
        if choice.random() < 0.2:
            openings = (await house.data("GET", "/api/opening/list"))["items"]
            for opening in openings[:1]:
                await house.hub.ask("DELETE", f"/api/opening/{opening['id']}")

    def kinds(self, event: dict[str, Any], _evaluated: Evaluated) -> list[str]:
        """Return the names under which an answer is counted."""
        return [event.get("layer") or event["reason"]]

    async def new_tokens(self) -> list[str]:
        tokens = []
        for name in self.random.sample(list(self.users), 3):
            try:
                tokens.append(await log_in(self.house.hub, name))
            except AssertionError:
                continue  # disabled, or banned
        return tokens

    def subject(self, tokens: Sequence[str]) -> dict[str, str]:
        choice = self.random
        name = choice.choice([*self.users, "nobody"])
        return choice.choice(
            [
                {"type": "user", "id": choice.choice([name, name.upper()])},
                {"type": "identity", "id": str(self.users.get(name, 10**9))},
                {"type": "token", "id": choice.choice(tokens)},
                {"type": "group", "id": name},
            ][: 3 if choice.random() < 0.95 else 4]
        )

    def question(self, tokens: Sequence[str]) -> dict[str, Any]:
        choice, subject = self.random, self.subject(tokens)
        if choice.random() < 0.35:
            code = choice.choice([*CODES, "orders:a:b", "system:user:list", "x"])
            return {
                "subject": subject,
                "action": {"name": "use"},
                "resource": {"type": "permission", "id": code},
            }
        path = choice.choice([*PATHS, "/a/7", "/a/new", "/a/7/b", "/z/x", "/b/1", "/c", "//a", "/A", "/"])
        properties = choice.choice(
            [{}, {}, {"service": "orders"}, {"service": "stock"}, {"service": "portcullis"}]
        )
        return {
            "subject": subject,
            "action": {"name": choice.choice([*METHODS, "get"])},
            "resource": {"type": "route", "id": path, "properties": properties},
        }


def asked(question: dict[str, Any]) -> Asked:
    resource = question["resource"]
    service = resource.get("properties", {}).get("service")
    return Asked(
        Subject(**question["subject"]),
        question["action"]["name"],
        Resource(resource["type"], resource["id"], service),
    )


def shown(answer: Answer, revision: int) -> dict[str, Any]:
    """Return what an answer of a follower says, as the decision log of the hub says it."""
    decision = answer.decision
    line = None if decision is None or decision.line is None else str(decision.line)
    return {
        "outcome": "allow" if answer.allowed else "deny",
        "reason": answer.reason,
        "decision": "" if decision is None else decision.id,
        "layer": None if decision is None else decision.layer,
        "object": None if decision is None else decision.object,
        "line": line,
        "required": [] if decision is None or answer.allowed else list(decision.required),
        "revision": revision,
    }


async def hub_answers(house: House, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the hub logs of its answers; the account that asks is that of the follower."""
    before = await logged(house.log, 0) if house.log.exists() else []
    answer = await house.hub.ask(
        "POST", "/access/v1/evaluations", {"evaluations": questions}, token=house.evaluator
    )
    assert answer.status == 200, answer.body
    events = (await logged(house.log, len(before) + len(questions)))[len(before) :]
    decisions = [each["decision"] for each in answer.json["evaluations"]]
    assert [event["outcome"] == "allow" for event in events] == decisions
    return events


async def logged(log: Path, least: int) -> list[dict[str, Any]]:
    """Return the events of questions, once there are as many."""
    for _ in range(2000):
        lines = (await asyncio.to_thread(log.read_bytes)).splitlines()
        events = [event for event in map(json.loads, lines) if "reason" in event]
        if len(events) >= least:
            return events
        await asyncio.sleep(0.01)
    raise AssertionError(f"{len(events)} of {least} events")


async def compared(world: World, rounds: int, questions: int) -> dict[str, int]:
    """Compare random answers between changes; return how many there were, by layer or reason."""
    house = world.house
    await world.build()
    kinds: dict[str, int] = {}
    async with house.follower(house.evaluator, name="equal") as follower:
        tokens: list[str] = []
        for round_ in range(rounds):
            if round_ % 5 == 0:
                tokens += await world.new_tokens()
            for _ in range(world.random.randrange(1, 4)):
                await world.change()
            await follower.renew(wait=False)
            asked_now = [world.question(tokens or ["x"]) for _ in range(questions)]
            events = await hub_answers(house, asked_now)
            await follower.renew(wait=False)  # on a busy machine the hub may take longer than a lease
            for question, event in zip(asked_now, events, strict=True):
                evaluated = follower.point.find(asked(question))
                expected = {name: event.get(name) for name in shown(evaluated.answer, 0)}
                expected |= {"required": expected["required"] or [], "decision": expected["decision"] or ""}
                # Of a service that is not followed nothing is known.
                if evaluated.answer.reason == "other_service" and evaluated.answer.decision is None:
                    continue
                assert shown(evaluated.answer, follower.revision) == expected, question
                for kind in world.kinds(event, evaluated):
                    kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


async def test_answers_lines_and_ids_are_those_of_the_hub_through_changes(house: House) -> None:
    kinds = await compared(World(house, 4711), 4, 30)
    assert {"resource", "assurance", "permission", "account", "subject_not_active", "not_canonical"} <= set(
        kinds
    )


@pytest.mark.extended
async def test_twenty_thousand_answers_lines_and_ids_are_those_of_the_hub(house: House) -> None:
    seed = int(os.environ.get("PDP_SEED", "1"))
    kinds = await compared(World(house, seed), 200, 100)
    assert sum(kinds.values()) >= 19_000
