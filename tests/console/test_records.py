"""The pages of records: their tabs, who has a role, what it may do, and what was done to it."""

import pytest
from playwright.sync_api import expect

from tests.console.house import House
from tests.console.test_keyboard import confirmed, press
from tests.console.test_policy import narrow
from tests.console.test_users import button, headed
from tests.console.visits import Visit, settled

TABS = "Parts of this page"


def role_of(house: House, code: str) -> int:
    """Return the id of a role."""
    (role,) = house.api.get("/api/role/list", params={"roleCode": code}).json()["data"]["items"]
    number: int = role["id"]
    return number


def names(house: House, code: str) -> list[str]:
    """Return the users who have a role, by name."""
    query = {"roleCode": code, "sort": "userName"}
    users = house.api.get("/api/user/list", params=query).json()["data"]["items"]
    return [user["userName"] for user in users]


@pytest.mark.extended
def test_a_user_gets_a_role_and_loses_it_on_the_page_of_the_role(visit: Visit, house: House) -> None:
    house.member("crossbill", "system:role:list")
    house.member("hawfinch")
    role = role_of(house, "crossbill")
    page = visit.page
    visit.sign_in(address=f"/roles/{role}")
    tabs = page.get_by_role("navigation", name=TABS).get_by_role("link")
    expect(tabs).to_have_text(["Permissions", "Members", "Effective access", "Request rule", "History"])
    press(tabs.nth(1))
    expect(page.get_by_role("table")).to_contain_text("crossbill")
    expect(tabs.nth(1)).to_have_attribute("aria-current", "page")
    assert page.url.endswith(f"/roles/{role}/members")

    press(button(page, "Add a user"))
    page.get_by_label("Name, email or phone").last.fill("hawfinch")
    press(button(page.get_by_role("dialog"), "hawfinch"))
    preview = page.get_by_role("dialog", name="Assign the role crossbill to hawfinch?")
    expect(preview).to_contain_text("Gain access")
    press(button(preview, "Add a user"))
    expect(page.get_by_role("row")).to_have_count(3)
    assert names(house, "crossbill") == ["crossbill", "hawfinch"]
    visit.axe()
    confirmed(page, button(page, "Remove crossbill"), "Remove")
    expect(button(page, "Remove hawfinch")).to_be_focused()  # that of the next row
    assert names(house, "crossbill") == ["hawfinch"]
    press(button(page, "Undo").last)
    expect(page.get_by_role("row")).to_have_count(3)
    assert names(house, "crossbill") == ["crossbill", "hawfinch"]


def test_a_record_shows_what_it_allows_and_its_history_and_only_tabs_for_the_reader(
    visit: Visit, house: House
) -> None:
    number = house.member("gadwall", "system:user:detail", "system:role:list", "system:policy:read")
    page = visit.page
    visit.sign_in("gadwall", f"/users/{number}")
    tabs = page.get_by_role("navigation", name=TABS).get_by_role("link")
    expect(tabs).to_have_text(["Account", "Roles", "Effective access"])  # neither sessions nor logs
    press(tabs.last)
    expect(page.get_by_role("table")).to_contain_text("GET /api/user/{id}")

    press(page.get_by_role("main").get_by_role("link", name="gadwall", exact=True))
    expect(tabs).to_have_text(["Permissions", "Effective access", "Request rule"])
    press(tabs.nth(1))
    expect(page.get_by_role("table")).to_contain_text("GET /api/role/list")

    sent = {"userName": "smew", "nickName": "Smew", "password": "four wary herons"}
    user = house.api.post("/api/user", json=sent).json()["data"]["id"]
    house.wait_for_log("operation", target="user:smew")
    page.goto("about:blank")
    visit.sign_in(address=f"/users/{user}/history")
    headed(page, "smew")
    expect(page.get_by_role("table")).to_contain_text("admin created user smew")
    narrow(page)
    settled(page)
    visit.axe()


@pytest.mark.extended
def test_a_click_anywhere_on_a_row_goes_to_its_record_and_the_name_is_its_one_link(visit: Visit) -> None:
    page = visit.page
    visit.sign_in(address="/roles")
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
