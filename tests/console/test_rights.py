"""Rights that somebody gives or takes while the console is open."""

import pytest
from playwright.sync_api import expect

from tests.console.acts import button, headed
from tests.console.house import House
from tests.console.visits import Visit, settled


def give(house: House, user: int, *roles: str) -> None:
    """Give a user, who had none but the one of the same name, these roles by code."""
    known = house.send("GET", "/api/role/list?size=200")["items"]
    ids = [role["id"] for role in known if role["roleCode"] in roles]
    assert len(ids) == len(roles)
    house.send("PATCH", f"/api/user/{user}", {"roleIds": ids})


def test_a_view_is_shown_that_a_role_just_given_allows(visit: Visit, house: House) -> None:
    user = house.member("joiner")
    page = visit.page
    visit.sign_in("joiner")
    expect(page.get_by_role("link", name="Roles", exact=True)).to_have_count(0)
    give(house, user, "joiner", "auditor")

    visit.go("/roles")

    headed(page, "Roles")
    expect(page.get_by_role("table")).to_contain_text("auditor")
    expect(page.get_by_role("link", name="Roles", exact=True)).to_be_visible()
    expect(page.get_by_text("Your permissions have changed")).to_be_visible()


@pytest.mark.extended
def test_who_is_refused_can_check_again(visit: Visit, house: House) -> None:
    user = house.member("waiting")
    page = visit.open("/roles", "You have no access to this page", "waiting")
    expect(page.get_by_role("main")).to_contain_text("GET /api/role/list")
    visit.axe()
    button(page, "Check again").press("Enter")
    expect(page.get_by_text("Your roles do not give access to this page yet.")).to_be_visible()
    expect(button(page, "Check again")).to_be_focused()

    give(house, user, "waiting", "auditor")
    button(page, "Check again").press("Enter")

    headed(page, "Roles")
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_the_navigation_of_an_open_page_gets_its_entry_with_a_given_role(visit: Visit, house: House) -> None:
    user = house.member("watching")
    page = visit.open("/account/sign-ins", "Your sign-ins", "watching")
    entry = page.get_by_role("link", name="Roles", exact=True)
    expect(entry).to_have_count(0)
    give(house, user, "watching", "auditor")
    expect(entry).to_be_visible()
    give(house, user, "watching")
    expect(entry).to_have_count(0)


def test_a_role_given_meanwhile_is_noticed_when_the_reader_comes_back(visit: Visit, house: House) -> None:
    user = house.member("returning")
    page = visit.open("/roles", "You have no access to this page", "returning")
    give(house, user, "returning", "auditor")

    page.evaluate("dispatchEvent(new Event('focus'))")

    headed(page, "Roles")
    expect(page.get_by_role("link", name="Roles", exact=True)).to_be_visible()
    give(house, user, "returning")
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.get_by_role("link", name="Roles", exact=True)).to_have_count(0)
    settled(page)
    headed(page, "Roles")  # what is shown stays, and nothing typed is lost
