"""The tree of Menus and Buttons, as an administrator uses it."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.console.acts import act, button, follow, says
from tests.console.house import House
from tests.console.visits import Visit


def made(house: House, title: str, parent: int | None = None, **more: Any) -> int:
    body = {"menuType": "Menu", "title": title, "parentId": parent} | more
    return house.make("menu", **body)


def below(house: House, parent: int) -> list[str]:
    menus = house.send("GET", "/api/menu/list", parentId=parent, sort="sort")["items"]
    return [menu["title"] for menu in menus]


@pytest.mark.extended
def test_a_button_is_made_bound_disabled_and_deleted(visit: Visit, house: House) -> None:
    parent = made(house, "Birds", name="birds", path="/birds")
    resource = {
        "resourceName": "List herons",
        "resourceCode": "herons",
        "method": "GET",
        "path": "/api/herons",
    }
    house.send("POST", "/api/resource", resource)
    page = visit.open(f"/menus/{parent}")
    expect(page.get_by_role("treeitem", name="Birds")).to_have_attribute("aria-selected", "true")
    page.get_by_text("More actions").click()
    follow(page, "New Button", "New Button")
    page.get_by_label("Title").fill("Watch herons")
    page.get_by_label("Permission").fill("Herons:watch")
    button(page, "Create").click()
    expect(page.get_by_label("Permission")).to_be_focused()
    visit.axe()
    page.get_by_label("Permission").fill("herons:watch")
    button(page, "Create").click()
    expect(page.get_by_role("heading", name="Watch herons")).to_be_visible()

    button(page, "Bind a resource").click()
    page.get_by_label("A part of its path").fill("heron")
    button(page, "GET /api/herons").click()
    expect(page.get_by_role("dialog")).to_contain_text("Every holder of the permission has access")
    button(page.get_by_role("dialog"), "Bind").click()
    expect(page.get_by_role("table")).to_contain_text("List herons")
    visit.picture("menus")

    act(page, "Disable", "Disable")
    expect(page.locator(".titled .badge", has_text="Disabled")).to_be_visible()
    act(page, "Delete")
    says(page.get_by_role("alert"), "It is still in use", "Resources it gives access to: herons")
    page.keyboard.press("Escape")
    button(page, "Remove List herons").click()
    button(page.get_by_role("dialog"), "Remove").click()
    expect(page.get_by_text("It gives access to no resource.")).to_be_visible()
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("table")).to_contain_text("created Button herons:watch")
    act(page, "Delete", "Delete it")
    expect(page.get_by_text("Choose a Menu or a Button")).to_be_visible()
    assert below(house, parent) == []


@pytest.mark.extended
def test_a_page_gets_values_for_front_ends(visit: Visit, house: House) -> None:
    page = visit.open("/menus/new?type=Menu", "New Menu")
    page.get_by_label("Title").fill("Swans")
    page.get_by_label("Link").fill("javascript:alert(1)")
    page.get_by_label("Further values").fill("no JSON")
    button(page, "Create").click()
    expect(page.get_by_text("must be a JSON object")).to_be_visible()
    page.get_by_label("Further values").fill('{"layout": "wide"}')
    button(page, "Create").click()
    expect(page.get_by_label("Link")).to_be_focused()
    page.get_by_label("Link").fill("https://example.org/swans")
    page.get_by_label("Hidden in navigation").check()
    button(page, "Create").click()
    expect(page.get_by_role("main").get_by_text('{"layout":"wide"}')).to_be_visible()
    (menu,) = house.send("GET", "/api/menu/list", title="Swans")["items"]
    assert (menu["hidden"], menu["keepAlive"], menu["meta"]) == (True, False, {"layout": "wide"})
    house.send("DELETE", f"/api/menu/{menu['id']}")


@pytest.mark.extended
def test_menus_are_moved_by_keys_by_a_dialog_and_by_drag(visit: Visit, house: House) -> None:
    top = made(house, "Top")
    first, two, three = (made(house, title, top) for title in ("One", "Two", "Three"))
    page = visit.open(f"/menus/{first}")
    item = page.get_by_role("treeitem")
    item.filter(has_text="One").last.focus()
    message = page.locator(".message", has_text="One was moved.")

    def message_is_shown() -> None:
        expect(message).to_be_visible()
        message.evaluate("(one) => one.remove()")  # the next one says the same

    page.keyboard.press("Alt+ArrowDown")
    message_is_shown()
    assert below(house, top) == ["Two", "One", "Three"]
    expect(item.filter(has_text="One").last).to_be_focused()
    page.keyboard.press("Alt+ArrowRight")
    message_is_shown()
    assert (below(house, top), below(house, two)) == (["Two", "Three"], ["One"])

    act(page, "Move to…")
    page.get_by_label("Below").select_option("Top")
    page.get_by_label("Where").select_option("After Three")
    button(page, "Move").click()
    expect(message).to_be_visible()
    assert below(house, top) == ["Two", "Three", "One"]
    button(message, "Undo").click()
    expect(message).to_have_count(0)
    assert below(house, two) == ["One"]

    row = page.locator(".tree-row")
    row.filter(has_text="Three").drag_to(row.filter(has_text="Two"), target_position={"x": 60, "y": 2})
    expect(page.get_by_text("Three was moved.")).to_be_visible()
    assert below(house, top) == ["Three", "Two"]
    assert three
