"""Random roles, Buttons, resources and bindings through the API, compared with the written rules."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest

from tests.policy_publishing.conftest import PASSWORD, Workers
from tests.support.raw import Seen, request, send
from tests.support.rules_oracle import PASSES, Resource, Verdict, World
from tests.support.rules_oracle import Button as KnownButton

NOBODY = "999999999"
TARGETS = [
    ("GET", "/api/user/list"),
    ("GET", "/api/user/{id}"),
    ("PUT", "/api/user/{id}"),
    ("DELETE", "/api/user/{id}"),
    ("POST", "/api/user"),
    ("GET", "/api/role/list"),
    ("GET", "/api/role/{id}"),
    ("PUT", "/api/role/{id}"),
    ("DELETE", "/api/role/{id}"),
    ("GET", "/api/role/{id}/permissions"),
    ("GET", "/api/file/list"),
    ("GET", "/api/file/{id}"),
    ("DELETE", "/api/file/{id}"),
    ("GET", "/api/online/list"),
    ("GET", "/api/login-log/list"),
    ("GET", "/api/menu/mine"),
    ("GET", "/api/menu/{id}"),
    ("DELETE", "/api/menu/{id}"),
]
FIRST = ["user", "role", "file", "menu", "{kind}"]
SECOND = ["list", NOBODY, "{id}", "mine"]
CODES = ["fuzz:a", "fuzz:b", "fuzz:a:c", "other:a", "fuzz:*", "*:a"]
USERS = 4
AT_ONCE = 25


class Person:
    """A user with a session, renewed when the service asks for it."""

    def __init__(self, port: int, user_name: str) -> None:
        self.port, self.user_name = port, user_name
        self._tokens: dict[str, str] = {}
        self._renewing = asyncio.Lock()

    async def log_in(self) -> None:
        body = {"userName": self.user_name, "password": PASSWORD}
        self._keep(await send(self.port, request("POST /api/auth/login HTTP/1.1", body=body)))

    async def ask(self, method: str, path: str, body: Any = None) -> Seen:
        """Send a request; once more, with new tokens, when the old ones have been called in."""
        used = dict(self._tokens)
        seen = await self._send(method, path, body)
        if seen.status != 401:
            return seen
        assert json.loads(seen.body)["code"] == "refresh_required", seen
        async with self._renewing:
            if used == self._tokens:
                renewal = {"refreshToken": used["refreshToken"]}
                self._keep(await send(self.port, request("POST /api/auth/refresh HTTP/1.1", body=renewal)))
        return await self._send(method, path, body)

    async def data(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that must succeed."""
        seen = await self.ask(method, path, body)
        assert seen.status in (200, 201), seen
        return seen.data

    async def _send(self, method: str, path: str, body: Any) -> Seen:
        token = f"Authorization: Bearer {self._tokens['accessToken']}"
        return await send(self.port, request(f"{method} {path} HTTP/1.1", token, body=body))

    def _keep(self, seen: Seen) -> None:
        assert seen.status == 200, seen
        self._tokens = seen.data


class Fuzz:
    """Random changes by the administrator, and requests of random users after each of them."""

    def __init__(self, admin: Person, random: Random) -> None:
        self.admin, self.random = admin, random
        self.world = World()
        self.people: dict[int, Person] = {}
        self.made: list[int] = []
        self.mark = secrets.token_hex(4)
        self.changes = {"saved": 0, "refused": 0}
        self.passed = 0
        self.answers = 0

    async def begin(self) -> None:
        """Learn what is stored, and make Buttons, roles and users."""
        for menu in await self._all("/api/menu/list?menuType=Button"):
            self.world.buttons[menu["id"]] = KnownButton(menu["authMark"], menu["enabled"])
        for resource in await self._all("/api/resource/list"):
            bound = await self.admin.data("GET", f"/api/resource/{resource['id']}/buttons")
            self.world.resources[resource["id"]] = Resource(
                resource["method"], resource["path"], resource["enabled"], set(bound["menuIds"])
            )
        known = {button.code for button in self.world.buttons.values()}
        for code in [code for code in CODES if code not in known]:
            button = {"menuType": "Button", "title": code, "authMark": code}
            made = await self.admin.data("POST", "/api/menu", button)
            self.world.buttons[made["id"]] = KnownButton(code, enabled=True)
        for number in range(USERS):
            name = f"fuzz-{self.mark}-{number}"
            role = await self.admin.data("POST", "/api/role", {"roleName": name, "roleCode": name})
            self.world.roles[role["id"]] = set()
            user = {"userName": name, "nickName": name, "password": PASSWORD, "roleIds": [role["id"]]}
            user_id = (await self.admin.data("POST", "/api/user", user))["id"]
            self.world.users[user_id] = {role["id"]}
            self.people[user_id] = Person(self.admin.port, name)
            await self.people[user_id].log_in()
            await self._give()

    async def run(self, answers: int) -> None:
        """Change and ask until ``answers`` have been compared; AssertionError at the first difference."""
        steps = [self._register, self._bind, self._bind, self._state, self._delete, self._switch, self._give]
        steps += [self._give, self._appoint]
        while self.answers < answers:
            await self.random.choice(steps)()
            await asyncio.gather(*(self._compare() for _ in range(AT_ONCE)))

    async def end(self) -> None:
        """Take away what others would stumble over."""
        for resource in self.made:
            if resource in self.world.resources:
                await self.admin.ask("DELETE", f"/api/resource/{resource}")

    async def _compare(self) -> None:
        user = self.random.choice(list(self.people))
        method, template = self.random.choice(TARGETS)
        path = template.replace("{id}", NOBODY)
        body: dict[str, Any] | None = {} if method in ("PUT", "POST") else None
        expected = self.world.verdict(user, method, path, template)
        seen = await self.people[user].ask(method, path, body)
        verdict = PASSES
        if seen.status == 403:
            problem = json.loads(seen.body)
            verdict = Verdict(problem["layer"], frozenset(problem["required"]))
        else:
            assert seen.status in (200, 404, 422), seen
        assert verdict == expected, (user, method, path, seen, self.world)
        self.answers += 1
        self.passed += expected == PASSES

    async def _save(self, method: str, path: str, body: Any = None) -> Any:
        """Return what a change answers; None when it was refused, as one that would lock everybody out."""
        seen = await self.admin.ask(method, path, body)
        assert seen.status in (200, 201, 409), seen
        self.changes["refused" if seen.status == 409 else "saved"] += 1
        return None if seen.status == 409 else seen.data or {}

    async def _register(self) -> None:
        method = self.random.choice(["GET", "GET", "PUT", "DELETE", "POST"])
        path = f"/api/{self.random.choice(FIRST)}"
        if method != "POST":
            path += f"/{self.random.choice(SECOND)}"
        if self.random.random() < 0.1:
            path += "/permissions"
        code = f"fuzz.{secrets.token_hex(6)}"
        body = {"resourceName": code, "resourceCode": code, "method": method, "path": path}
        if (made := await self._save("POST", "/api/resource", body)) is not None:
            self.world.resources[made["id"]] = Resource(method, path)
            self.made.append(made["id"])

    async def _bind(self) -> None:
        if (resource := self._any_made()) is None:
            return
        plain = [number for number, button in self.world.buttons.items() if "*" not in button.code.split(":")]
        chosen = self.random.sample(plain, self.random.randrange(4))
        if await self._save("PUT", f"/api/resource/{resource}/buttons", {"menuIds": chosen}) is not None:
            self.world.resources[resource].buttons = set(chosen)

    async def _state(self) -> None:
        if (resource := self._any_made()) is None:
            return
        enabled = self.random.random() < 0.6
        if await self._save("PUT", f"/api/resource/{resource}/enabled", {"enabled": enabled}) is not None:
            self.world.resources[resource].enabled = enabled

    async def _delete(self) -> None:
        resource = self._any_made()
        if resource is not None and await self._save("DELETE", f"/api/resource/{resource}") is not None:
            del self.world.resources[resource]

    async def _switch(self) -> None:
        """Disable a Button, or enable it again."""
        mine = [number for number, button in self.world.buttons.items() if button.code in CODES]
        menu = await self.admin.data("GET", f"/api/menu/{self.random.choice(mine)}")
        edit = {name: menu[name] for name in ("parentId", "title", "authMark")}
        enabled = not menu["enabled"]
        if await self._save("PATCH", f"/api/menu/{menu['id']}", edit | {"enabled": enabled}) is not None:
            self.world.buttons[menu["id"]].enabled = enabled

    async def _give(self) -> None:
        """Let a role give other Buttons."""
        role = self.random.choice(list(self.world.roles))
        some = [number for number, button in self.world.buttons.items() if button.code != "*"]
        chosen = [number for number in some if self.random.random() < 0.25]
        if await self._save("PUT", f"/api/role/{role}/permissions", {"menuIds": chosen}) is not None:
            self.world.roles[role] = set(chosen)

    async def _appoint(self) -> None:
        """Give a user other roles."""
        user = self.random.choice(list(self.people))
        chosen = [role for role in self.world.roles if self.random.random() < 0.5]
        stored = await self.admin.data("GET", f"/api/user/{user}")
        body = {"userName": stored["userName"], "nickName": stored["nickName"], "roleIds": chosen}
        if await self._save("PATCH", f"/api/user/{user}", body) is not None:
            self.world.users[user] = set(chosen)

    def _any_made(self) -> int | None:
        left = [resource for resource in self.made if resource in self.world.resources]
        return self.random.choice(left) if left else None

    async def _all(self, path: str) -> list[Any]:
        rows: list[Any] = []
        page = 1
        separator = "&" if "?" in path else "?"
        while True:
            data = await self.admin.data("GET", f"{path}{separator}size=100&page={page}")
            rows += data["items"]
            if len(rows) >= data["total"]:
                return rows
            page += 1


@pytest.fixture
async def fuzz(workers: Workers) -> AsyncIterator[Fuzz]:
    admin = Person(workers.service.port, "admin")
    await admin.log_in()
    seed = secrets.randbits(32)
    print("seed:", seed)  # noqa: T201 - pytest shows it where a test fails
    fuzz = Fuzz(admin, Random(seed))
    await fuzz.begin()
    yield fuzz
    await fuzz.end()


async def test_answers_on_four_workers_are_those_of_the_written_rules(fuzz: Fuzz) -> None:
    await fuzz.run(100)
    assert fuzz.answers == 100
    assert fuzz.passed > 0


@pytest.mark.extended
async def test_five_thousand_answers_on_four_workers_are_those_of_the_written_rules(fuzz: Fuzz) -> None:
    await fuzz.run(5_000)
    print(  # noqa: T201 - the figures are what this test is run for
        f"{fuzz.answers} answers after {fuzz.changes} changes: {fuzz.passed} requests passed, no difference"
    )
    assert 0.1 < fuzz.passed / fuzz.answers < 0.9
