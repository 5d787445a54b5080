"""API keys of people in a browser: made and revoked by their owner, and by an administrator."""

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.console.acts import button, headed, row, says
from tests.console.conftest import _closed, house, visit, visitor
from tests.console.house import House
from tests.console.visits import Visit
from tests.console.walks import Walk
from tests.features.personal_keys.conftest import KEYS

__all__ = ["_closed", "house", "visit", "visitor"]  # fixtures

LIST = "system:role:list"


def status(house: House, key: str, path: str = "/api/role/list") -> int:
    """Return the status of a request with a key."""
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(house.url + path, headers=headers, trust_env=False).status_code


def copied(page: Page) -> str:
    """Copy what is selected, as a reader does by the keyboard, and return the clipboard."""
    page.keyboard.press("ControlOrMeta+c")
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


@pytest.mark.parametrize("keys", [False, pytest.param(True, marks=pytest.mark.extended)])
def test_a_key_is_made_copied_used_and_revoked(visit: Visit, house: House, keys: bool) -> None:
    name = f"keyholder-{'k' if keys else 'm'}"
    house.member(name, LIST, "system:menu:list")
    page = visit.page
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.sign_in(name)
    walk = Walk(page, keys=keys)
    walk.act(page.locator(".menu summary"))
    walk.act(page.get_by_role("link", name="API keys"))
    headed(page, "API keys")
    walk.type(page.get_by_label("Name", exact=True), "nightly")
    walk.check(page.get_by_role("checkbox", name=LIST))
    walk.act(button(page, "Create a key"))
    expect(page.get_by_role("textbox", name="New key")).to_be_focused()
    key = copied(page)
    assert (status(house, key), status(house, key, "/api/menu/list")) == (200, 403)
    shown = row(page, "nightly")
    says(shown, LIST, "Not yet")
    walk.act(button(shown, "Revoke: nightly"))
    walk.act(button(walk.dialog("Revoke API key nightly?"), "Revoke"))
    expect(page.get_by_text("API key nightly was revoked.")).to_be_visible()
    expect(shown).to_have_count(0)
    walk.took(6)
    assert status(house, key) == 401
    assert key not in page.content()


def test_a_key_needs_the_second_factor_of_its_owner(visit: Visit, house: House) -> None:
    house.member("factored", LIST)
    page = visit.open("/account/keys", "API keys", "factored")
    _, codes = house.enrol("factored")
    page.get_by_label("Name", exact=True).fill("guarded")
    page.get_by_label("Other codes").fill("system:role:*")
    button(page, "1 week").click()
    button(page, "Create a key").click()
    asked = page.get_by_role("dialog", name="Confirm your identity")
    button(asked, "Use a recovery code").click()
    asked.get_by_label("Recovery code").fill(codes[0])
    page.keyboard.press("Enter")
    says(row(page, "guarded"), "system:role:*")
    assert status(house, page.get_by_role("textbox", name="New key").input_value()) == 200


def sparing(house: House, name: str) -> int:
    """Make a member with a key that has two scopes; return the id of the member."""
    number = house.member(name, LIST, "system:menu:list")
    order = {"name": "wide", "scopes": [LIST, "system:menu:*"], "expiresIn": 3600}
    assert house.ask(name, "POST", KEYS, order).status_code == 201
    return number


def test_an_owner_sees_what_a_key_never_used(visit: Visit, house: House) -> None:
    number = sparing(house, "sparing-owner")
    page = visit.open("/account/keys", "API keys", "sparing-owner")
    says(row(page, "wide"), "Not yet")
    expect(row(page, "wide")).not_to_contain_text("Never used")
    used = "UPDATE sys.api_key SET last_use_time = now(), needed_codes = %s WHERE user_id = %s"
    house.execute(used, [LIST], number)
    visit.show("/account/devices", "Your sessions")
    visit.show("/account/keys", "API keys")
    says(row(page, "wide"), "Never used: system:menu:*", f"Needed until now: {LIST}")
    visit.axe()


def test_an_administrator_revokes_a_key_of_a_person(visit: Visit, house: House) -> None:
    number = house.member("watched", LIST)
    order = {"name": "forgotten", "scopes": [LIST], "expiresIn": 3600}
    key = house.ask("watched", "POST", KEYS, order).json()["data"]["key"]
    page = visit.open(f"/users/{number}", "watched")
    page.get_by_role("link", name="API keys").click()
    says(page.get_by_role("main"), "People make API keys of their own account.")
    expect(button(page, "Create a key")).to_have_count(0)
    button(page, "Delete: forgotten").click()
    button(page.get_by_role("dialog"), "Delete").click()
    expect(page.get_by_text("API key forgotten was deleted.")).to_be_visible()
    assert status(house, key) == 401
