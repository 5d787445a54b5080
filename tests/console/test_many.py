"""Many users, roles or resources are changed at once in their list, after a preview of all."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.acts import button, says
from tests.console.house import House
from tests.console.visits import Visit

pytestmark = pytest.mark.extended

ROLES = [{"roleCode": f"tern-{number}", "roleName": f"Tern {number}"} for number in (1, 2)]
RESOURCES = [
    {"resourceCode": name, "resourceName": name, "method": "GET", "path": f"/{name}"}
    for name in ("Tern1", "Tern2")
]


def choose(page: Page, *names: str) -> None:
    """Select rows of a list whose selection is empty: that of the list before is gone."""
    expect(page.get_by_role("group", name="Selected ")).to_be_hidden()
    for name in names:
        page.get_by_role("row", name=name).get_by_role("checkbox").check()
    says(page.get_by_role("group", name="Selected "), f"{len(names)} selected")


def change(page: Page, name: str, *texts: str) -> None:
    """Press a button of the selection, and confirm the preview, which has ``texts``."""
    button(page.get_by_role("group", name="Selected "), name).click()
    dialog = page.get_by_role("dialog")
    if "role" in name:
        dialog.get_by_label("Role").select_option("Auditor (auditor)")
        button(dialog, "Preview").click()
    says(dialog, *texts)
    button(dialog, name).click()


@pytest.mark.parametrize(
    ("noun", "bodies"), [("role", ROLES), ("resource", RESOURCES)], ids=["roles", "resources"]
)
def test_roles_and_resources_are_disabled_and_enabled_and_a_refusal_names_its_record(
    visit: Visit, house: House, noun: str, bodies: list[dict[str, Any]]
) -> None:
    ids = [house.make(noun, **body) for body in bodies]
    names = [body[f"{noun}Name"] for body in bodies]
    page = visit.open(f"/{noun}s?{noun}Name=Tern", f"{noun.title()}s")
    for name, is_enabled in (("Disable", False), ("Enable", True)):
        choose(page, *names)
        change(page, name, f"{name} 2 {noun}s?", f"2 {noun}s to change, 0 already in this state.")
        expect(page.get_by_text(f"{name}d 2 {noun}s.")).to_be_visible()
        assert [house.send("GET", f"/api/{noun}/{number}")["enabled"] for number in ids] == [is_enabled] * 2
    choose(page, *names)
    house.send("DELETE", f"/api/{noun}/{ids[1]}")
    button(page.get_by_role("group", name="Selected "), "Disable").click()
    fault = page.get_by_role("dialog").get_by_role("listitem")
    expect(fault).to_have_text(f"{names[1]} There is no such {noun}")
    house.send("DELETE", f"/api/{noun}/{ids[0]}")


def test_users_get_and_lose_a_role_are_disabled_and_their_sessions_end(visit: Visit, house: House) -> None:
    names = ("pintail-one", "pintail-two")
    numbers = [house.member(name) for name in names]
    house.log_in("pintail-one")
    page = visit.open("/users?keyword=pintail-", "Users")

    def users() -> list[dict[str, Any]]:
        return [house.user(name) for name in names]

    choose(page, *names)
    change(page, "End sessions", "1 user changes, 1 already in this state.")
    expect(page.get_by_text("All sessions of 1 user ended.")).to_be_visible()
    assert house.items("online", userName="pintail-one") == []
    choose(page, *names)
    change(page, "Give role", "2 users change")
    expect(page.get_by_text("2 users got the role Auditor.")).to_be_visible()
    assert all("auditor" in [role["roleCode"] for role in user["roles"]] for user in users())
    choose(page, *names)
    change(page, "Remove role", "Lose access")
    expect(page.get_by_text("2 users no longer have the role Auditor.")).to_be_visible()
    assert not any("auditor" in [role["roleCode"] for role in user["roles"]] for user in users())
    house.send("PUT", f"/api/user/{numbers[1]}/status", {"status": "disabled"})
    for name, status, count in (("Enable", "enabled", "1 user was"), ("Disable", "disabled", "2 users were")):
        choose(page, *names)
        change(page, name)
        expect(page.get_by_text(f"{count} {status}.")).to_be_visible()
        assert {user["status"] for user in users()} == {status}


def test_a_refusal_to_change_users_names_those_whom_it_is_about(visit: Visit, house: House) -> None:
    house.member("clerk-of-many", "system:user:list", "system:user:update")
    house.member("serin-shoveler")
    house.member("serin-of-roles", "system:role:list")
    page = visit.open("/users?keyword=serin-", "Users", "clerk-of-many")
    choose(page, "serin-shoveler", "serin-of-roles")
    button(page.get_by_role("group", name="Selected users"), "Disable").click()
    fault = page.get_by_role("dialog").get_by_role("listitem")
    expect(fault).to_have_text(re.compile("^serin-of-roles The user holds permissions that you do not hold"))
    assert house.user("serin-shoveler")["status"] == "enabled"


def test_all_that_match_are_changed_in_batches_and_a_refused_batch_is_told(
    visit: Visit, house: House
) -> None:
    house.execute(
        "INSERT INTO sys.user (user_name, user_name_key, nick_name)"
        " SELECT 'gadwall-' || n, 'gadwall-' || n, 'Gadwall' FROM generate_series(1001, 1405) AS n"
    )
    page = visit.open("/users?keyword=gadwall-&sort=userName&size=100", "Users")
    bar, dialog = page.get_by_role("group", name="Selected users"), page.get_by_role("dialog")

    def choose_all() -> None:
        page.get_by_label("Select all on this page").check()
        button(bar, "Select all 405 that match").click()
        says(bar, "405 selected")

    choose_all()
    button(bar, "Disable").click()
    expect(dialog).to_contain_text("Disable 405 users?", timeout=60_000)
    says(dialog, "405 users change", "Saved in batches of 200.")
    house.send("DELETE", f"/api/user/{house.user('gadwall-1401')['id']}")
    button(dialog, "Disable").click()
    expect(dialog).to_contain_text("gadwall-1401", timeout=60_000)
    says(dialog, "400 of 405 saved.", "1\u2013200: 200 changed, 0 already in this state")
    says(dialog, "401\u2013405: refused, nothing changed")
    button(dialog, "Cancel").click()
    expect(page.get_by_text("400 of 405 were saved. The others have not changed.")).to_be_visible()
    counted = {
        status: house.send("GET", "/api/user/list", keyword="gadwall-", status=status)["total"]
        for status in ("disabled", "enabled")
    }
    assert counted == {"disabled": 400, "enabled": 4}
    house.execute("DELETE FROM sys.user WHERE nick_name = 'Gadwall'")
