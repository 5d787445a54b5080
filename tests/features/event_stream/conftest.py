"""A service of two workers, and people with event streams."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.features.event_stream.reader import Reader
from tests.service.callers import PASSWORD, log_in
from tests.service.conftest import variables_for
from tests.support.databases import database, session_store
from tests.support.running import PATIENT, Running, running

_numbers = itertools.count(1)


@dataclass
class Place:
    """A running service, with an administrator's client."""

    running: Running
    client: httpx.Client
    administrator: dict[str, str]
    readers: list[Reader] = field(default_factory=list)

    def send(self, method: str, path: str, body: Any = None, token: dict[str, str] | None = None) -> Any:
        """Send a request as the administrator or with ``token``; return the data of its success."""
        answer = self.client.request(method, path, json=body, headers=token or self.administrator)
        assert answer.is_success, answer.text
        return answer.json().get("data") if answer.content else None

    def person(self) -> "Person":
        """Make a user with a role of the user's own, without codes."""
        name = f"person-{next(_numbers)}"
        role = self.send("POST", "/api/role", {"roleName": name, "roleCode": name})
        order = {"userName": name, "password": PASSWORD, "nickName": name}
        return Person(self, self.send("POST", "/api/user", order)["id"], name, role["id"])

    def open(self, token: dict[str, str], last: str = "") -> Reader:
        """Open a stream."""
        reader = Reader(self.running.port, token, last)
        self.readers.append(reader)
        return reader


@dataclass
class Person:
    """A user, and a role that waits to be given."""

    place: Place
    id: int
    name: str
    role_id: int
    assignment_id: int = 0

    def log_in(self, device: str = "web") -> dict[str, str]:
        """Open a session."""
        order = {"userName": self.name, "password": PASSWORD, "device": device}
        answer = self.place.client.post("/api/auth/login", json=order)
        assert answer.status_code == 200, answer.text
        return {"Authorization": f"Bearer {answer.json()['data']['accessToken']}"}

    def gets_role(self) -> None:
        """Give the role."""
        given = self.place.send("POST", f"/api/user/{self.id}/roles", {"roleId": self.role_id})
        self.assignment_id = given["id"]

    def loses_role(self) -> None:
        """Take the role."""
        self.place.send("DELETE", f"/api/user/{self.id}/roles/{self.assignment_id}")


@pytest.fixture(scope="module")
def _running(
    stores: EmbeddedStores, published_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("streams")
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        variables = variables_for(url, redis_url) | PATIENT
        with running(folder, "--workers", "2", **variables) as service:
            yield service


@pytest.fixture
def place(_running: Running) -> Iterator[Place]:
    """The service; its streams of a test are closed after it."""
    with _running.client() as client:
        made = Place(_running, client, log_in(client))
        yield made
        for reader in made.readers:
            reader.close()
