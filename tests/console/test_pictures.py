"""Pictures, and the tables that say the same."""

import pytest
from playwright.sync_api import expect

from tests.console.acts import card, follow, headed
from tests.console.house import House
from tests.console.visits import Visit


@pytest.mark.extended
def test_sign_ins_and_refusals_are_bars_on_two_views(visit: Visit, house: House) -> None:
    house.member("dunnock", "system:activity:list")
    visit.sign_in("dunnock")
    page = visit.page
    expect(page.get_by_role("img", name="in the last 24 hours")).to_be_visible()
    follow(page, "Seven days", "Activity")
    drawing = page.get_by_role("img", name="in the last 168 hours")
    expect(drawing.locator("rect.good")).not_to_have_count(0)
    page.get_by_text("Show as table").click()
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(169)
    page.get_by_label("Span").select_option("3 days")
    expect(page.get_by_role("img", name="in the last 72 hours")).to_be_visible()


@pytest.mark.extended
def test_revisions_and_changes_of_users_and_roles_share_one_axis_of_time(visit: Visit, house: House) -> None:
    role = house.send("POST", "/api/role", {"roleCode": "whinchat", "roleName": "Whinchat"})
    described = house.api.patch(
        f"/api/role/{role['id']}", json={"description": "Sings"}, headers={"If-Match": "*"}
    )
    assert described.status_code == 200, described.text
    number = house.resource("GET /api/drawn", "Drawn")
    house.send("DELETE", f"/api/resource/{number}")
    house.wait_for_log("operation", count=2, target="role:whinchat")
    page = visit.open("/policy/revisions")
    drawing = page.get_by_role("img", name="Changes of the policy, of users and of roles by time")
    expect(drawing.locator("circle.good")).not_to_have_count(0)
    expect(drawing.locator(":is(circle, polygon).warn")).not_to_have_count(0)
    page.get_by_text("Show as table").click()
    expect(
        page.get_by_role("table").first.get_by_role("link", name="admin created role whinchat")
    ).to_be_visible()


@pytest.mark.extended
def test_the_path_to_a_request_is_shown_on_the_page_of_a_user(visit: Visit, house: House) -> None:
    user = house.member("linnet", "system:role:list")
    page = visit.open(f"/users/{user}/access")
    choice = card(page, "Path to an endpoint")
    choice.get_by_label("Method").select_option("DELETE")
    choice.get_by_role("button", name="Show the path").click()
    expect(choice).to_contain_text("Fill this in")
    choice.get_by_label("Path").fill("/api/role/1")
    choice.get_by_label("Path").press("Enter")
    shown = page.get_by_role("dialog", name="Path to DELETE /api/role/1")
    expect(shown.get_by_role("img", name="Path from linnet to DELETE /api/role/1: Refused")).to_be_visible()
    shown.get_by_role("button", name="Close").click()

    page.get_by_role("button", name="Path to GET /api/role/list").click()
    shown = page.get_by_role("dialog", name="Path to GET /api/role/list")
    expect(shown.get_by_role("img", name="Path from linnet to GET /api/role/list: Allowed")).to_be_visible()
    shown.get_by_text("Show as table").click()
    expect(shown.get_by_role("row", name="linnet system:role:list gives the permission")).to_be_visible()
    visit.axe()
    shown.get_by_role("link", name="Full explanation").click()
    headed(page, "Explain")
    expect(page.get_by_role("img", name="Path from linnet to GET /api/role/list: Allowed")).to_be_visible()


@pytest.mark.extended
def test_changes_of_rights_have_a_row_of_their_own(visit: Visit, house: House) -> None:
    user = house.member("twite")
    role = house.make("role", roleCode="twite-more", roleName="Twite more")
    house.send("PATCH", f"/api/user/{user}", {"roleIds": [role]})
    house.send("PATCH", f"/api/user/{user}", {"nickName": "Twite"})
    house.wait_for_log("operation", 2, target="user:twite")
    page = visit.open(f"/users/{user}/history")
    drawing = page.get_by_role("img", name="Changes of user:twite by time")
    expect(drawing.locator(".info")).to_have_count(1)
    expect(drawing.locator(".warn")).to_have_count(1)
    page.get_by_text("Show as table").click()
    rights = page.get_by_role("row", name="Changes of rights")
    expect(rights).to_contain_text("admin gave role twite-more to twite")
    visit.axe()
    visit.show("/policy/revisions", "Revisions")
    page.get_by_text("Show as table").click()
    expect(page.get_by_role("row", name="Access of users admin gave role twite-more")).to_be_visible()
