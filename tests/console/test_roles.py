"""The views of roles, as an administrator uses them."""

import json
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from service.kernel.codes import HeldCodes
from tests.console.house import House
from tests.console.test_users import act, button, headed
from tests.console.visits import Visit

CODES = (
    "*",
    "a",
    "a:*",
    "a:b",
    "a:b:*",
    "a:*:c",
    "a:b:c",
    "a:b:d",
    "*:b",
    "*:b:c",
    "a:*:c:*",
    "a:b:c:d",
    "b:b",
)
HOW = """async (pairs) => {
  const { covers } = await import(document.querySelector("script").src.replace("main.js", "parts/codes.js"));
  return pairs.map(([held, code]) => covers(held, code));
}"""


def stored(house: House, code: str) -> dict[str, Any]:
    roles = house.api.get("/api/role/list", params={"roleCode": code}).json()["data"]["items"]
    (role,) = [role for role in roles if role["roleCode"] == code]
    given: dict[str, Any] = house.api.get(f"/api/role/{role['id']}/permissions").json()["data"]
    return {**role, **given}


def press_until_focused(page: Page, name: str, key: str = "Tab") -> None:
    """Press ``key`` until what is focused has the text ``name``."""
    for _ in range(60):
        page.keyboard.press(key)
        if page.evaluate("document.activeElement.textContent").startswith(name):
            return
    raise AssertionError(name)


def test_a_wildcard_covers_in_the_console_what_it_covers_in_the_service(visit: Visit) -> None:
    visit.go()
    pairs = list(product(CODES, repeat=2))

    def holds(held: str, code: str) -> bool:
        held_codes = HeldCodes([held])
        return (
            held_codes.holds_exactly(code)
            or held_codes.holds_everything(code)
            or held_codes.holds_subtree(code)
            or held_codes.holds_pattern(code)
        )

    assert visit.page.evaluate(HOW, json.loads(json.dumps(pairs))) == [holds(*pair) for pair in pairs]


@pytest.mark.extended
def test_a_role_is_made_previewed_saved_and_undone_by_the_keyboard_alone(visit: Visit, house: House) -> None:
    page = visit.page
    visit.sign_in(address="/roles")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.get_by_role("table")).to_contain_text("Auditor")
    visit.axe()
    press_until_focused(page, "New role")
    page.keyboard.press("Enter")
    headed(page, "New role")
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
    assert stored(house, "keyed")["permissions"] == ["system:user:list"]
    expect(button(page, "Preview and save")).to_have_count(0)
    button(page, "Undo").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The role has no permissions.")).to_be_visible()
    assert stored(house, "keyed")["permissions"] == []


@pytest.mark.extended
def test_a_role_shows_what_its_wildcards_cover_and_a_copy_gives_the_same(visit: Visit, house: House) -> None:
    page = visit.page
    visit.sign_in(address="/roles/2")
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
    page.get_by_role("link", name="Copy").click()
    headed(page, "Copy the role Administrator")
    page.get_by_label("Code").fill("copied")
    button(page, "Create").click()
    headed(page, "Copy of Administrator")
    copied, source = stored(house, "copied"), stored(house, "admin")
    assert (copied["menuIds"], copied["permissions"]) == (source["menuIds"], source["permissions"])
    # A Menu is chosen with all below it, but no wildcard.
    page.get_by_role("treeitem", name="System").first.locator(".tick").first.click()
    expect(page.locator(".difference")).to_contain_text("system:file:delete")
    expect(page.locator(".difference")).not_to_contain_text("*")

    button(page, "Discard the changes").click()
    act(page, "Delete")
    button(page, "Delete this role").click()
    headed(page, "Roles")
    assert house.api.get("/api/role/list?roleCode=copied").json()["data"]["total"] == 0


@pytest.mark.extended
def test_what_others_gave_to_a_role_meanwhile_is_merged(visit: Visit, house: House) -> None:
    house.member("dunlin", "system:user:list")
    role_id = stored(house, "dunlin")["id"]
    page = visit.page
    visit.sign_in(address=f"/roles/{role_id}")
    page.get_by_role("searchbox", name="Search by title or permission").fill("role:list")
    page.get_by_role("treeitem", name="List and read roles").locator(".tick").click()
    fresh = {"menuType": "Button", "title": "Ring", "authMark": "dunlin:ring"}
    assert house.api.post("/api/menu", json=fresh).status_code == 201
    theirs = {"permissions": ["system:user:list", "system:menu:list", "dunlin:ring"]}
    assert house.api.put(f"/api/role/{role_id}/permissions", json=theirs).status_code == 200
    button(page, "Preview and save").click()
    expect(page.get_by_role("alert")).to_contain_text("Changed by admin in the meantime")
    for code in ("system:menu:list", "dunlin:ring"):
        expect(page.get_by_role("alert")).to_contain_text(code)
    button(page, "Preview and save").click()
    expect(page.get_by_role("dialog")).to_contain_text("dunlin 1 user")
    visit.picture("role-preview")
    button(page.get_by_role("dialog"), "Save").click()
    expect(page.get_by_text("were saved.")).to_be_visible()
    assert stored(house, "dunlin")["permissions"] == [
        "dunlin:ring",
        "system:menu:list",
        "system:role:list",
        "system:user:list",
    ]
