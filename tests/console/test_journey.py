"""The first thing that people do: a role is made, previewed and given, and the log tells what followed."""

from typing import Final

from playwright.sync_api import Page, expect

from tests.console.acts import headed
from tests.console.house import House
from tests.console.test_home import ALL_LEFT, answer_with
from tests.console.visits import Visit, settled
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

FOCUSED: Final = """() => {
  const at = document.activeElement;
  return (at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent).trim();
}"""
MOST_KEYS: Final = 100
MOST_ACTS: Final = 13
ROLE: Final = {"roleName": "Tried", "roleCode": "tried"}


class Keyboard:
    """Uses a page without a mouse; ``acts`` counts what would be clicks."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.acts = 0

    def follow(self, name: str) -> None:
        """Follow a link, or press a button."""
        self.acts += 1
        self._reach(name)
        self._page.keyboard.press("Enter")

    def fill(self, name: str, text: str) -> None:
        """Type into a field."""
        self._reach(name)
        self._page.keyboard.press("Control+A")
        self._page.keyboard.type(text)

    def tick(self, name: str) -> None:
        """Choose a box, of a form or of a tree."""
        self.acts += 1
        self._reach(name, tree="ArrowDown")
        self._page.keyboard.press("Space")

    def choose_after(self, first: str, name: str) -> None:
        """Choose the option after the first one, which is chosen."""
        self.acts += 1
        self._reach(first)
        self._page.keyboard.press("ArrowDown")
        expect(self._page.get_by_role("radio", name=name)).to_be_checked()

    def _reach(self, name: str, tree: str = "Tab") -> None:
        """Move the focus on until it is on what begins with ``name``."""
        for _ in range(MOST_KEYS):
            if self._page.evaluate(FOCUSED).startswith(name):
                return
            inside = self._page.evaluate("document.activeElement.getAttribute('role') === 'treeitem'")
            self._page.keyboard.press(tree if inside else "Tab")
        raise AssertionError(f"{name} can't be reached by the keyboard")


def test_from_the_first_password_to_a_log_that_tells_who_was_refused_and_then_allowed(
    visit: Visit, house: House
) -> None:
    page = visit.page
    hands = Keyboard(page)
    answer_with(visit, "**/api/system/first-steps", ALL_LEFT)
    visit.go()
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
    hands.choose_after("Invite the user", "Set a password now")
    hands.fill("Password", ADMINISTRATOR_PASSWORD)
    hands.tick("Makers")
    hands.follow("Create")
    headed(page, "wren")
    assert house.ask("wren", "POST", "/api/role", ROLE).status_code == 403

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
    assert house.ask("wren", "POST", "/api/role", ROLE).status_code == 201

    house.wait_for_log("operation", 4, userName="wren")
    hands.follow("Audit log")
    headed(page, "Audit log")
    hands.fill("User", "wren")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(5)
    expect(rows.nth(1)).to_contain_text("wren created role tried")
    expect(rows.nth(2)).to_contain_text("wren signed in")
    expect(rows.nth(3)).to_contain_text("wren was not allowed to create a role")
    assert hands.acts <= MOST_ACTS
