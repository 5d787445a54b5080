"""Random questions of people with keys, with changes in between, on two workers.

The expected answers are a statement of ``docs/reference/personal-keys.md`` and
``docs/explanation/policy.md``. A request passes if the person has access, the key exists, and both the codes
that the person holds at that instant and the scopes of the key open the resource and the endpoint.
"""

import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from service.features.service_accounts.form import ApiKey, new_secret
from tests.features.service_accounts.conftest import KEY, Workers
from tests.support import rules_oracle as oracle
from tests.support.members import USER, query

PATHS: Final = (
    *("/api/role/list", "/api/menu/list", "/api/resource/list", "/api/service/list"),
    *("/api/online/list", "/api/jobs", "/api/opening/list", "/api/user/info"),
)
CODES: Final = {path: oracle.World().endpoints[f"GET {path}"] for path in PATHS}
_SINGLE: Final = sorted(set().union(*CODES.values()) - {oracle.LOGIN})
HELD: Final = (
    *_SINGLE,
    *("system:*", "system:*:list", "system:role:*", "system:menu:*", "*:role:list", "*"),
)
SCOPES: Final = (
    *_SINGLE,
    *("system:*", "system:*:list", "system:role:*", "system:*:*", "system:menu:delete", "finance:*"),
)
RENEWED: Final = 2_000
"""Questions after which the administrator logs in again: access tokens expire."""
NEAR: Final = 0.4
"""Seconds around the end of an assignment in which nothing is asked: the clocks may differ by less."""


@dataclass
class Key:
    """A key: its text, and its scopes."""

    id: int
    text: str
    scopes: set[str]


@dataclass
class Person:
    """A person, with roles until an instant, None for no end, and the keys that exist."""

    id: int
    roles: dict[int, float | None] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)
    revoked: list[Key] = field(default_factory=list)
    enabled: bool = True


class World:
    """What is so by the pages, and the changes of it through the API."""

    def __init__(self, workers: Workers, seed: int) -> None:
        self.workers = workers
        self.random = random.Random(seed)
        self.people: list[Person] = []
        self.roles: dict[int, set[str]] = {}
        self.buttons: dict[str, int] = {}
        self.bound: dict[str, set[str]] = {}
        self.number = 0

    async def begin(self) -> None:
        """Write the people and roles, and read what the routes are bound to."""
        service = self.workers.first
        rows = await query(
            service,
            "SELECT r.path, m.auth_mark FROM sys.resource r"
            " JOIN sys.action_resource a ON a.resource_id = r.id"
            " JOIN sys.menu m ON m.id = a.menu_id WHERE r.method = 'GET' AND r.enabled",
        )
        for path, code in rows:
            self.bound.setdefault(path, set()).add(code)
        for code in HELD:
            known = await query(service, "SELECT id FROM sys.menu WHERE auth_mark = %s", code)
            self.buttons[code] = known[0][0] if known else await self._button(code)
        await service.data("POST", "/api/policy/reload")
        for number in range(6):
            made = await service.data(
                "POST", "/api/role", {"roleName": f"random{number}", "roleCode": f"random{number}"}
            )
            self.roles[made["id"]] = set()
            await self.fill(made["id"])
        for number in range(8):
            name = f"person{number}"
            ((user_id,),) = await query(service, USER, name, name, name)
            person = Person(user_id)
            self.people.append(person)
            await self.give(person)
            for _ in range(3):
                await self.make_key(person)

    async def _button(self, code: str) -> int:
        ((made,),) = await query(
            self.workers.first,
            "INSERT INTO sys.menu (parent_id, menu_type, title, auth_mark)"
            " SELECT min(id), 'Button', %s, %s FROM sys.menu WHERE menu_type = 'Menu' RETURNING id",
            code,
            code,
        )
        return int(made)

    async def change(self) -> None:
        """Make one random change."""
        person = self.random.choice(self.people)
        acts = (self.give, self.give, self.give_for_a_time, self.make_key, self.revoke)
        number = self.random.randrange(9)
        if number < 2:
            await self.fill(self.random.choice(list(self.roles)))
        else:
            await (*acts, self.revoke_by_sessions, self.disable)[number - 2](person)

    async def fill(self, role_id: int) -> None:
        """Give a role other codes."""
        codes = set(self.random.sample(HELD, self.random.choice([0, 1, 1, 2, 3])))
        menu_ids = [self.buttons[code] for code in codes]
        await self._service.data("PUT", f"/api/role/{role_id}/permissions", {"menuIds": menu_ids})
        self.roles[role_id] = codes

    async def give(self, person: Person) -> None:
        """Give a person other roles; those that the person has keep their end."""
        role_ids = self.random.sample(list(self.roles), self.random.choice([0, 1, 2]))
        self._forget_ended(person)
        await self._service.data("PATCH", f"/api/user/{person.id}", {"roleIds": role_ids})
        person.roles = {role_id: person.roles.get(role_id) for role_id in role_ids}

    async def give_for_a_time(self, person: Person) -> None:
        """Give a person a role that ends within seconds."""
        self._forget_ended(person)
        free = [role_id for role_id in self.roles if role_id not in person.roles]
        if not free:
            return
        role_id, end = self.random.choice(free), time.time() + self.random.uniform(1.0, 3.0)
        until = datetime.fromtimestamp(end, UTC).isoformat()
        body = {"roleId": role_id, "until": until}
        await self._service.data("POST", f"/api/user/{person.id}/roles", body)
        person.roles[role_id] = end

    async def make_key(self, person: Person) -> None:
        """Give a person another key, past the API, which asks for a fresh login."""
        if len(person.keys) >= 5 or not person.enabled:
            return
        secret = new_secret()
        scopes = set(self.random.sample(SCOPES, self.random.choice([1, 1, 2, 3])))
        digest = ApiKey(1, secret).digest_of("person")
        ((key_id,),) = await query(self.workers.first, KEY, person.id, digest, sorted(scopes), 3600)
        person.keys.append(Key(key_id, str(ApiKey(key_id, secret)), scopes))

    async def revoke(self, person: Person) -> None:
        """Delete a key of a person."""
        if person.keys:
            key = person.keys.pop(self.random.randrange(len(person.keys)))
            await self._service.data("DELETE", f"/api/user/{person.id}/keys/{key.id}")
            person.revoked.append(key)

    async def revoke_by_sessions(self, person: Person) -> None:
        """End all sessions of a person, and so all keys."""
        await self._service.data("POST", "/api/user/bulk/end-sessions", {"ids": [person.id]})
        self._lose_keys(person)
        await self.make_key(person)

    async def disable(self, person: Person) -> None:
        """Disable a person, or enable a disabled one, who gets a new key."""
        status = "disabled" if person.enabled else "enabled"
        await self._service.data("PUT", f"/api/user/{person.id}/status", {"status": status})
        person.enabled = not person.enabled
        if person.enabled:
            await self.make_key(person)
        else:
            self._lose_keys(person)

    def held(self, person: Person, now: float) -> set[str] | None:
        """Return what a person holds at ``now``; None too near to the end of an assignment."""
        codes: set[str] = set()
        for role_id, end in person.roles.items():
            if end is not None and abs(end - now) < NEAR:
                return None
            if end is None or now < end:
                codes |= self.roles[role_id]
        return codes

    async def ask(self) -> tuple[Any, Any] | None:
        """Ask a random question; return the answer and the expected one, None if it was not asked."""
        person = self.random.choice(self.people)
        key = self.random.choice([*person.keys, *person.revoked[-2:]] or [None])
        if key is None:
            return None
        path = self.random.choice(PATHS)
        before = self.held(person, time.time())
        if key in person.keys:
            answer = await self._service.ask("GET", path, token=key.text)
        else:  # many wrong keys from one address are refused by the throttle
            address = f"10.{self.random.randrange(256)}.{self.random.randrange(256)}.1"
            answer = await self._service.ask_from(address, "GET", path, token=key.text)
        if before is None or self.held(person, time.time()) != before:
            return None
        if key not in person.keys:
            return answer.status, 401
        layers = [("resource", self.bound.get(path, set())), ("endpoint", CODES[path])]
        for layer, codes in layers:
            parts = (("account", before), ("key", key.scopes))
            denied = [name for name, held in parts if codes and not oracle.opens(codes, held)]
            if denied:
                body = answer.json
                return (answer.status, body.get("layer"), body.get("deniedBy")), (403, layer, denied)
        return answer.status, 200

    @property
    def _service(self) -> Any:
        return self.random.choice([self.workers.first, self.workers.second])

    def _lose_keys(self, person: Person) -> None:
        person.revoked += person.keys
        person.keys = []

    def _forget_ended(self, person: Person) -> None:
        now = time.time()
        person.roles = {role: end for role, end in person.roles.items() if end is None or end > now}


async def _compare(workers: Workers, seed: int, questions: int) -> None:
    world = World(workers, seed)
    await world.begin()
    asked, outcomes = 0, set()
    while asked < questions:
        if world.random.random() < 0.1:
            await world.change()
        if asked % RENEWED == 0:
            workers.first.token = workers.second.token = await workers.first.log_in()
        pair = await world.ask()
        if pair is None:
            continue
        answer, expected = pair
        assert answer == expected, f"seed {seed}, question {asked}"
        outcomes.add(str(expected))
        asked += 1
    assert len(outcomes) >= 4


async def test_random_questions_are_answered_as_the_pages_say(workers: Workers) -> None:
    await _compare(workers, 4711, 150)


@pytest.mark.extended
async def test_twenty_thousand_random_questions_are_answered_as_the_pages_say(workers: Workers) -> None:
    await _compare(workers, random.randrange(2**32), 20_000)
