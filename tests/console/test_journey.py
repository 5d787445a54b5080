"""The first thing that people do: a role is made, previewed and given, and the log tells what followed."""

from collections.abc import Iterator
from typing import Final, Protocol

import pytest
from playwright.sync_api import Page, expect

from service.features.embedded.stores import EmbeddedStores
from tests.console.house import House
from tests.console.test_users import button, headed
from tests.console.visits import Visit, new_context, settled
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

FOCUSED: Final = """() => {
  const at = document.activeElement;
  return (at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent).trim();
}"""
MOST_KEYS: Final = 100
MOST_CLICKS: Final = 12


class Hands(Protocol):
    """How somebody uses a page, with so many ``clicks``."""

    clicks: int

    def follow(self, name: str) -> None:
        """Follow a link, or press a button."""

    def fill(self, name: str, text: str) -> None:
        """Type into a field."""

    def tick(self, name: str) -> None:
        """Choose a box, of a form or of a tree."""

    def choose(self, chosen: str, name: str) -> None:
        """Choose what stands below the ``chosen`` one of several."""


class Mouse:
    """Clicks, and types only text; a field is reached by the Tab key."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.clicks = 0

    def follow(self, name: str) -> None:
        place = self._page.locator("dialog[open], body:not(:has(dialog[open]))")
        link = place.get_by_role("link", name=name, exact=True)
        link.or_(button(place, name)).first.click()
        self.clicks += 1

    def fill(self, name: str, text: str) -> None:
        self._page.get_by_label(name, exact=True).fill(text)

    def tick(self, name: str) -> None:
        box = self._page.get_by_role("checkbox", name=name)
        box.or_(self._page.get_by_role("treeitem", name=name).last.locator(".tick")).click()
        self.clicks += 1

    def choose(self, chosen: str, name: str) -> None:
        expect(self._page.get_by_role("radio", name=chosen)).to_be_checked()
        self._page.get_by_role("radio", name=name).check()
        self.clicks += 1


class Keyboard:
    """Never touches the mouse."""

    clicks = 0

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

    def choose(self, chosen: str, name: str) -> None:
        self._reach(chosen)
        self._page.keyboard.press("ArrowDown")
        assert self._page.evaluate(FOCUSED).startswith(name)

    def _reach(self, name: str, tree: str = "Tab") -> None:
        """Move the focus on until it is on what begins with ``name``."""
        for _ in range(MOST_KEYS):
            if self._page.evaluate(FOCUSED).startswith(name):
                return
            inside = self._page.evaluate("document.activeElement.getAttribute('role') === 'treeitem'")
            self._page.keyboard.press(tree if inside else "Tab")
        raise AssertionError(f"{name} can't be reached by the keyboard")


@pytest.fixture
def fresh(house: House, stores: EmbeddedStores, published_template: str) -> Iterator[Visit]:
    """A visit to an installation in which nothing has been done yet."""
    new = House(stores, published_template)
    try:
        new.browser = house.browser
        with new_context(new) as context:
            visit = Visit(new, context)
            yield visit
            visit.find_focus()
            assert visit.troubles == []
    finally:
        new.end()


@pytest.mark.parametrize("kind", [pytest.param(Mouse, marks=pytest.mark.extended), Keyboard])
def test_from_the_first_password_to_a_log_that_tells_who_was_refused_and_then_allowed(
    fresh: Visit, kind: type[Mouse | Keyboard]
) -> None:
    page = fresh.page
    hands: Hands = kind(page)
    fresh.go()
    hands.fill("User name", ADMINISTRATOR)
    hands.fill("Password", ADMINISTRATOR_PASSWORD)
    hands.follow("Sign in")
    expect(page.get_by_role("heading", name="First steps")).to_be_visible()
    settled(page)

    hands.follow("New role")
    headed(page, "New role")
    hands.fill("Name", "Makers")
    hands.fill("Code", "makers")
    hands.follow("Create")
    headed(page, "Makers")

    hands.follow("Users")
    headed(page, "Users")
    hands.follow("New user")
    headed(page, "New user")
    hands.fill("User name", "wren")
    hands.fill("Name", "Wren")
    hands.choose("Invite the user", "Set a password now")
    hands.fill("Password", ADMINISTRATOR_PASSWORD)
    hands.tick("Makers")
    hands.follow("Create")
    headed(page, "wren")
    assert tried(fresh.house) == 403

    hands.follow("Makers")
    headed(page, "Makers")
    hands.fill("Search by title or permission", "role:create")
    hands.tick("Create roles")
    hands.follow("Preview and save")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Gain access")).to_be_visible()
    expect(dialog).to_contain_text("POST /api/role")
    hands.follow("Save")
    expect(page.get_by_text("were saved.")).to_be_visible()
    assert tried(fresh.house) == 201

    fresh.house.wait_for_log("operation", 4, userName="wren")
    hands.follow("Audit log")
    headed(page, "Audit log")
    hands.fill("User", "wren")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(5)
    expect(rows.nth(1)).to_contain_text("wren created role tried")
    expect(rows.nth(2)).to_contain_text("wren signed in")
    expect(rows.nth(3)).to_contain_text("wren was not allowed to create a role")
    assert hands.clicks <= MOST_CLICKS


def tried(house: House) -> int:
    """Return the status that wren gets for a new role."""
    header = {"Authorization": f"Bearer {house.log_in('wren')['accessToken']}"}
    with house.service.client() as client:
        made = client.post("/api/role", json={"roleName": "Tried", "roleCode": "tried"}, headers=header)
    return made.status_code
