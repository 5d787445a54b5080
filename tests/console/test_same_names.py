"""A record is not shown the past of a deleted one that had its name."""

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from tests.console.house import House
from tests.console.test_users import headed
from tests.console.visits import Visit, settled
from tests.support.seeded import ADMINISTRATOR_PASSWORD

RECORDS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "users": (
        "/api/user",
        "user:ruff",
        {"userName": "ruff", "nickName": "Ruff", "password": "four wary herons"},
        {"nickName": "Of before"},
    ),
    "roles": ("/api/role", "role:ruff", {"roleName": "Ruff", "roleCode": "ruff"}, {"description": "Before"}),
    "menus": (
        "/api/menu",
        "button:ruff:read",
        {"menuType": "Button", "title": "Ruff", "authMark": "ruff:read"},
        {"title": "Of before"},
    ),
    "services": ("/api/service", "service:ruff", {"name": "ruff"}, {"description": "Of before"}),
    "resources": (
        "/api/resource",
        "resource:GET /api/ruff",
        {"resourceName": "Ruff", "resourceCode": "ruff", "method": "GET", "path": "/api/ruff"},
        {"description": "Of before"},
    ),
}


def made(house: House, path: str, body: dict[str, Any]) -> Any:
    answer = house.api.post(path, json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


def made_again(house: House, kind: str) -> Any:
    """Make a record, change it, delete it, and make another one of the same name."""
    path, target, body, change = RECORDS[kind]
    former = f"{path}/{made(house, path, body)['id']}"
    assert house.api.patch(former, json=change).status_code == 200
    if kind == "users":
        ban = f"/api/online/{former.rpartition('/')[2]}/ban"
        assert house.api.post(ban, json={"seconds": 60, "reason": "A secret of before"}).status_code == 200
    assert house.api.delete(former).status_code == 200
    record = made(house, path, body)
    house.wait_for_log("operation", target=target, **{"from": record["createTime"]})
    return record


@pytest.mark.parametrize("kind", RECORDS)
def test_the_history_of_a_record_begins_when_it_was_created(visit: Visit, house: House, kind: str) -> None:
    record = made_again(house, kind)
    page = visit.page

    visit.sign_in(address=f"/{kind}/{record['id']}/history")

    settled(page)
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(2)
    expect(page.get_by_role("table")).to_contain_text(re.compile("created|registered"))
    expect(page.get_by_role("main")).not_to_contain_text("banned")
    expect(page.get_by_role("main")).not_to_contain_text("deleted")


def test_the_sign_ins_of_a_user_are_those_of_the_account(visit: Visit, house: House) -> None:
    former = house.member("dunlin")
    credentials = {"userName": "dunlin", "password": ADMINISTRATOR_PASSWORD}
    assert httpx.post(f"{house.url}/api/auth/login", json=credentials).status_code == 200
    house.wait_for_log("login", userId=str(former))
    assert house.api.delete(f"/api/user/{former}").status_code == 200
    body = {"userName": "dunlin", "nickName": "D", "password": ADMINISTRATOR_PASSWORD}
    number = made(house, "/api/user", body)["id"]
    page = visit.page

    visit.sign_in(address=f"/users/{number}")
    headed(page, "dunlin")
    page.get_by_role("link", name="Sign-ins").last.click()

    settled(page)
    assert f"userId={number}" in page.url
    expect(page.get_by_role("main")).not_to_contain_text("dunlin")
