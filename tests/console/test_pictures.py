"""Pictures, and the tables that say the same."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.house import House
from tests.console.test_policy import narrow
from tests.console.test_users import headed
from tests.console.visits import Visit


def test_the_way_to_a_request_is_drawn_and_told_in_a_table(visit: Visit, house: House) -> None:
    house.member("wheatear", "system:role:list")
    visit.sign_in(address="/policy/explain?userName=wheatear&method=GET&path=%2Fapi%2Frole%2Flist")
    page = visit.page
    drawing = page.get_by_role("img", name="The way of wheatear to GET /api/role/list: Allowed")
    expect(drawing.locator(".box")).to_have_count(6)  # the user, a role, a code, two lines, the request
    expect(drawing.locator("text.name").first).to_have_text("wheatear")
    page.get_by_text("Show as table").click()
    table = page.get_by_role("table")
    expect(table.get_by_role("row", name="wheatear system:role:list gives the code")).to_be_visible()
    expect(table).to_contain_text("held exactly")
    visit.axe()
    narrow(page)
    visit.go("/policy/explain?userName=wheatear&method=DELETE&path=%2Fapi%2Frole%2F1")
    refused = page.get_by_role("img", name="The way of wheatear to DELETE /api/role/1: Refused")
    expect(refused.locator(".edge.bad")).not_to_have_count(0)


def test_sign_ins_and_refusals_are_bars_on_the_first_view_and_a_view_of_their_own(
    visit: Visit, house: House
) -> None:
    house.member("dunnock", "system:activity:list")
    visit.sign_in("dunnock")
    page = visit.page
    expect(page.get_by_role("img", name="in the last 24 hours")).to_be_visible()
    visit.axe()
    page.get_by_role("link", name="Seven days").click()
    headed(page, "Activity")
    drawing = page.get_by_role("img", name="in the last 168 hours")
    expect(drawing.locator("rect.good")).not_to_have_count(0)
    page.get_by_text("Show as table").click()
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(169)
    page.get_by_label("Span").select_option("3 days")
    expect(page.get_by_role("img", name="in the last 72 hours")).to_be_visible()
    visit.axe()
    narrow(page)


def test_the_guards_of_all_routes_are_one_bar(visit: Visit) -> None:
    visit.sign_in(address="/resources/coverage")
    page = visit.page
    routes = page.get_by_role("img", name="What endpoints require: ")
    expect(routes.locator("rect.good").first).to_be_visible()
    page.get_by_text("Show as table").first.click()
    expect(page.get_by_role("table").first).to_contain_text("%")
    visit.axe()
    narrow(page)


def test_revisions_and_changes_of_users_and_roles_share_one_axis_of_time(visit: Visit, house: House) -> None:
    house.api.post("/api/role", json={"roleCode": "whinchat", "roleName": "Whinchat"})
    made = {"resourceName": "Drawn", "resourceCode": "drawn", "method": "GET", "path": "/api/drawn"}
    number = house.api.post("/api/resource", json=made).json()["data"]["id"]
    house.api.delete(f"/api/resource/{number}")
    house.wait_for_log("operation", target="role:whinchat")
    page = visit.page
    visit.sign_in(address="/policy/revisions")
    drawing = page.get_by_role("img", name="Changes of the policy, of users and of roles by time")
    expect(drawing.locator("circle.good")).not_to_have_count(0)
    expect(drawing.locator("polygon.warn")).not_to_have_count(0)
    page.get_by_text("Show as table").click()
    expect(page.get_by_role("table").first.get_by_role("link", name="role:whinchat")).to_be_visible()
    visit.axe()
    narrow(page)
    page.get_by_role("link", name="a week ago").click()
    page.get_by_role("heading", level=1, name="From revision 1 to").wait_for()
    expect(page.get_by_label("Since")).not_to_have_value("")
    visit.axe()
