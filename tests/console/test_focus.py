"""The focus after what was done: where the reader was, or at what stands there now, and never on the body."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, Route, expect

from tests.console.house import House
from tests.console.test_users import button, headed
from tests.console.visits import Visit, settled


def press(control: Locator) -> None:
    """Do by the keyboard what a control is for."""
    control.focus()
    control.press("Enter")


def confirmed(page: Page, control: Locator, confirm: str) -> None:
    """Press a control, and the button that confirms, once the dialog has it; wait until all is loaded."""
    press(control)
    press(button(page.get_by_role("dialog"), confirm))
    expect(page.get_by_role("dialog")).to_have_count(0)
    settled(page)


def test_the_focus_stays_with_what_was_done_to_a_user(visit: Visit, house: House) -> None:
    user = house.member("siskin", "system:role:list")
    house.log_in("siskin")
    house.log_in("siskin")
    page = visit.page
    visit.sign_in(address=f"/users/{user}")
    headed(page, "siskin")
    heading = page.get_by_role("heading", level=1)
    ends = page.get_by_role("button", name=re.compile("^End the session on console-"))
    expect(ends).to_have_count(2)

    confirmed(page, ends.first, "End")
    expect(ends).to_have_count(1)
    expect(ends).to_be_focused()  # that of the next row
    confirmed(page, ends, "End")
    expect(page.get_by_text("This user is not signed in.")).to_be_visible()
    expect(heading).to_be_focused()

    confirmed(page, button(page, "Ban"), "Ban this user")
    expect(button(page, "Lift the ban")).to_be_focused()
    press(button(page, "Lift the ban"))
    expect(button(page, "Ban")).to_be_focused()
    confirmed(page, button(page, "Disable"), "Disable")
    expect(button(page, "Enable")).to_be_focused()
    press(button(page, "Undo").last)
    expect(button(page, "Disable")).to_be_focused()

    confirmed(page, button(page, "Delete"), "Delete this user")
    headed(page, "Users")
    expect(heading).to_be_focused()


def test_the_focus_goes_from_row_to_row_and_to_the_heading_after_the_last(visit: Visit, house: House) -> None:
    made = {"userName": "wader", "nickName": "wader", "kind": "service"}
    user = house.api.post("/api/user", json=made).json()["data"]["id"]
    for name in ("first", "second"):
        assert house.api.post(f"/api/user/{user}/keys", json={"name": name}).status_code == 201
    page = visit.page
    visit.sign_in(address=f"/users/{user}/keys")
    headed(page, "API keys of wader")
    make = button(page, "Make a key")
    press(make)
    page.get_by_role("dialog").get_by_label("Name").fill("third")
    press(button(page.get_by_role("dialog"), "Make a key"))
    expect(page.get_by_role("dialog")).to_contain_text("shown only now")
    page.keyboard.press("Escape")
    expect(make).to_be_focused()
    expect(page.get_by_role("row")).to_have_count(4)

    delete = page.get_by_role("button", name="Delete: ")
    confirmed(page, delete.first, "Delete")
    expect(delete).to_have_count(2)
    expect(delete.first).to_be_focused()
    confirmed(page, delete.last, "Delete")
    expect(delete).to_have_count(1)
    expect(delete).to_be_focused()  # that of the row that is the last one now
    confirmed(page, delete, "Delete")
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_the_focus_is_back_in_the_view_when_a_message_goes(visit: Visit, house: House) -> None:
    page = visit.page
    role = house.api.post("/api/role", json={"roleCode": "told", "roleName": "Told"}).json()["data"]["id"]
    visit.sign_in(address=f"/roles/{role}")
    headed(page, "Told")
    confirmed(page, button(page, "Disable"), "Disable")
    expect(button(page, "Enable")).to_be_focused()
    press(page.get_by_role("status").get_by_role("button", name="Close"))
    expect(button(page, "Enable")).to_be_focused()


def test_a_reader_who_goes_elsewhere_meanwhile_stays_there(visit: Visit) -> None:
    page = visit.page
    visit.sign_in(address="/jobs")
    headed(page, "Jobs")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/jobs", hold)
    with page.expect_request("**/api/jobs"):
        press(button(page, "Read again"))
    home = page.get_by_role("navigation").get_by_role("link", name="Home")
    home.focus()
    with page.expect_response("**/api/jobs"):
        held[0].continue_()
    settled(page)
    expect(home).to_be_focused()
