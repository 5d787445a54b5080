"""What helps to find and to type: the palette, and fields with suggestions."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.acts import button, headed, unfold_question
from tests.console.house import House
from tests.console.visits import Visit

APP = "Authenticator app, passkeys"


def options(page: Page) -> Locator:
    return page.locator("[role=option]")


def palette(page: Page, keys: str = "Control+k") -> Locator:
    """Open the palette, and wait until it has the focus."""
    page.keyboard.press(keys)
    opened = page.get_by_role("dialog", name="Go to")
    expect(opened.get_by_role("combobox")).to_be_focused()
    return opened


def test_the_palette_leads_by_keys_alone_to_pages_and_records(visit: Visit, house: House) -> None:
    number = house.member("nightjar", "system:role:list")
    page, press = visit.page, visit.page.keyboard.press
    visit.sign_in(address="/users")
    page.get_by_label("Name, email or phone").focus()
    opened = palette(page)  # also from a field
    expect(options(page).first).to_have_text("Home")
    page.keyboard.type("nightj")
    expect(opened.get_by_role("group", name="Users")).to_contain_text("nightjar")
    expect(opened.get_by_role("group", name="Roles")).to_contain_text("nightjar")
    visit.axe()
    visit.picture("palette")
    press("Enter")  # the first is chosen already
    headed(page, "nightjar")
    assert page.url.endswith(f"/users/{number}")

    palette(page, "Meta+k")
    page.keyboard.type("/api/user/{id}")
    expect(options(page).first).to_contain_text("/api/user/{id}")
    press("Escape")
    expect(opened).to_have_count(0)
    button(page, "Go to…").click()
    expect(opened.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("health")
    press("ArrowUp")
    press("ArrowDown")
    expect(options(page)).to_have_text(["System health"])
    press("Enter")
    headed(page, "System health")


def test_the_palette_knows_what_people_call_things(visit: Visit) -> None:
    page = visit.page
    visit.sign_in()
    for word, named in (
        ("2fa", APP),
        ("authenticator app", APP),
        ("import", "Users"),
        ("restore", "Revisions"),
    ):
        palette(page)
        page.keyboard.type(word)
        expect(options(page).first).to_have_text(named)
        page.keyboard.press("Escape")


def test_the_palette_asks_for_nothing_that_the_caller_may_not_see(visit: Visit, house: House) -> None:
    house.member("nuthatch", "system:role:list")
    page = visit.page
    visit.sign_in("nuthatch")
    asked: list[str] = []
    visit.hear("request", lambda request: asked.append(request.url) if "/list" in request.url else None)
    palette(page)
    expect(options(page)).to_have_text(
        [
            "Home",
            "Roles",
            "Requests",
            "Reviews",
            "Ask for access",
            "Your account",
            APP,
            "Notices",
            "Your sessions",
            "API keys",
            "Agents that act for you",
            "Approvals",
            "Your sign-ins",
        ]
    )
    page.keyboard.type("nuthatch")
    expect(page.get_by_role("group", name="Roles")).to_contain_text("nuthatch")
    assert {re.sub(r".*/api/([\w-]+)/.*", r"\1", url) for url in asked} == {"role", "access-request"}


@pytest.mark.extended
def test_paths_and_codes_are_suggested_and_taken_by_keys(visit: Visit, house: House) -> None:
    number = house.resource("GET /api/nests", "Nests")
    page, press = visit.page, visit.page.keyboard.press
    visit.sign_in(address="/policy/explain")
    page.get_by_label("Who", exact=True).select_option("Holder of permissions")
    path = page.get_by_role("combobox", name="Path")
    path.fill("/api/nest")
    expect(page.get_by_role("group", name="Registered resources")).to_have_text(
        "Registered resources/api/nests"
    )
    press("Enter")  # nothing is chosen yet: the form is sent
    expect(page.get_by_role("region", name="Answer")).to_be_visible()
    expect(options(page)).to_have_count(0)

    unfold_question(page)
    path.fill("/api/rol")
    routes = page.get_by_role("group", name="Routes of this service")
    expect(routes.get_by_role("option", name="/api/role/{id}", exact=True)).to_be_visible()
    visit.axe()
    visit.picture("suggestions")
    press("ArrowUp")
    expect(options(page).last).to_have_attribute("aria-selected", "true")
    press("Escape")
    expect(options(page)).to_have_count(0)
    expect(path).to_have_value("/api/rol")
    expect(path).to_have_attribute("aria-expanded", "false")
    press("ArrowDown")  # opens it again
    expect(options(page).first).to_be_visible()
    press("ArrowDown")
    chosen = options(page).first.inner_text()
    expect(path).to_have_attribute("aria-activedescendant", options(page).first.get_attribute("id") or "")
    press("Enter")
    expect(path).to_have_value(chosen)

    codes = page.get_by_role("combobox", name="Permissions")
    codes.fill("system:role:list, user:del")
    page.get_by_role("option", name=re.compile("^system:user:delete")).click()
    expect(codes).to_have_value("system:role:list, system:user:delete")
    expect(codes).to_be_focused()
    house.send("DELETE", f"/api/resource/{number}")


def test_escape_closes_suggestions_in_a_dialog_and_leaves_the_dialog(visit: Visit, house: House) -> None:
    made = {"userName": "nutcracker", "nickName": "nutcracker", "kind": "service"}
    user = house.make("user", **made)
    page = visit.open(f"/users/{user}/keys")
    button(page, "Create a key").click()
    page.get_by_role("combobox", name="Limited to").fill("system:user")
    expect(options(page).first).to_be_visible()
    page.keyboard.press("Escape")
    expect(options(page)).to_have_count(0)
    expect(page.get_by_role("dialog")).to_be_visible()
