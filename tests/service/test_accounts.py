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
