"""The views of roles, as an administrator uses them."""

import pytest
from playwright.sync_api import Page, expect

from tests.console.acts import act, button, follow, headed
from tests.console.house import House
from tests.console.visits import Visit


def press_until_focused(page: Page, name: str, key: str = "Tab") -> None:
    """Press ``key`` until what is focused has the text ``name``."""
    for _ in range(60):
        page.keyboard.press(key)
        if page.evaluate("document.activeElement.textContent").startswith(name):
            return
    raise AssertionError(name)


@pytest.mark.extended
def test_a_role_is_made_previewed_saved_and_undone_by_the_keyboard_alone(visit: Visit, house: House) -> None:
    page = visit.open("/roles")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.get_by_role("table")).to_contain_text("Auditor")
    press_until_focused(page, "New role")
    page.keyboard.press("Enter")
    headed(page, "New role")
    page.keyboard.press("Tab")  # the link to the guide
    page.keyboard.press("Tab")
    page.keyboard.type("Keyed")
    page.keyboard.press("Tab")
    page.keyboard.type("keyed")
    page.keyboard.press("Tab")
    page.keyboard.type("Made without a mouse")
    press_until_focused(page, "Create")
    page.keyboard.press("Enter")
    headed(page, "Keyed")

    press_until_focused(page, "System")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")  # opens Users
    page.keyboard.press("l")
    expect(page.get_by_role("treeitem", name="List users")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.get_by_role("treeitem", name="List users")).to_have_attribute("aria-checked", "true")
    expect(page.get_by_role("treeitem", name="System").first).to_have_attribute("aria-checked", "mixed")
    visit.axe()
    press_until_focused(page, "Preview and save")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("GET /api/user/list")
    visit.axe()
    page.keyboard.press("Enter")
    expect(page.get_by_text("were saved.")).to_be_visible()
    assert house.role("keyed")["permissions"] == ["system:user:list"]
    expect(button(page, "Preview and save")).to_have_count(0)
    button(page, "Undo").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The role has no permissions.")).to_be_visible()
    assert house.role("keyed")["permissions"] == []


@pytest.mark.extended
def test_a_role_shows_what_its_wildcards_cover_and_a_copy_gives_the_same(visit: Visit, house: House) -> None:
    page = visit.open("/roles/2")
    search = page.get_by_role("searchbox", name="Search by title or permission")
    search.fill("role:list")
    covered = page.get_by_role("treeitem", name="List and read roles")
    expect(covered).to_contain_text("covered by system:*")
    expect(covered).to_have_attribute("aria-checked", "false")
    search.fill("")
    visit.picture("role")
    search.fill("below system")
    expect(page.get_by_role("treeitem", name="Everything below system")).to_contain_text("wildcard, covers")
    page.locator("summary", has_text="More actions").click()
    follow(page, "Copy", "Copy the role Administrator")
    page.get_by_label("Code").fill("copied")
    follow(page, "Create", "Copy of Administrator")
    copied, source = house.role("copied"), house.role("admin")
    assert (copied["menuIds"], copied["permissions"]) == (source["menuIds"], source["permissions"])
    # A Menu is chosen with all below it, but no wildcard.
    page.get_by_role("treeitem", name="System").first.locator(".tick").first.click()
    expect(page.locator(".difference")).to_contain_text("system:file:delete")
    expect(page.locator(".difference")).not_to_contain_text("*")

    button(page, "Discard the changes").click()
    act(page, "Delete")
    follow(page, "Delete this role", "Roles")
    assert house.send("GET", "/api/role/list?roleCode=copied")["total"] == 0

    # As an explanation of a refusal leads to it.
    page.evaluate("location.hash = '/roles/new?permissions=system:role:list,system:user:list'")
    expect(page.get_by_text("The new role gives only system:role:list, system:user:list.")).to_be_visible()
    page.get_by_label("Name").fill("Only this")
    page.get_by_label("Code").fill("only-this")
    follow(page, "Create", "Only this")
    assert house.role("only-this")["permissions"] == ["system:role:list", "system:user:list"]


@pytest.mark.extended
def test_what_others_gave_to_a_role_meanwhile_is_merged(visit: Visit, house: House) -> None:
    house.member("dunlin", "system:user:list")
    role_id = house.role("dunlin")["id"]
    page = visit.open(f"/roles/{role_id}")
    page.get_by_role("searchbox", name="Search by title or permission").fill("role:list")
    page.get_by_role("treeitem", name="List and read roles").locator(".tick").click()
    fresh = {"menuType": "Button", "title": "Ring", "authMark": "dunlin:ring"}
    house.send("POST", "/api/menu", fresh)
    theirs = {"permissions": ["system:user:list", "system:menu:list", "dunlin:ring"]}
    house.send("PUT", f"/api/role/{role_id}/permissions", theirs)
    button(page, "Preview and save").click()
    expect(page.get_by_role("alert")).to_contain_text("Changed by admin in the meantime")
    for code in ("system:menu:list", "dunlin:ring"):
        expect(page.get_by_role("alert")).to_contain_text(code)
    button(page, "Preview and save").click()
    expect(page.get_by_role("dialog")).to_contain_text("dunlin 1 user")
    visit.picture("role-preview")
    button(page.get_by_role("dialog"), "Save").click()
    expect(page.get_by_text("were saved.")).to_be_visible()
    assert house.role("dunlin")["permissions"] == [
        "dunlin:ring",
        "system:menu:list",
        "system:role:list",
        "system:user:list",
    ]
