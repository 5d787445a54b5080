"""The way back: to the page of a list, to where it was scrolled, and to what had the focus."""

import re
from typing import Final

import pytest
from playwright.sync_api import Route, expect

from tests.console.acts import button, headed, hold
from tests.console.house import House
from tests.console.visits import Visit, settled

MANY: Final = 45
SECOND: Final = re.compile(f"^21.40 of {MANY}$")


def birds(house: House, word: str) -> None:
    """Make enough users for three pages, whose email has ``word``."""
    table = [
        {"userName": f"{word}{n:02}", "nickName": word, "email": f"{word}{n}@{word}.example", "roles": []}
        for n in range(MANY)
    ]
    house.send("POST", "/api/user/import", {"users": table})


@pytest.mark.feature("tables")
def test_the_way_back_leads_to_the_row_and_the_scroll_of_a_long_list(visit: Visit, house: House) -> None:
    birds(house, "spoonbill")
    page = visit.page
    page.set_viewport_size({"width": 1000, "height": 500})
    visit.sign_in(address="/users?email=spoonbill.example&sort=userName&size=50")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(1 + MANY)
    row = page.get_by_role("link", name="spoonbill40")
    row.focus()
    before = page.evaluate("scrollY")
    assert before > 500
    row.press("Enter")
    headed(page, "spoonbill40")
    assert page.evaluate("scrollY") == 0

    # Also when the rows come long after the view.
    held = hold(page, "**/api/user/list**")
    with page.expect_request("**/api/user/list**"):
        page.go_back()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    held[0].continue_()
    expect(row).to_be_focused()
    page.wait_for_function("before => scrollY === before", arg=before)


@pytest.mark.extended
def test_a_reader_who_scrolls_meanwhile_is_not_taken_back(visit: Visit, house: House) -> None:
    birds(house, "stilt")
    page = visit.page
    page.set_viewport_size({"width": 1000, "height": 500})
    visit.sign_in(address="/users?email=stilt.example&sort=userName&size=50")
    page.get_by_role("link", name="stilt40").press("Enter")
    headed(page, "stilt40")
    held = hold(page, "**/api/user/list**")
    with page.expect_request("**/api/user/list**"):
        page.go_back()
    page.keyboard.press("ArrowDown")
    held[0].continue_()
    expect(page.get_by_role("link", name="stilt40")).to_be_visible()
    settled(page)
    assert page.evaluate("scrollY") < 200
    expect(page.get_by_role("heading", level=1)).to_be_focused()


@pytest.mark.extended
def test_a_next_page_is_an_entry_of_the_history(visit: Visit, house: House) -> None:
    birds(house, "ruddy")
    page = visit.open("/account")
    visit.go("/users?email=ruddy.example&sort=userName")
    first, range_ = page.get_by_role("link", name="ruddy00"), page.locator(".range")
    expect(first).to_be_visible()
    next_ = button(page, "Next")
    next_.press("Enter")
    expect(range_).to_have_text(SECOND)
    expect(next_).to_be_focused()
    next_.press("Enter")
    expect(range_).to_have_text(re.compile(f"^41.{MANY} of"))
    expect(page.get_by_role("combobox", name="Rows")).to_be_focused()  # there is no next page

    page.go_back()
    expect(range_).to_have_text(SECOND)
    expect(next_).to_be_focused()
    page.go_back()
    expect(first).to_be_visible()
    assert "page=" not in page.url
    page.go_forward()
    expect(range_).to_have_text(SECOND)
    page.go_back()
    expect(first).to_be_visible()
    page.go_back()
    headed(page, "Your account")


@pytest.mark.extended
def test_the_pages_of_a_log_lead_back_one_by_one(visit: Visit, house: House) -> None:
    for name in ("a", "b", "c"):
        body = {"roleCode": f"shoveler-{name}", "roleName": f"Shoveler {name}"}
        house.send("POST", "/api/role", body)
    house.wait_for_log("operation", 3, module="role", kind="INSERT")
    page = visit.page

    def cut(route: Route) -> None:
        route.continue_(url=re.sub("size=[0-9]+", "size=1", route.request.url))

    page.route("**/api/operation-log/list**", cut)
    visit.sign_in(address="/logs/operations?module=role&kind=INSERT")
    seen = []
    for move in ("Next", "Next", "Previous", "Previous"):
        seen.append(page.get_by_role("row").nth(1).inner_text())
        with page.expect_response("**/api/operation-log/list**"):
            button(page, move).press("Enter")
        settled(page)
    seen.append(page.get_by_role("row").nth(1).inner_text())
    assert len(set(seen)) == 3
    assert seen[3:] == [seen[1], seen[0]]
