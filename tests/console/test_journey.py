"""The first thing that people do: a role is made, previewed and given, and the log tells what followed."""

from __future__ import annotations

from typing import Any, Final, Protocol

import pytest
from playwright.sync_api import Page, expect

from tests.console.house import House
from tests.console.test_users import button, headed
from tests.console.visits import Visit
from tests.support.seeded import ADMINISTRATOR_PASSWORD

FOCUSED: Final = """() => {
  const at = document.activeElement;
  return (at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent).trim();
}"""
MOST_KEYS: Final = 100


class Hands(Protocol):
    """How somebody uses a page."""

    def follow(self, name: str) -> None:
        """Follow a link, or press a button."""

    def fill(self, name: str, text: str) -> None:
        """Type into a field."""

    def tick(self, name: str) -> None:
        """Choose a box, of a form or of a tree."""


class Mouse:
    """Clicks, and types only text."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def follow(self, name: str) -> None:
        place = self._page.locator("dialog[open], body:not(:has(dialog[open]))")
        link = place.get_by_role("link", name=name, exact=True)
        link.or_(button(place, name)).first.click()

    def fill(self, name: str, text: str) -> None:
        self._page.get_by_role("textbox", name=name).or_(self._page.get_by_role("searchbox", name=name)).fill(
            text
        )

    def tick(self, name: str) -> None:
        box = self._page.get_by_role("checkbox", name=name)
        box.or_(self._page.get_by_role("treeitem", name=name).last.locator(".tick")).click()


class Keyboard:
    """Never touches the mouse."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def follow(self, name: str) -> None:
        self._reach(name)
        self._page.keyboard.press("Enter")

    def fill(self, name: str, text: str) -> None:
        self._reach(name)
        self._page.keyboard.press("Control+A")
        self._page.keyboard.type(text)

    def tick(self, name: str) -> None:
        self._reach(name, tree="ArrowDown")
        self._page.keyboard.press("Space")

    def _reach(self, name: str, tree: str = "Tab") -> None:
        """Move the focus on until it is on what begins with ``name``."""
        for _ in range(MOST_KEYS):
            if self._page.evaluate(FOCUSED).startswith(name):
                return
            inside = self._page.evaluate("document.activeElement.getAttribute('role') === 'treeitem'")
            self._page.keyboard.press(tree if inside else "Tab")
        raise AssertionError(f"{name} can't be reached by the keyboard")


@pytest.mark.parametrize("kind", [Mouse, Keyboard])
def test_a_role_is_given_and_the_log_tells_who_was_refused_and_then_allowed(
    visit: Visit, house: House, kind: type[Mouse | Keyboard]
) -> None:
    name = kind.__name__.lower()
    house.member(f"{name}-user")
    page = visit.page
    hands: Hands = kind(page)
    with house.service.client() as client:

        def tried() -> int:
            sent = {"userName": f"{name}-user", "password": ADMINISTRATOR_PASSWORD}
            token = client.post("/api/auth/login", json=sent).json()["data"]["accessToken"]
            body: dict[str, Any] = {"roleName": f"Tried by {name}", "roleCode": f"tried-{name}"}
            header = {"Authorization": f"Bearer {token}"}
            return client.post("/api/role", json=body, headers=header).status_code

        assert tried() == 403
        visit.sign_in_by_hand()
        hands.follow("Roles")
        headed(page, "Roles")
        hands.follow("New role")
        headed(page, "New role")
        hands.fill("Name", f"Makers {name}")
        hands.fill("Code", f"makers-{name}")
        hands.follow("Create")
        headed(page, f"Makers {name}")
        hands.fill("Search by title or code", "role:create")
        hands.tick("Create roles")
        hands.follow("Preview and save")
        expect(page.get_by_role("dialog")).to_contain_text("POST /api/role")
        hands.follow("Save")
        expect(page.get_by_text("is saved.")).to_be_visible()

        hands.follow("Users")
        headed(page, "Users")
        hands.fill("Name, email or phone", f"{name}-")
        expect(page.get_by_role("table").get_by_role("row")).to_have_count(2)
        hands.follow(f"{name}-user")
        headed(page, f"{name}-user")
        hands.follow("Edit")
        headed(page, f"Edit {name}-user")
        hands.tick(f"Makers {name}")
        hands.follow("Save")
        expect(page.get_by_role("dialog").get_by_role("heading", name="Gain access")).to_be_visible()
        hands.follow("Save")
        expect(page.get_by_role("link", name=f"Makers {name}")).to_be_visible()
        assert tried() == 201
    house.wait_for_log("operation", 2, userName=f"{name}-user")
    hands.follow("Audit log")
    headed(page, "Audit log")
    hands.fill("User", f"{name}-user")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("201")
    expect(rows.nth(2)).to_contain_text("403")
