"""The console without a mouse: the focus is where the reader is, before and after what was done."""

import re

import pytest
from playwright.sync_api import expect

from tests.console.acts import button, confirmed, headed, hold, press
from tests.console.house import House
from tests.console.visits import Visit, settled


@pytest.mark.extended
def test_the_focus_follows_views_and_returns_on_the_way_back(visit: Visit, house: House) -> None:
    house.member("typist")
    visit.sign_in_by_hand("typist")
    page, press = visit.page, visit.page.keyboard.press
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_be_focused()
    press("g")
    press("a")
    expect(heading).to_have_text("Your account")
    expect(heading).to_be_focused()
    name = page.get_by_label("Name", exact=True)
    name.focus()
    press("?")  # typed, not a shortcut
    expect(name).to_have_value("typist?")
    name.fill("typist")
    press("Tab")
    page.get_by_label("Email").focus()
    page.evaluate("location.hash = '/account/sign-ins'")
    page.get_by_role("dialog").get_by_role("button", name="Leave").click()
    expect(heading).to_have_text("Your sign-ins")
    expect(heading).to_be_focused()
    press("/")
    expect(page.get_by_role("combobox", name="Event")).to_be_focused()
    page.go_back()
    expect(heading).to_have_text("Your account")
    expect(page.get_by_label("Email")).to_be_focused()
    heading.focus()
    press("?")
    shortcuts = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shortcuts).to_contain_text("Show these shortcuts")
    visit.axe()
    press("Escape")
    expect(shortcuts).to_have_count(0)
    expect(heading).to_be_focused()
    page.get_by_role("link", name="Skip to the content").focus()
    press("Enter")
    expect(page.get_by_role("main")).to_be_focused()


@pytest.mark.extended
def test_the_navigation_of_a_narrow_page_keeps_the_focus_and_closes(visit: Visit, house: House) -> None:
    house.member("drawn")
    visit.sign_in("drawn")
    page = visit.page
    page.set_viewport_size({"width": 320, "height": 640})
    drawer = button(page, "Open the navigation")
    drawer.click()
    expect(page.get_by_role("link", name="Home")).to_be_visible()
    visit.axe()
    page.keyboard.press("Escape")
    expect(drawer).to_be_focused()
    held = hold(page, "**/api/user/profile")
    page.evaluate("location.hash = '/account'")
    expect(page.locator("main .loading")).to_be_visible()
    drawer.click()
    held[0].continue_()
    settled(page)
    expect(page.locator("#side :focus")).to_have_count(1)
    page.get_by_label("Signed in as").click()
    page.get_by_role("link", name="Your sessions").click()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(drawer).to_have_attribute("aria-expanded", "false")


def test_the_focus_stays_with_what_was_done_to_a_user(visit: Visit, house: House) -> None:
    user = house.member("siskin", "system:role:list")
    house.log_in("siskin")
    house.log_in("siskin")
    page = visit.open(f"/users/{user}/sessions", "siskin")
    heading = page.get_by_role("heading", level=1)
    ends = page.get_by_role("button", name=re.compile("^End the session on console-"))
    expect(ends).to_have_count(2)

    confirmed(page, ends.first, "End")
    expect(ends).to_have_count(1)
    expect(ends).to_be_focused()  # that of the next row
    confirmed(page, ends, "End")
    expect(page.get_by_text("This user is not signed in.")).to_be_visible()
    expect(heading).to_be_focused()

    more = page.locator("summary", has_text="More actions")
    press(more)
    page.keyboard.press("Tab")
    expect(button(page, "Disable")).to_be_focused()
    page.keyboard.press("Escape")
    expect(more).to_be_focused()
    expect(button(page, "Disable")).to_have_count(0)
    press(more)
    confirmed(page, button(page, "Ban"), "Ban this user")
    expect(page.locator(".titled .badge.bad")).to_have_text("Banned")
    expect(more).to_be_focused()
    press(more)
    press(button(page, "Lift the ban"))
    expect(page.locator(".titled .badge")).to_have_count(0)
    expect(more).to_be_focused()
    press(more)
    confirmed(page, button(page, "Disable"), "Disable")
    expect(page.locator(".titled .badge")).to_have_text("Disabled")
    press(button(page, "Undo").last)
    expect(page.locator(".titled .badge")).to_have_count(0)
    expect(more).to_be_focused()

    press(more)
    confirmed(page, button(page, "Delete"), "Delete this user")
    headed(page, "Users")
    expect(heading).to_be_focused()


def test_the_focus_is_back_in_the_view_when_a_message_goes(visit: Visit, house: House) -> None:
    page = visit.page
    role = house.make("role", roleCode="told", roleName="Told")
    visit.sign_in(address=f"/roles/{role}")
    headed(page, "Told")
    more = page.locator("summary", has_text="More actions")
    press(more)
    confirmed(page, button(page, "Disable"), "Disable")
    expect(more).to_be_focused()
    press(page.get_by_role("status").get_by_role("button", name="Close"))
    expect(more).to_be_focused()


def test_a_reader_who_goes_elsewhere_meanwhile_stays_there(visit: Visit) -> None:
    page = visit.open("/jobs", "Jobs")
    held = hold(page, "**/api/jobs")
    with page.expect_request("**/api/jobs"):
        press(button(page, "Refresh"))
    home = page.get_by_role("navigation").get_by_role("link", name="Home")
    home.focus()
    with page.expect_response("**/api/jobs"):
        held[0].continue_()
    settled(page)
    expect(home).to_be_focused()
