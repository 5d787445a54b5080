"""A record is not shown the past of a deleted one that had its name."""

import re
from typing import Any

from playwright.sync_api import expect

from tests.console.acts import headed, says
from tests.console.house import House
from tests.console.states import show
from tests.console.visits import Visit

RECORDS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "users": (
        "user",
        "user:ruff",
        {"userName": "ruff", "nickName": "Ruff", "password": "four wary herons"},
        {"nickName": "Of before"},
    ),
    "roles": ("role", "role:ruff", {"roleName": "Ruff", "roleCode": "ruff"}, {"description": "Before"}),
    "menus": (
        "menu",
        "button:ruff:read",
        {"menuType": "Button", "title": "Ruff", "authMark": "ruff:read"},
        {"title": "Of before"},
    ),
    "services": ("service", "service:ruff", {"name": "ruff"}, {"description": "Of before"}),
    "resources": (
        "resource",
        "resource:GET /api/ruff",
        {"resourceName": "Ruff", "resourceCode": "ruff", "method": "GET", "path": "/api/ruff"},
        {"description": "Of before"},
    ),
}


def made_again(house: House, kind: str) -> int:
    """Make a record, change it, delete it, and make another one of the same name; return its id."""
    path, target, body, change = RECORDS[kind]
    former = house.make(path, **body)
    house.send("PATCH", f"/api/{path}/{former}", change)
    if kind == "users":
        house.send("POST", f"/api/online/{former}/ban", {"seconds": 60, "reason": "A secret of before"})
    house.send("DELETE", f"/api/{path}/{former}")
    record = house.send("POST", f"/api/{path}", body)
    house.wait_for_log("operation", target=target, **{"from": record["createTime"]})
    number: int = record["id"]
    return number


def test_the_history_of_a_record_begins_when_it_was_created(visit: Visit, house: House) -> None:
    addresses = [f"/{kind}/{made_again(house, kind)}/history" for kind in RECORDS]
    visit.sign_in()
    for address in addresses:
        shown = show(visit.page, address)
        expect(shown.get_by_role("table").get_by_role("row")).to_have_count(2)
        says(shown.get_by_role("table"), re.compile("created|registered"))
        expect(shown).not_to_contain_text("banned")
        expect(shown).not_to_contain_text("deleted")


def test_the_sign_ins_of_a_user_are_those_of_the_account(visit: Visit, house: House) -> None:
    former = house.member("godwit-twice")
    house.log_in("godwit-twice")
    house.wait_for_log("login", userId=str(former))
    house.send("DELETE", f"/api/user/{former}")
    number = house.make("user", userName="godwit-twice", nickName="D", password="four wary herons")
    page = visit.open(f"/users/{number}", "godwit-twice")
    page.get_by_role("link", name="Sign-ins").last.click()
    headed(page, "Sign-ins")
    assert f"userId={number}" in page.url
    expect(page.get_by_role("main")).not_to_contain_text("godwit-twice")
