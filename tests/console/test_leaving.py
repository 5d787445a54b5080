"""Leaving a page with a dialog on it: the way back closes the dialog, and what was under way is told."""

from typing import Final

import pytest
from playwright.sync_api import expect

from tests.console.acts import act, button, follow, headed, hold, says
from tests.console.house import House
from tests.console.visits import Visit, settled

BACK: Final = "() => history.back()"


def test_the_way_back_closes_the_dialog_and_another_view_closes_all(visit: Visit, house: House) -> None:
    user = house.member("oystercatcher")
    page = visit.open("/users")
    visit.show(f"/users/{user}", "oystercatcher")
    dialog = page.get_by_role("dialog")
    act(page, "Delete")
    expect(dialog).to_contain_text("Delete user oystercatcher?")
    page.evaluate(BACK)
    expect(dialog).to_have_count(0)
    expect(page).to_have_url(f"{house.url}/console#/users/{user}")
    headed(page, "oystercatcher")
    act(page, "Delete")
    expect(dialog).to_be_visible()
    visit.show("/roles", "Roles")
    expect(dialog).to_have_count(0)
    page.evaluate(BACK)
    headed(page, "oystercatcher")
    page.evaluate(BACK)
    headed(page, "Users")
    page.evaluate("() => history.go(2)")
    headed(page, "Roles")
    house.send("GET", f"/api/user/{user}")


def test_a_question_about_leaving_is_closed_by_the_way_back_too(visit: Visit) -> None:
    page = visit.open("/account")
    visit.show("/roles", "Roles")
    visit.show("/roles/new", "New role")
    page.get_by_role("textbox", name="Name", exact=True).fill("Kept")
    page.evaluate(BACK)
    expect(page.get_by_role("dialog")).to_contain_text("Leave without saving?")
    page.evaluate(BACK)
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.wait_for_function("() => location.hash === '#/roles/new'")
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("Kept")
    settled(page)
    page.evaluate(BACK)
    follow(page.get_by_role("dialog"), "Leave", "Roles")
    page.evaluate(BACK)
    headed(page, "Your account")


@pytest.mark.parametrize("outcome", ["done", "refused"])
def test_an_act_whose_dialog_is_closed_meanwhile_is_reported(
    visit: Visit, house: House, outcome: str
) -> None:
    name = f"whinbill-{outcome}"
    user = house.member(name)
    page = visit.open("/users", "Users")
    visit.show(f"/users/{user}", name)
    held = hold(page, f"**/api/user/{user}*", "DELETE")
    act(page, "Delete")
    with page.expect_request(lambda request: request.method == "DELETE"):
        button(page.get_by_role("dialog"), "Delete this user").click()
    page.evaluate(BACK)
    expect(page.get_by_role("dialog")).to_have_count(0)
    if outcome == "done":
        held[0].continue_()
        says(page.locator("#messages"), f"User {name} was deleted.")
        headed(page, "Users")
    else:
        problem = {"code": "conflict", "title": "Conflict", "rule": "last_administrator"}
        held[0].fulfill(status=409, json=problem, content_type="application/problem+json")
        says(page.get_by_role("dialog"), "Not done: Delete this user", "This is the last administrator")


def test_a_change_that_leaving_the_page_cuts_off_is_reported(visit: Visit, house: House) -> None:
    user = house.member("stint")
    page = visit.open(f"/users/{user}", "stint")
    hold(page, f"**/api/user/{user}*", "DELETE")
    act(page, "Delete")
    with page.expect_request(lambda request: request.method == "DELETE"):
        button(page.get_by_role("dialog"), "Delete this user").click()
    visit.show("/roles", "Roles")
    expect(page.get_by_text("You left the page before the service responded.")).to_be_visible()
    settled(page)
