"""Today's version goes on with what version 0.2.0, and three states after it, have left.

All that was there must be there, decide as before, and open what it opened: records, sessions, API keys,
signing keys, the history of the policy, the chains of the logs.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import httpx
import pytest

from tests.upgrade.earlier import COMMITS, PASSWORD, RELEASE
from tests.upgrade.installations import Upgraded, on_data_directory, on_dump

WAYS: dict[str, tuple[Callable[[str], AbstractContextManager[Upgraded]], str]] = {
    "data directory of 0.2.0": (on_data_directory, RELEASE)
}
WAYS |= {f"dump of {name}": (on_dump, name) for name in COMMITS}
WITHOUT = partial(on_dump, PORTCULLIS_FEATURES__OFF="all")
WAYS |= {f"dump of {name}, all features off": (WITHOUT, name) for name in COMMITS}
CHOSEN = [pytest.param(way, marks=[pytest.mark.extended] if "dump" in way else []) for way in WAYS]
CONTENT = b"kept over an upgrade\n"


@pytest.fixture(scope="module", params=CHOSEN)
def upgraded(request: pytest.FixtureRequest) -> Iterator[Upgraded]:
    way, name = WAYS[request.param]
    with way(name) as service:
        yield service


@pytest.fixture
def client(upgraded: Upgraded) -> Iterator[httpx.Client]:
    with upgraded.service.client() as client:
        yield client


@pytest.fixture
def administrator(upgraded: Upgraded) -> dict[str, str]:
    """The header of the administrator, whose access token the earlier version has made."""
    return bearer(upgraded.facts.sessions["administrator"].access)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def data(client: httpx.Client, path: str, headers: dict[str, str], **params: Any) -> Any:
    answer = client.get(path, headers=headers, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def test_users_roles_resources_and_bindings_are_as_they_were(
    upgraded: Upgraded, client: httpx.Client, administrator: dict[str, str]
) -> None:
    ids = upgraded.facts.ids
    users = data(client, "/api/user/list", administrator, size=200)
    assert users["total"] == upgraded.facts.counts["users"]
    states = {user["userName"]: (user["id"], user["status"]) for user in users["items"]}
    assert states["ada"] == (ids["ada"], "enabled")
    assert states["dora"] == (ids["dora"], "disabled")
    roles = {user["userName"]: [role["roleCode"] for role in user["roles"]] for user in users["items"]}
    assert (roles["ada"], roles["bob"]) == (["guard"], [])
    held = data(client, f"/api/role/{ids['guard']}/permissions", administrator)
    assert ids["open"] in held["menuIds"]
    assert ids["shut"] not in held["menuIds"]
    bound = data(client, f"/api/resource/{ids['resource gate']}/buttons", administrator)
    assert {*bound["menuIds"]} == {ids["open"], ids["shut"]}


def test_decisions_are_as_they_were(upgraded: Upgraded, client: httpx.Client) -> None:
    ada = bearer(upgraded.facts.sessions["second day"].access)
    assert data(client, "/api/file/list", ada)["total"] == 1
    logged_in = client.post("/api/auth/login", json={"userName": "bob", "password": PASSWORD})
    bob = bearer(logged_in.json()["data"]["accessToken"])
    refused = client.get("/api/file/list", headers=bob)
    assert refused.status_code == 403
    assert refused.json()["layer"] == "resource"
    assert refused.json()["required"] == ["gate:open"]


@pytest.mark.parametrize(("name", "code"), [("mallory", "account_banned"), ("dora", "account_disabled")])
def test_those_who_were_banned_or_disabled_stay_out(client: httpx.Client, name: str, code: str) -> None:
    answer = client.post("/api/auth/login", json={"userName": name, "password": PASSWORD})
    assert answer.json()["code"] == code


def test_files_and_public_links_open_what_they_opened(
    upgraded: Upgraded, client: httpx.Client, administrator: dict[str, str]
) -> None:
    file = client.get(f"/api/file/{upgraded.facts.ids['file']}", headers=administrator)
    assert file.content == CONTENT
    assert client.get(f"/api/public/file/{upgraded.facts.link}").content == CONTENT
    assert client.get(f"/api/public/file/{upgraded.facts.link[::-1]}").status_code == 404


def test_api_keys_open_what_they_opened(upgraded: Upgraded, client: httpx.Client) -> None:
    key = upgraded.facts.api_key
    if key is None:
        assert "robot" not in upgraded.facts.ids  # version 0.2.0 has no API keys
        return
    assert data(client, "/api/file/list", bearer(key))["total"] >= 0
    assert client.get("/api/user/list", headers=bearer(key)).status_code == 403
    altered = f"{key[:-8]}{'x' * 8}"
    assert client.get("/api/file/list", headers=bearer(altered)).status_code == 401


def test_every_revision_of_the_policy_is_still_told_and_a_past_decision_explained(
    upgraded: Upgraded, client: httpx.Client, administrator: dict[str, str]
) -> None:
    page = data(client, "/api/policy/revisions", administrator, size=200)["items"]
    causes = {row["revision"]: row["cause"] for row in page}
    assert causes.items() >= upgraded.facts.revisions.items()
    assert not [row for row in page if row["tampered"]]
    # Nobody had registered the list of files at revision 3: ada's role alone decided.
    question = {"userName": "bob", "method": "GET", "path": "/api/file/list"}
    for revision, expected in ((3, "@unregistered"), (max(upgraded.facts.revisions), "GET /api/file/list")):
        answer = client.post(
            "/api/policy/explain", json=question | {"revision": revision}, headers=administrator
        )
        assert answer.status_code == 200, answer.text
        assert expected in answer.text


def test_the_chains_of_both_logs_hold_and_go_on(
    upgraded: Upgraded, client: httpx.Client, administrator: dict[str, str]
) -> None:
    for name, log in (("operations", "operation-log"), ("logins", "login-log")):
        total = data(client, f"/api/{log}/list", administrator, size=1)["total"]
        assert total >= upgraded.facts.counts[name]
    verified = upgraded.command("audit", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    for log in ("operation_log", "login_log"):
        days = [line for line in verified.stdout.splitlines() if line.startswith(log)]
        assert len(days) >= 2, verified.stdout  # the days of the earlier version
        assert all(line.endswith("unchanged") for line in days)


def test_the_start_has_nothing_to_complain_of(upgraded: Upgraded) -> None:
    loud = [line for line in upgraded.service.log if line["level"] in {"error", "critical"}]
    assert loud == []
    checks = json.loads(upgraded.command("doctor", "--json").stdout)
    assert [check for check in checks["checks"] if check["state"] == "fault"] == []


def test_sessions_are_refreshed_under_the_present_key_and_the_one_before(
    upgraded: Upgraded, client: httpx.Client
) -> None:
    for day in ("second day", "first day"):
        before = upgraded.facts.sessions[day]
        answer = client.post("/api/auth/refresh", json={"refreshToken": before.refresh})
        assert answer.status_code == 200, (day, answer.text)
        token = answer.json()["data"]["accessToken"]
        assert data(client, "/api/file/list", bearer(token))["total"] == 1


@pytest.mark.parametrize("name", ["left", "spent"])
def test_sessions_that_had_ended_and_tokens_that_were_spent_open_nothing(
    upgraded: Upgraded, client: httpx.Client, name: str
) -> None:
    answer = client.post("/api/auth/refresh", json={"refreshToken": upgraded.facts.sessions[name].refresh})
    assert answer.json()["code"] == "refresh_rejected"
