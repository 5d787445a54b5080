"""Walks of tasks: each act is a click, or is done by the keyboard alone. The page counts the clicks."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.console.visits import settled

_COUNT = """() => {
  if (!("clicked" in window)) addEventListener("pointerdown", () => { window.clicked += 1; }, true);
  window.clicked = 0;
}"""
_REACHED = "element => element.tabIndex >= 0 && document.activeElement === element"


class Walk:
    """A person on a page, with a mouse or with ``keys`` alone; the tab key leads to fields."""

    def __init__(self, page: Page, *, keys: bool) -> None:
        self.page = page
        self.keys = keys
        page.evaluate(_COUNT)

    def act(self, control: Locator, key: str = "Enter") -> None:
        """Use a control: by a click, or by ``key`` once it has the focus."""
        settled(self.page)
        if not self.keys:
            return control.click()
        self._focus(control)
        return control.press(key)

    def check(self, box: Locator) -> None:
        """Tick a box."""
        self.act(box, "Space")
        expect(box).to_be_checked()

    def type(self, field: Locator, text: str) -> None:
        """Type into a field that the tab key reaches."""
        self._focus(field)
        field.fill(text)

    def choose(self, control: Locator, file: Path) -> None:
        """Choose a file."""
        with self.page.expect_file_chooser() as chooser:
            self.act(control)
        chooser.value.set_files(file)

    def to(self, name: str, heading: str | None = None) -> None:
        """Go to a page by its entry of the navigation."""
        navigation = self.page.get_by_role("navigation", name="Main navigation")
        folded = navigation.locator("details:not([open])", has=self.page.get_by_text(name, exact=True))
        if folded.count():
            self.act(folded.locator("summary"))
        self.act(navigation.get_by_role("link", name=name, exact=True))
        expect(self.page.get_by_role("heading", level=1)).to_have_text(heading or name)

    def follow(self, link: str, heading: str) -> None:
        """Follow a link of the page to the view with a heading."""
        self.act(self.page.get_by_role("main").get_by_role("link", name=link, exact=True))
        expect(self.page.get_by_role("heading", level=1)).to_have_text(heading)
        settled(self.page)

    def dialog(self, name: str | None = None) -> Locator:
        """Return the dialog that is shown."""
        options: dict[str, Any] = {} if name is None else {"name": name}
        return self.page.get_by_role("dialog", **options)

    def took(self, most: int) -> None:
        """Check that it took at most so many clicks since the last check, and none with the keyboard."""
        clicks: int = self.page.evaluate("() => { const n = window.clicked; window.clicked = 0; return n; }")
        assert clicks <= (0 if self.keys else most), f"{clicks} clicks"
        assert self.keys or clicks > 0

    def _focus(self, control: Locator) -> None:
        control.focus()
        assert control.evaluate(_REACHED), f"the keyboard does not reach {control}"
