"""Directories in a browser: what each hands out, set after a preview; and the accounts that they manage."""

import pytest
from playwright.sync_api import expect

from tests.console.acts import act, button, headed
from tests.console.conftest import _closed, house, visit, visitor
from tests.console.house import House
from tests.console.visits import Visit

__all__ = ["_closed", "house", "visit", "visitor"]  # fixtures

MANAGED = (
    "INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)"
    " VALUES ('hobby', '', %s, %s, true)"
)
GIVEN = (
    "INSERT INTO sys.user_role (user_id, role_id, source, directory, valid_until)"
    " SELECT %s, id, 'directory', 'hobby', now() + interval '12 hours'"
    " FROM sys.role WHERE role_code = 'merlin'"
)


@pytest.fixture
def wigeon(house: House) -> int:
    """A user whom a directory is to manage, the service account ``hobby``, and the role ``merlin``."""
    house.member("merlin", "system:file:list")
    body = {"userName": "hobby", "nickName": "Feed", "kind": "service"}
    house.send("POST", "/api/user", body)
    return house.member("wigeon")


@pytest.mark.extended
def test_a_mapping_is_set_below_its_ceiling_and_what_it_no_longer_gives_ends(
    visit: Visit, house: House, wigeon: int
) -> None:
    page = visit.page
    visit.sign_in(address="/directories")
    page.get_by_role("link", name="New directory").click()
    headed(page, "New directory")
    page.get_by_label("Name", exact=True).fill("hobby")
    page.get_by_role("combobox", name="Service account").fill("hobby")
    button(page, "Add a group").click()
    page.get_by_label("Group 1", exact=True).fill("Readers")
    page.get_by_label("Roles of group 1").fill("merlin")
    visit.axe()
    button(page, "Save").click()
    fault = page.locator(".field .fault", has_text="Readers, merlin")
    expect(fault).to_contain_text("The role has system:file:list, which is above the ceiling")
    page.get_by_role("group", name="Ceiling").get_by_role("searchbox").fill("file:list")
    page.get_by_label("system:file:list").check()
    button(page, "Save").click()
    dialog = page.get_by_role("dialog", name="Save the directory hobby?")
    button(dialog, "Save").click()
    headed(page, "hobby")
    table = page.get_by_role("table", name="Groups and their roles")
    expect(table.get_by_role("row", name="Readers")).to_contain_text("merlin")
    visit.axe()
    visit.picture("directory")

    house.execute(GIVEN, wigeon)
    page.get_by_role("link", name="Edit").click()
    headed(page, "Edit the directory hobby")
    button(page, "Remove group 1").click()
    page.get_by_label("system:file:list").uncheck()
    button(page, "Save").click()
    expect(dialog).to_contain_text("GET /api/file/list")  # what the user loses
    button(dialog, "Save").click()
    headed(page, "hobby")
    expect(page.get_by_role("main")).to_contain_text("No group assigns a role.")
    assert house.send("GET", "/api/assignment/list?source=directory")["items"] == []

    act(page, "Cut off")
    button(page.get_by_role("dialog"), "Cut off").click()
    expect(page.locator(".head .badges")).to_have_text("Cut off")
    act(page, "Delete")
    button(page.get_by_role("dialog"), "Delete this directory").click()
    headed(page, "Directories")
    assert house.api.get("/api/directory/hobby").status_code == 404


@pytest.mark.extended
def test_what_a_directory_manages_is_disabled_with_the_reason(visit: Visit, house: House) -> None:
    godwit = house.member("bar-godwit")
    house.member("golden-plover", "system:file:list")
    house.execute(MANAGED, f"id-{godwit}", godwit)
    house.execute(GIVEN.replace("merlin", "golden-plover"), godwit)
    page = visit.open(f"/users/{godwit}", "bar-godwit")
    expect(page.locator(".note")).to_contain_text("The directory hobby manages this account")
    page.locator("summary", has_text="More actions").click()
    for name in ("Disable", "Delete"):
        expect(button(page, name)).to_be_disabled()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Directories").last.click()
    expect(page.get_by_role("table", name="Directories with this user")).to_contain_text(f"id-{godwit}")
    expect(button(page, "Unlink: hobby")).to_be_disabled()
    visit.axe()

    page.get_by_role("link", name="Roles", exact=True).last.click()
    ending = page.get_by_role("row", name="golden-plover")
    expect(ending.first).to_contain_text("hobby")
    expect(button(page, "End now: golden-plover")).to_be_disabled()
    visit.go(f"/users/{godwit}/edit")
    headed(page, "Edit bar-godwit")
    expect(page.get_by_label("Email")).to_have_attribute("readonly", "")


def test_who_may_only_read_directories_changes_none(visit: Visit, house: House) -> None:
    house.member("merlin-reader", "system:directory:list")
    visit.sign_in("merlin-reader", "/directories")
    headed(visit.page, "Directories")
    expect(visit.page.get_by_role("link", name="New directory")).to_have_count(0)
