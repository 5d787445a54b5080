"""Use equals the decision log, with workers of two nodes, real concurrency, stops and kills."""

import itertools
import os
import secrets
import signal
import threading
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import httpx
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.features.permission_use.conftest import logged_uses, stored_uses
from tests.service.callers import PASSWORD, log_in
from tests.support.databases import database, session_store
from tests.support.inside import all_decisions
from tests.support.running import Running, running
from tests.support.waiting import eventually

ROUTES = {
    "/api/role/list": "system:role:list",
    "/api/user/list": "system:user:list",
    "/api/file/list": "system:file:list",
    "/api/online/list": "system:online:list",
    "/api/login-log/list": "system:login-log:list",
    "/api/user/info": "@login",
}
HELD = (["system:*"], ["*:*:list"], ["system:role:list", "system:user:list"], ["system:file:list"])
THREADS = 6

_numbers = itertools.count(1)


@dataclass
class Nodes:
    """Two nodes, their database and their decision logs; ``users`` are ids by name."""

    nodes: list[Running]
    url: str
    logs: list[Path]
    random: Random
    users: dict[str, int] = field(default_factory=dict)
    roles: list[int] = field(default_factory=list)
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    lost: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    published: int = 0

    @property
    def stored(self) -> dict[int, set[str]]:
        return {user: set(days) for user, days in stored_uses(self.url).items()}

    def logged(self) -> dict[int, set[str]]:
        uses: dict[int, set[str]] = defaultdict(set)
        for log in self.logs:
            for user, codes in logged_uses(log).items():
                uses[user] |= codes
        return uses

    def make_users(self) -> None:
        """Make new users of the same roles, who have used nothing yet."""
        with self.nodes[0].client() as client:
            admin = self.headers["admin"]
            self.users = {}
            for number, role_id in enumerate(self.roles):
                name = f"user-{next(_numbers)}-{number}"
                user = {"userName": name, "nickName": name, "password": PASSWORD, "roleIds": [role_id]}
                made = client.post("/api/user", json=user, headers=admin)
                assert made.status_code == 201, made.text
                self.users[name] = made.json()["data"]["id"]
                self.headers[name] = log_in(client, name)

    def make_roles(self) -> None:
        """Make a role of each set of ``HELD``."""
        with self.nodes[0].client() as client:
            admin = self.headers["admin"] = log_in(client)
            button = {"menuType": "Button", "title": "Lists", "authMark": "*:*:list"}
            assert client.post("/api/menu", json=button, headers=admin).status_code == 201
            for number, codes in enumerate(HELD):
                role = {"roleCode": f"role-{number}", "roleName": f"Role {number}", "permissions": codes}
                made = client.post("/api/role", json=role, headers=admin)
                assert made.status_code == 201, made.text
                self.roles.append(made.json()["data"]["id"])

    def ask(self, count: int) -> int:
        """Send ``count`` random requests and questions from several threads; return how many were allowed."""
        plans = [
            [
                (self.random.choice([*self.users]), self.random.choice([*ROUTES]))
                for _ in range(count // THREADS)
            ]
            for _ in range(THREADS)
        ]
        with ThreadPoolExecutor(THREADS) as threads:
            return sum(threads.map(self._ask, plans, range(THREADS)))

    def _ask(self, plan: list[tuple[str, str]], number: int) -> int:
        allowed = 0
        node = self.nodes[number % len(self.nodes)]
        for start in range(0, len(plan), 50):
            with node.client() as client:  # a connection of its own, to any of the workers
                for name, path in plan[start : start + 50]:
                    try:
                        if len(path) % 5 == number % 5:  # some are asked about by another service
                            asked = {
                                "subject": {"type": "user", "id": name},
                                "action": {"name": "use"},
                                "resource": {"type": "permission", "id": ROUTES[path].replace("@", "none:")},
                            }
                            admin = self.headers["admin"]
                            answer = client.post("/access/v1/evaluation", json=asked, headers=admin)
                        else:
                            answer = client.get(path, headers=self.headers[name])
                    except httpx.HTTPError:  # the worker was killed
                        break
                    assert answer.status_code in (200, 403), answer.text
                    allowed += answer.status_code == 200
        return allowed

    def remap(self) -> None:
        """Change the map of permissions: all workers merge at once."""
        self.published += 1
        button = {"menuType": "Button", "title": "Use", "authMark": f"use:{self.published}"}
        with self.nodes[0].client() as client:
            made = client.post("/api/menu", json=button, headers=self.headers["admin"])
            assert made.status_code == 201, made.text

    def has_stored(self, logged: dict[int, set[str]]) -> bool:
        """Tell whether the database has all of ``logged`` but what a kill may have lost."""
        stored = self.stored
        return all(logged[user] - self.lost[user] <= stored.get(user, set()) for user in logged)

    def require_equal(self) -> None:
        """Check that all that was logged is stored but what a kill may have lost, and nothing else."""
        stored, logged = self.stored, self.logged()
        for user in stored.keys() | logged.keys():
            assert stored.get(user, set()) <= logged[user], user
            assert logged[user] - stored.get(user, set()) <= self.lost[user], user


@contextmanager
def nodes_on(stores: EmbeddedStores, folder: Path, seed: int) -> Iterator[Nodes]:
    """Run two nodes of two workers; the administrator has the password of the tests."""
    logs = [folder / f"{number}.jsonl" for number in range(2)]
    with database(stores) as url, session_store(stores) as redis_url:
        shared = {"DATABASE_URL": url, "REDIS_URL": redis_url, "JWT_SECRET": secrets.token_urlsafe(48)}
        shared |= {"PORTCULLIS_ADMIN_PASSWORD": PASSWORD}
        first, second = (shared | all_decisions(log) for log in logs)
        with (
            running(folder, "--workers", "2", **first) as first_node,
            running(folder, "--workers", "2", **second) as second_node,
        ):
            made = Nodes([first_node, second_node], url, logs, Random(seed))
            made.make_roles()
            made.make_users()
            yield made


@pytest.mark.feature("decisions")
def test_use_is_what_the_logs_of_all_workers_tell_after_a_merge_and_after_a_stop(
    stores: EmbeddedStores, tmp_path: Path
) -> None:
    with nodes_on(stores, tmp_path, 1) as nodes:
        assert nodes.ask(240) > 100
        assert nodes.stored == {}
        nodes.remap()
        assert eventually(partial(nodes.has_stored, nodes.logged()))
        nodes.ask(240)
        for node in nodes.nodes:
            assert node.stop() == 0
        nodes.require_equal()
        assert nodes.stored == nodes.logged()


@pytest.mark.extended
@pytest.mark.timeout(900)
def test_only_what_was_not_merged_yet_is_lost_when_workers_are_killed(
    stores: EmbeddedStores, tmp_path: Path
) -> None:
    allowed = 0
    with nodes_on(stores, tmp_path, 2) as nodes:
        while allowed < 20_000:
            begun = nodes.stored
            if nodes.random.random() < 0.2:
                killer = threading.Timer(nodes.random.random(), _kill_a_worker, (nodes,))
                killer.start()
                allowed += nodes.ask(600)
                killer.join()
                for user, codes in nodes.logged().items():
                    nodes.lost[user] |= codes - begun.get(user, set())
                assert eventually(lambda: all(len(node.workers) == 2 for node in nodes.nodes), patience=60)
            else:
                allowed += nodes.ask(600)
                nodes.remap()
                assert eventually(partial(nodes.has_stored, nodes.logged()))
                nodes.require_equal()
            nodes.make_users()
        for node in nodes.nodes:
            assert node.stop() == 0
        nodes.require_equal()


def _kill_a_worker(nodes: Nodes) -> None:
    os.kill(nodes.random.choice(nodes.random.choice(nodes.nodes).workers), signal.SIGKILL)
