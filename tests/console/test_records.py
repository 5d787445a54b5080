"""The pages of records: their tabs, who has a role, what it may do, and what was done to it."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.console.acts import button, confirmed, headed, press, says
from tests.console.house import House
from tests.console.visits import Visit

TABS = "Parts of this page"


def names(house: House, code: str) -> list[str]:
    """Return the users who have a role, by name."""
    return [user["userName"] for user in house.items("user", roleCode=code, sort="userName")]


@pytest.mark.extended
def test_a_user_gets_a_role_on_its_page_and_what_is_taken_comes_back_with_end_and_reason(
    visit: Visit, house: House
) -> None:
    user = house.member("crossbill", "system:role:list")
    house.member("hawfinch")
    until = (datetime.now(UTC) + timedelta(days=5)).replace(microsecond=0)
    [given] = house.send("GET", f"/api/user/{user}/roles")["items"]
    ending = {"until": until.isoformat(), "reason": "Leave of another"}
    house.send("PATCH", f"/api/user/{user}/roles/{given['id']}", ending)
    page = visit.open(f"/roles/{house.role('crossbill')['id']}", "crossbill")
    tabs = page.get_by_role("navigation", name=TABS).get_by_role("link")
    expect(tabs).to_have_text(["Permissions", "Members", "Effective access", "Request rule", "History"])
    press(tabs.nth(1))
    says(page.get_by_role("table"), "crossbill")
    expect(tabs.nth(1)).to_have_attribute("aria-current", "page")

    press(button(page, "Add a user"))
    page.get_by_label("Name, email or phone").last.fill("hawfinch")
    press(button(page.get_by_role("dialog"), "hawfinch"))
    preview = page.get_by_role("dialog", name="Assign the role crossbill to hawfinch?")
    says(preview, "Gain access")
    press(button(preview, "Add a user"))
    expect(page.get_by_role("row")).to_have_count(3)
    assert names(house, "crossbill") == ["crossbill", "hawfinch"]
    confirmed(page, button(page, "Remove crossbill"), "Remove")
    expect(button(page, "Remove hawfinch")).to_be_focused()  # that of the next row
    assert names(house, "crossbill") == ["hawfinch"]
    press(button(page, "Undo").last)
    expect(page.get_by_role("row")).to_have_count(3)
    [back] = house.send("GET", f"/api/user/{user}/roles")["items"]
    assert (datetime.fromisoformat(back["until"]), back["reason"]) == (until, "Leave of another")


def test_a_record_has_only_tabs_for_the_reader_and_its_history(visit: Visit, house: House) -> None:
    number = house.member("gadwall", "system:user:detail", "system:role:list", "system:policy:read")
    page = visit.open(f"/users/{number}", name="gadwall")
    tabs = page.get_by_role("navigation", name=TABS).get_by_role("link")
    expect(tabs).to_have_text(["Account", "Roles", "Effective access"])  # neither sessions nor logs
    press(tabs.last)
    expect(page.get_by_role("table")).to_contain_text("GET /api/user/{id}")

    press(page.get_by_role("main").get_by_role("link", name="gadwall", exact=True))
    expect(tabs).to_have_text(["Permissions", "Effective access", "Request rule"])
    press(tabs.nth(1))
    expect(page.get_by_role("table")).to_contain_text("GET /api/role/list")

    sent = {"userName": "smew", "nickName": "Smew", "password": "four wary herons"}
    user = house.make("user", **sent)
    house.wait_for_log("operation", target="user:smew")
    page.goto("about:blank")
    visit.sign_in(address=f"/users/{user}/history")
    headed(page, "smew")
    expect(page.get_by_role("table")).to_contain_text("admin created user smew")


@pytest.mark.extended
def test_a_click_anywhere_on_a_row_goes_to_its_record_and_the_name_is_its_one_link(visit: Visit) -> None:
    page = visit.open("/roles")
    row = page.get_by_role("row", name="Auditor")
    expect(row.get_by_role("link")).to_have_count(1)
    with page.context.expect_page() as opened:
        row.get_by_role("cell").nth(1).click(modifiers=["Control"])
    opened.value.close()
    expect(page.get_by_role("heading", level=1)).to_have_text("Roles")
    row.get_by_role("cell").nth(1).click()
    headed(page, "Auditor")
    visit.go("/users")
    page.get_by_role("row", name="admin").get_by_role("cell").first.click()  # where others have their box
    expect(page.get_by_role("heading", level=1)).to_have_text("Users")
