"""The programs of earlier versions run beside today's, as ``docs/guides/upgrade.md`` promises."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.support.cases import with_each
from tests.support.running import Running, RunningAnew, command, environment
from tests.support.set_clock import open_folder
from tests.support.waiting import eventually
from tests.upgrade.earlier import PASSWORD, RELEASE, Node, Program, settings, unpacked
from tests.upgrade.installations import restore, secrets

pytestmark = pytest.mark.extended

RULE = {
    "requestableBy": "@login",
    "stages": [{"code": "gate:shut", "approvals": 1}],
    "maxDuration": 3600,
    "pendingTimeout": 600,
    "reasonRequired": False,
}
Started = TypeVar("Started", bound=Running)

ROLLING = ("8879af6", "128656f", "25571e91")
"""States after 0.2.0, with which the promise begins."""


@dataclass(frozen=True)
class Installation:
    """What nodes of all versions share, and how they are started."""

    folder: Path
    shared: dict[str, str]
    program: Program
    ids: dict[str, int]
    nodes: ExitStack

    def earlier(self, *options: str) -> Node:
        """Start a node of the earlier version."""
        values = self.shared | settings(self.program.root)
        return self._started(Node(self.program, self.folder, *options, **values))

    def today(self, *options: str) -> RunningAnew:
        """Start a node of this version."""
        values = self.shared | settings()
        return self._started(RunningAnew(self.folder, "--workers", "1", *options, **values))

    def migrate(self) -> None:
        """Migrate by the command of this version."""
        values = environment(self.folder, **self.shared | settings())
        subprocess.run(command("db", "migrate"), cwd=self.folder, env=values, check=True, capture_output=True)

    def _started(self, node: Started) -> Started:
        self.nodes.callback(node.stop)
        node.wait()
        return node


@contextmanager
def installation(name: str) -> Iterator[Installation]:
    """Restore what is kept of a version, by the clock of the machine: its sessions may be over."""
    with open_folder() as folder, ExitStack() as nodes:
        program, kept, place = Program(name, folder), unpacked(name, folder), folder / "stores"
        place.mkdir(mode=0o700)
        stores = nodes.enter_context(EmbeddedStores(place))
        restore(kept, stores.database_url)
        shared = {
            "DATABASE_URL": stores.database_url,
            "REDIS_URL": stores.redis_url,
            "JWT_SECRET": secrets(kept)["JWT_SECRET"],
        }
        yield Installation(folder, shared, program, kept.facts.ids, nodes)


def logs_in(client: httpx.Client, name: str, device: str = "web") -> dict[str, str]:
    """Return the tokens of a new session."""
    body = {"userName": name, "password": PASSWORD, "device": device}
    tokens: dict[str, str] = data(client.post("/api/auth/login", json=body))
    return tokens


def bearer(tokens: dict[str, str]) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens['accessToken']}"}


@contextmanager
def without_a_failure(ask: Callable[[], httpx.Response]) -> Iterator[list[int]]:
    """Send a request again and again while the block runs; AssertionError unless all are answered 200."""
    statuses: list[int] = []
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(0.02):
            statuses.append(ask().status_code)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield statuses
    finally:
        over.set()
        thread.join()
    assert set(statuses) == {200}, statuses


@with_each("name", ROLLING)
def test_nodes_of_both_versions_serve_side_by_side_and_the_earlier_one_starts_again(name: str) -> None:
    with installation(name) as both:
        before = both.earlier()
        with before.client() as old, before.client() as other:
            admin, ada = bearer(logs_in(old, "admin")), bearer(logs_in(old, "ada"))
            files = "/api/file/list"
            with without_a_failure(lambda: other.get(files, headers=ada)) as statuses:
                after = both.today()  # migrates while the other node serves
                asked = len(statuses)
                assert eventually(lambda: len(statuses) > asked + 20)
            with after.client() as new:
                serve_alike(both.ids, old, new, admin, ada)
            assert before.stop() == 0
            again = both.earlier()  # a step back: the schema is the newer one
            with again.client() as back:
                assert back.get(files, headers=ada).status_code == 200
                assert back.get("/health/ready").status_code == 200


def serve_alike(
    ids: dict[str, int], old: httpx.Client, new: httpx.Client, admin: dict[str, str], ada: dict[str, str]
) -> None:
    """Let each node see what the other one has changed; both stay ready."""
    files = "/api/file/list"
    for first, second in ((old, new), (new, old)):
        # A session of the one opens the other, and what is written on the one is read on the other.
        session = logs_in(first, "ada", f"of-{first.base_url.port}")
        assert second.get(files, headers=bearer(session)).status_code == 200
        spent = {"refreshToken": session["refreshToken"]}
        renewed = bearer(data(second.post("/api/auth/refresh", json=spent)))
        for node in (first, second):
            answer = node.get(files, headers=renewed)
            assert answer.status_code == 200, (node is old, first is old, answer.text)
        role = {"roleName": f"of {first.base_url.port}", "roleCode": f"of-{first.base_url.port}"}
        made = data(first.post("/api/role", json=role, headers=admin))
        assert data(second.get(f"/api/role/{made['id']}", headers=admin))["roleCode"] == role["roleCode"]
        # A change of the policy on the one decides on the other.
        path = f"/api/resource/{ids['resource files']}/buttons"
        for button, status in ((ids["shut"], 403), (ids["open"], 200)):
            changed = first.put(path, json={"menuIds": [button]}, headers=admin)
            assert changed.status_code == 200, changed.text
            assert eventually(lambda: second.get(files, headers=ada).status_code == status)  # noqa: B023 - asked at once
        # A ban on the one holds on the other.
        bob = bearer(logs_in(first, "bob"))
        banned = f"/api/online/{ids['bob']}/ban"
        assert first.post(banned, json={"reason": "of the test"}, headers=admin).status_code == 200
        assert second.get("/api/user/info", headers=bob).json()["code"] == "account_banned"
        assert second.delete(banned, headers=admin).status_code == 200
    for node in (old, new):
        assert node.get("/health/ready").status_code == 200


def data(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json()["data"]


def test_what_an_earlier_node_would_lose_is_refused_beside_it_and_keeps_it_away_while_it_is_there() -> None:
    with installation("8879af6") as both:
        before = both.earlier()
        after = both.today()
        with after.client() as new:
            admin = bearer(logs_in(new, "admin"))
            refused = new.put(f"/api/role/{both.ids['guard']}/request-rule", json=RULE, headers=admin)
            assert (refused.status_code, refused.json().get("rule")) == (409, "older_nodes")
            assert before.stop() == 0
            assert eventually(lambda: is_ruled(both.ids, new, admin))
            with pytest.raises(AssertionError, match=r"start version 0\.3\.0 or later"):
                both.earlier()
            assert new.delete(f"/api/role/{both.ids['guard']}/request-rule", headers=admin).is_success
            both.earlier()


def is_ruled(ids: dict[str, int], client: httpx.Client, headers: dict[str, str]) -> bool:
    """Let a role be asked for, by lines that no earlier version knows; False if that is refused."""
    return client.put(f"/api/role/{ids['guard']}/request-rule", json=RULE, headers=headers).is_success


def test_version_0_2_0_needs_the_short_outage_that_its_section_names() -> None:
    with installation(RELEASE) as both:
        before = both.earlier()
        with before.client() as old:
            ada = bearer(logs_in(old, "ada"))
            files = "/api/file/list"
            with without_a_failure(lambda: old.get(files, headers=ada)):
                both.migrate()
            after = both.today("--no-migrate")
            # From now on the earlier node refuses, and lets nobody in.
            assert eventually(lambda: old.get(files, headers=ada).status_code == 503)
            with after.client() as new:
                assert new.get(files, headers=ada).status_code == 200
        assert before.stop() == 0
        with pytest.raises(AssertionError, match="schema"):
            both.earlier()
