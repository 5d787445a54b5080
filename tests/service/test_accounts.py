"""Passwords, the status of accounts and roles, set over HTTP: in force on every worker at once."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.service.callers import PASSWORD, log_in
from tests.service.conftest import External
from tests.support.cases import with_each
from tests.support.running import portcullis

NEW = "five wary herons"


@pytest.fixture
def user(external: External) -> str:
    """The name of a user of the test's own, without any right."""
    name = f"heron-{uuid4().hex[:8]}"
    done = portcullis(external.folder, "admin", "create", name, given=f"{PASSWORD}\n", **external.variables)
    assert done.status == 0, done.errors
    return name


def test_a_user_changes_the_own_password_and_nobody_hears_it(
    external: External, client: httpx.Client, user: str
) -> None:
    bearer = log_in(client, user)
    body = {"currentPassword": PASSWORD, "newPassword": NEW}

    answer = client.put("/api/user/profile/password", json=body, headers=bearer)

    assert (answer.status_code, answer.json()) == (200, {"data": None})
    refused = client.post("/api/auth/login", json={"userName": user, "password": PASSWORD})
    assert (refused.status_code, refused.json()["code"]) == (401, "login_failed")
    assert client.post("/api/auth/login", json={"userName": user, "password": NEW}).status_code == 200
    assert NEW not in external.running.output


def test_a_wrong_current_password_is_named_and_not_repeated(client: httpx.Client, user: str) -> None:
    body = {"currentPassword": "six weary herons", "newPassword": NEW}

    answer = client.put("/api/user/profile/password", json=body, headers=log_in(client, user))

    assert (answer.status_code, answer.json()["code"]) == (422, "validation_failed")
    assert [error["field"] for error in answer.json()["errors"]] == ["currentPassword"]
    assert "herons" not in answer.text


def test_a_reset_needs_its_code_and_says_so(client: httpx.Client, user: str) -> None:
    answer = client.put("/api/user/1/password", json={"newPassword": NEW}, headers=log_in(client, user))

    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    assert answer.json()["required"] == ["system:user:reset-password"]
    assert answer.json()["layer"] == "endpoint"


def test_an_administrator_resets_the_password_of_a_user(
    client: httpx.Client, user: str, administrator: dict[str, str]
) -> None:
    bearer = log_in(client, user)
    user_id = client.get("/api/user/info", headers=bearer).json()["data"]["userId"]

    answer = client.put(f"/api/user/{user_id}/password", json={"newPassword": NEW}, headers=administrator)

    assert (answer.status_code, answer.json()) == (200, {"data": None})
    ended = client.get("/api/user/info", headers=bearer)
    assert (ended.status_code, ended.json()["code"]) == (401, "refresh_required")
    assert client.post("/api/auth/login", json={"userName": user, "password": NEW}).status_code == 200


def test_a_disabled_user_is_refused_from_the_next_request_on(
    client: httpx.Client, user: str, administrator: dict[str, str]
) -> None:
    bearer = log_in(client, user)
    user_id = client.get("/api/user/info", headers=bearer).json()["data"]["userId"]
    path = f"/api/user/{user_id}/status"

    assert client.put(path, json={"status": "disabled"}, headers=administrator).json() == {"data": None}
    refused = client.get("/api/user/info", headers=bearer)
    assert (refused.status_code, refused.json()["code"]) == (403, "account_banned")
    assert client.post("/api/auth/logout", headers=bearer).status_code == 403
    login = {"userName": user, "password": PASSWORD}
    assert client.post("/api/auth/login", json=login).json()["code"] == "account_disabled"
    assert client.put(path, json={"status": "asleep"}, headers=administrator).status_code == 422

    assert client.put(path, json={"status": "enabled"}, headers=administrator).status_code == 200
    assert client.post("/api/auth/login", json=login).status_code == 200


CONNECTIONS = 12  # two workers share the port, and the kernel gives each connection to one of them


def codes_on_all_workers(external: External, bearer: dict[str, str], path: str) -> set[int | str]:
    """Ask over many connections; return the status or the code of each answer."""
    codes = set()
    with external.running.client() as client:
        for _ in range(CONNECTIONS):
            answer = client.get(path, headers=bearer | {"Connection": "close"})
            codes.add(200 if answer.status_code == 200 else answer.json()["code"])
    return codes


def role_id(client: httpx.Client, administrator: dict[str, str], code: str) -> int:
    roles = client.get(f"/api/role/list?roleCode={code}", headers=administrator).json()["data"]["items"]
    return int(next(role["id"] for role in roles if role["roleCode"] == code))


CHANGES: list[tuple[str, str, dict[str, Any] | None, str]] = [
    ("PATCH", "", {"roleIds": []}, "refresh_required"),
    ("PATCH", "", {"userName": "egret"}, "refresh_required"),
    ("PATCH", "", {"status": "disabled"}, "account_banned"),
    ("PUT", "/status", {"status": "disabled"}, "account_banned"),
    ("PUT", "/password", {"newPassword": "five wary herons"}, "refresh_required"),
    ("DELETE", "", None, "refresh_required"),
]


@with_each("change", CHANGES)
def test_a_change_of_a_user_is_felt_by_the_next_request_on_every_worker(
    external: External,
    client: httpx.Client,
    administrator: dict[str, str],
    change: tuple[str, str, dict[str, Any] | None, str],
) -> None:
    method, path, body, expected = change
    auditor = role_id(client, administrator, "auditor")
    new = {"userName": "wader", "nickName": "Wader", "password": PASSWORD, "roleIds": [auditor]}
    made = client.post("/api/user", json=new, headers=administrator).json()["data"]
    bearer = log_in(client, "wader")
    assert codes_on_all_workers(external, bearer, "/api/user/list") == {200}

    answer = client.request(method, f"/api/user/{made['id']}{path}", json=body, headers=administrator)

    assert answer.status_code == 200, answer.text
    assert codes_on_all_workers(external, bearer, "/api/user/list") == {expected}
    client.delete(f"/api/user/{made['id']}", headers=administrator)
