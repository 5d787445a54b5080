"""The console without a mouse: the focus is where the reader is."""

from __future__ import annotations

from playwright.sync_api import Route, expect

from tests.console.house import House
from tests.console.visits import Visit, settled


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
    expect(page.get_by_label("Event")).to_be_focused()
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


def test_a_narrow_page_scrolls_in_one_direction_only(visit: Visit, house: House) -> None:
    house.member("narrow")
    visit.sign_in("narrow")
    visit.page.set_viewport_size({"width": 320, "height": 640})
    for path in ("/", "/account", "/account/devices", "/account/sign-ins"):
        visit.page.evaluate("path => { location.hash = path; }", path)
        expect(visit.page.locator(f'main .page[data-path="{path}"]')).to_be_visible()
        settled(visit.page)
        assert visit.page.evaluate("document.documentElement.scrollWidth") == 320, path
    drawer = visit.page.get_by_role("button", name="Open the navigation")
    drawer.click()
    expect(visit.page.get_by_role("link", name="Home")).to_be_visible()
    visit.axe()
    visit.page.keyboard.press("Escape")
    expect(drawer).to_be_focused()


def test_the_navigation_of_a_narrow_page_keeps_the_focus_and_closes_when_it_is_used(
    visit: Visit, house: House
) -> None:
    house.member("drawn")
    visit.sign_in("drawn")
    page = visit.page
    page.set_viewport_size({"width": 320, "height": 640})
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/user/profile", hold)
    page.evaluate("location.hash = '/account'")
    expect(page.locator("main .loading")).to_be_visible()
    drawer = page.get_by_role("button", name="Open the navigation")
    drawer.click()
    held[0].continue_()
    settled(page)
    expect(page.locator("#side :focus")).to_have_count(1)
    page.get_by_label("Signed in as").click()
    page.get_by_role("link", name="Your devices").click()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(drawer).to_have_attribute("aria-expanded", "false")
