"""Requests for roles at the command line: read past the service, and decided as a user over HTTP."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.roles.test_request_rules import RULE
from tests.support.cases import with_each
from tests.support.databases import database, session_store
from tests.support.running import Ended, Running, portcullis, running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

SECRET = "hinges-2-portals-7-winches-4-chains-9"
PEOPLE = """
INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)
SELECT name, name, name, password_hash FROM sys.user, unnest(ARRAY['heron-1', 'kestrel']) AS name WHERE id = 1
"""
APPROVES = """
INSERT INTO sys.user_role (user_id, role_id)
SELECT u.id, r.id FROM sys.user u, sys.role r WHERE u.user_name = 'kestrel' AND r.role_code = 'admin'
"""


@dataclass
class Site:
    """A running service with the role ``heron``, for which people ask."""

    folder: Path
    service: Running
    stores: dict[str, str]

    def send(self, method: str, path: str, body: Any, user: str = ADMINISTRATOR) -> Any:
        with self.service.client() as client:
            given = {"userName": user, "password": ADMINISTRATOR_PASSWORD}
            token = client.post("/api/auth/login", json=given).json()["data"]["accessToken"]
            answer = client.request(method, path, json=body, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code in (200, 201), answer.text
        return answer.json()["data"]

    def asked(self) -> int:
        """Ask for the role as heron-1; return the id of the request."""
        body = {"roleCode": "heron", "duration": 600, "reason": "The books"}
        number: int = self.send("POST", "/api/access-request", body, "heron-1")["id"]
        return number

    def run(self, *words: str, given: str = "") -> Ended:
        return portcullis(self.folder, "request", *words, given=given, **self.stores)

    def decide(self, request: int, decision: str, user: str, password: str, *more: str) -> Ended:
        where = "--reason", "As agreed", "--url", self.service.url, "--user", user
        return self.run("decide", str(request), decision, *where, *more, given=f"{password}\n")


@pytest.fixture(scope="module")
def site(
    stores: EmbeddedStores, published_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        variables = {"DATABASE_URL": url, "REDIS_URL": redis_url, "JWT_SECRET": SECRET}
        with psycopg.connect(url) as connection:
            connection.execute(PEOPLE.encode())
            connection.execute(APPROVES.encode())
        with running(folder, "--workers", "1", **variables) as service:
            made = Site(folder, service, variables)
            role = {"roleName": "Heron", "roleCode": "heron"}
            number = made.send("POST", "/api/role", role)["id"]
            rule = RULE | {"stages": [{"code": "system:user:list", "approvals": 1}], "reasonRequired": False}
            made.send("PUT", f"/api/role/{number}/request-rule", rule)
            yield made


def test_a_user_decides_by_the_password_at_the_input_and_the_request_is_shown(site: Site) -> None:
    number = site.asked()

    waiting = site.run("show", str(number))
    decided = site.decide(number, "approve", "kestrel", ADMINISTRATOR_PASSWORD)
    shown = site.run("show", str(number))
    listed = json.loads(site.run("list", "--json", "--state", "approved").output)

    line = f"Access request {number} for the role heron is approved.\n"
    assert (decided.status, decided.output, decided.errors) == (0, line, "")
    assert "already held: no permission of the role" in waiting.output
    assert "holds already" not in shown.output
    assert "kestrel: approve, As agreed (" in shown.output
    assert "stage 1: 1 of 1 holders of system:user:list" in shown.output
    assert "\x1b" not in shown.output
    (item,) = [item for item in listed["items"] if item["id"] == number]
    assert (item["state"], item["userName"], listed["total"]) == ("approved", "heron-1", len(listed["items"]))
    sessions = site.send("GET", "/api/online/list", None)["items"]
    assert "command-line" not in [session["device"] for session in sessions]


@pytest.mark.parametrize(
    ("user", "password", "refusal"),
    [
        ("kestrel", "not the password", "401 login_failed: "),
        ("heron-1", ADMINISTRATOR_PASSWORD, "403 permission_denied: "),
    ],
)
def test_what_the_service_refuses_is_said_and_the_password_is_not(
    site: Site, user: str, password: str, refusal: str
) -> None:
    number = site.asked()

    decided = site.decide(number, "approve", user, password)
    shown = json.loads(site.run("show", str(number), "--json").output)
    site.send("DELETE", f"/api/access-request/{number}", None, "heron-1")

    assert decided.status == 1
    assert decided.errors.startswith(f"portcullis: {refusal}")
    assert password not in decided.output + decided.errors
    assert (shown["state"], shown["decisions"]) == ("pending", [])


@with_each("url", ["http://id.example.com", "ftp://127.0.0.1", "127.0.0.1:8080", "http://[::1"])
def test_no_password_goes_over_plain_http_to_another_machine(site: Site, url: str) -> None:
    words = "decide", "1", "deny", "--reason", "No", "--user", "kestrel", "--url", url

    refused = site.run(*words, given="secret\n")

    assert (refused.status, refused.output) == (1, "")
    assert "must be an https:// URL or a URL of this machine" in refused.errors
