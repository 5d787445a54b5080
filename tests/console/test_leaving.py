"""Leaving a page with a dialog on it: the way back closes the dialog, and what was under way is told."""

from typing import Final

import pytest
from playwright.sync_api import Route, expect

from tests.console.house import House
from tests.console.test_users import act, button, headed
from tests.console.visits import Visit, settled

BACK: Final = "() => history.back()"


def test_the_way_back_closes_the_dialog_and_another_view_closes_all(visit: Visit, house: House) -> None:
    user = house.member("oystercatcher")
    page = visit.page
    visit.sign_in(address="/users")
    visit.go(f"/users/{user}")
    headed(page, "oystercatcher")
    dialog = page.get_by_role("dialog")
    act(page, "Delete")
    expect(dialog).to_contain_text("Delete user oystercatcher?")
    page.evaluate(BACK)
    expect(dialog).to_have_count(0)
    expect(page).to_have_url(f"{house.url}/console#/users/{user}")
    headed(page, "oystercatcher")
    act(page, "Delete")
    expect(dialog).to_be_visible()
    visit.go("/roles")
    headed(page, "Roles")
    expect(dialog).to_have_count(0)
    page.evaluate(BACK)
    headed(page, "oystercatcher")
    page.evaluate(BACK)
    headed(page, "Users")
    page.evaluate("() => history.go(2)")
    headed(page, "Roles")
    assert house.api.get(f"/api/user/{user}").status_code == 200


def test_a_question_about_leaving_is_closed_by_the_way_back_too(visit: Visit) -> None:
    page = visit.page
    visit.sign_in(address="/account")
    visit.go("/roles")
    headed(page, "Roles")
    visit.go("/roles/new")
    headed(page, "New role")
    page.get_by_role("textbox", name="Name", exact=True).fill("Kept")
    page.evaluate(BACK)
    expect(page.get_by_role("dialog")).to_contain_text("Leave without saving?")
    page.evaluate(BACK)
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.wait_for_function("() => location.hash === '#/roles/new'")
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("Kept")
    settled(page)
    page.evaluate(BACK)
    button(page.get_by_role("dialog"), "Leave").click()
    headed(page, "Roles")
    page.evaluate(BACK)
    headed(page, "Your account")


@pytest.mark.parametrize("outcome", ["done", "refused"])
def test_an_act_whose_dialog_is_closed_meanwhile_is_told(visit: Visit, house: House, outcome: str) -> None:
    user = house.member(f"whinbill-{outcome}")
    page = visit.page
    visit.sign_in(address="/users")
    visit.go(f"/users/{user}")
    headed(page, f"whinbill-{outcome}")
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "DELETE" and "dryRun" not in route.request.url:
            held.append(route)
        else:
            route.continue_()

    page.route(f"**/api/user/{user}*", hold)
    act(page, "Delete")
    with page.expect_request(lambda request: request.method == "DELETE"):
        button(page.get_by_role("dialog"), "Delete this user").click()
    page.evaluate(BACK)
    expect(page.get_by_role("dialog")).to_have_count(0)
    if outcome == "done":
        held[0].continue_()
        expect(page.locator("#messages")).to_contain_text(f"User whinbill-{outcome} was deleted.")
        headed(page, "Users")
    else:
        problem = {"code": "conflict", "title": "Conflict", "rule": "last_administrator"}
        held[0].fulfill(status=409, json=problem, content_type="application/problem+json")
        expect(page.get_by_role("dialog")).to_contain_text("Not done: Delete this user")
        expect(page.get_by_role("dialog")).to_contain_text("This is the last administrator")


def test_a_change_that_leaving_the_page_cuts_off_is_told(visit: Visit, house: House) -> None:
    user = house.member("stint")
    page = visit.page
    visit.sign_in(address="/users")
    visit.go(f"/users/{user}")
    headed(page, "stint")
    page.route(
        f"**/api/user/{user}*",
        lambda route: None if route.request.method == "DELETE" and "dry" not in route.request.url
        else route.continue_(),
    )  # fmt: skip
    act(page, "Delete")
    with page.expect_request(lambda request: request.method == "DELETE"):
        button(page.get_by_role("dialog"), "Delete this user").click()
    visit.go("/roles")
    headed(page, "Roles")
    expect(page.get_by_text("You left the page before the service responded.")).to_be_visible()
    settled(page)
