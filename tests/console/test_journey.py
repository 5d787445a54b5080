"""The first thing that people do: a role is made, previewed and given, and the log tells what followed."""

from typing import Final

import pytest
from playwright.sync_api import expect

from tests.console.acts import button, headed, says
from tests.console.house import House
from tests.console.test_home import ALL_LEFT, answer_with
from tests.console.visits import Visit
from tests.console.walks import Walk
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

MOST_CLICKS: Final = 14
"""One of them is the choice of how the user gets a password."""
ROLE: Final = {"roleName": "Tried", "roleCode": "tried"}


@pytest.mark.parametrize(
    "keys", [pytest.param(False, marks=pytest.mark.extended), True], ids=["mouse", "keys"]
)
def test_from_the_first_password_to_a_log_that_tells_who_was_refused_and_then_allowed(
    visit: Visit, house: House, keys: bool
) -> None:
    page, main = visit.page, visit.page.get_by_role("main")
    answer_with(visit, "**/api/system/first-steps", ALL_LEFT | {"password": True})
    visit.go()
    walk = Walk(page, keys=keys)
    walk.type(page.get_by_label("User name"), ADMINISTRATOR)
    walk.type(page.get_by_label("Password", exact=True), ADMINISTRATOR_PASSWORD)
    walk.act(button(page, "Sign in"))
    walk.follow("New role", "New role")
    walk.type(page.get_by_label("Name", exact=True), "Makers")
    walk.type(page.get_by_label("Code", exact=True), "makers")
    walk.act(button(page, "Create"))
    headed(page, "Makers")

    walk.to("Users")
    walk.follow("New user", "New user")
    walk.type(page.get_by_label("User name"), "wren")
    walk.type(page.get_by_label("Name", exact=True), "Wren")
    walk.check(page.get_by_role("radio", name="Set a password now"))
    walk.type(page.locator("input[type=password]"), ADMINISTRATOR_PASSWORD)
    walk.check(page.get_by_role("checkbox", name="Makers"))
    walk.act(button(page, "Create"))
    headed(page, "wren")
    assert house.ask("wren", "POST", "/api/role", ROLE).status_code == 403

    walk.act(main.get_by_role("link", name="Makers"))
    headed(page, "Makers")
    walk.type(page.get_by_label("Search by title or permission"), "role:create")
    code = page.get_by_role("treeitem", name="Create roles").last
    walk.act(code if keys else code.locator(".tick"), "Space")
    walk.act(button(page, "Preview and save"))
    says(walk.dialog(), "Gain access", "POST /api/role")
    walk.act(button(walk.dialog(), "Save"))
    expect(page.get_by_text("were saved.")).to_be_visible()
    assert house.ask("wren", "POST", "/api/role", ROLE).status_code == 201

    house.wait_for_log("operation", 4, userName="wren")
    walk.to("Audit log")
    walk.type(page.get_by_label("User", exact=True), "wren")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(5)
    says(rows.nth(1), "wren created role tried")
    says(rows.nth(2), "wren signed in")
    says(rows.nth(3), "wren was not allowed to create a role")
    walk.took(MOST_CLICKS)
