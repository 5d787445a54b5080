"""A visit to the console: a page of a browser context, what went wrong on it, and what people do with it."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import axe_playwright_python
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, ViewportSize, expect

from tests.console.house import PATIENCE, House
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

PICTURES: Final = Path(__file__).parents[2] / "docs" / "guides" / "console"
CONSOLE: Final = "/console"
PARKED: Final = "/health/live"
"""Where a page is between two tests: at the same origin, so that it keeps its process."""
SCREEN: Final[ViewportSize] = {"width": 1280, "height": 900}

_AXE: Final = Path(axe_playwright_python.__file__).with_name("axe.min.js")
_WCAG: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_WAITING: Final = "main :is(.body, .scroll)[aria-busy=true], main .loading"
_COSTLY: Final = ["color-contrast", "target-size"]
"""Rules that take milliseconds for each element: they look at one of those that look the same."""
_RUN: Final = """async ([costly, options]) => {
  const looks = new Map([[document.body, ""]]);
  const first = new Map();
  for (const one of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(one);
    const own = [one.localName, one.className, style.color, style.backgroundColor, style.backgroundImage,
      style.opacity, style.fontSize, style.fontWeight];
    looks.set(one, `${looks.get(one.parentElement)} > ${own}`);
    const used = one.tabIndex >= 0 || [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE);
    if (used && !first.has(looks.get(one))) first.set(looks.get(one), one);
  }
  return (await axe.run(costly ? { include: [...first.values()] } : document, options)).violations;
}"""
"""Takes whether to look at one element only of those that look the same, outwards too; and axe's options."""
_REPORTS: Final = """
addEventListener("securitypolicyviolation", (event) =>
  reportTrouble(`${event.effectiveDirective} forbids ${event.blockedURI}: ${event.sample}`));
"""
expect.set_options(timeout=PATIENCE)


_REFUSED: Final = "Failed to load resource: the server responded with a status of"


def settled(page: Page) -> None:
    """Wait until the view that is shown has loaded: nothing on it moves by itself any more, nor the focus."""
    expect(page.locator(_WAITING)).to_have_count(0)


def new_context(house: House, url: str | None = None) -> BrowserContext:
    """Return a browser of its own, at ``url`` or the house's: no session, no stored data."""
    context = house.browser.new_context(
        base_url=url or house.url,
        viewport=SCREEN,
        locale="en-GB",
        timezone_id="Europe/Berlin",
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE)
    context.set_default_navigation_timeout(PATIENCE)
    return context


class Visit:
    """One tab. ``troubles`` is what no page may have, without what is ``expected``: texts that may occur."""

    def __init__(self, house: House, context: BrowserContext) -> None:
        self.house = house
        self.context = context
        self.expected: list[str] = []
        self._noted: list[str] = []
        self._heard: list[tuple[Any, Callable[[Any], Any]]] = []
        self.page: Page = context.new_page()
        self.page.expose_function("reportTrouble", self._report)
        self.page.add_init_script(_REPORTS)
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self._noted.append(f"{error.name}: {error.message}"))

    @property
    def troubles(self) -> list[str]:
        """What went wrong so far."""
        return [text for text in self._noted if not any(part in text for part in self.expected)]

    def hear(self, event: Any, listener: Callable[[Any], Any]) -> None:
        """Call ``listener`` at each ``event`` of the page, until the test ends."""
        self.page.on(event, listener)
        self._heard.append((event, listener))

    def end(self) -> None:
        """Leave the browser to the next test: with one page, and nothing stored, routed or listened to."""
        for one in self.context.pages:
            if one is not self.page:
                one.close()
        self.context.unroute_all()
        self.page.unroute_all()
        for event, listener in self._heard:
            self.page.remove_listener(event, listener)
        self.context.set_offline(offline=False)
        self.page.goto(PARKED)
        self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.context.clear_cookies()
        if self.page.viewport_size != SCREEN:
            self.page.set_viewport_size(SCREEN)
        for noted in (self._heard, self.expected, self._noted):
            noted.clear()

    def tab(self) -> Visit:
        """Open another tab of the same browser; the caller looks at its ``troubles``."""
        return Visit(self.house, self.context)

    def go(self, address: str = "/") -> None:
        """Go to a view: ``/users?page=2``."""
        self.page.goto(f"{CONSOLE}#{address}")

    def sign_in(
        self, name: str = ADMINISTRATOR, address: str = "/", password: str = ADMINISTRATOR_PASSWORD
    ) -> None:
        """Go to a view, sign in as it asks for, and wait until the view is there."""
        self.go(address)
        self.page.get_by_label("User name").fill(name)
        self.page.locator("input[type=password]").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("navigation").first).to_be_visible()
        expect(self.page.get_by_role("main").get_by_role("heading", level=1)).not_to_be_empty()
        settled(self.page)

    def axe(self) -> None:
        """Look for faults of accessibility in light, and for bad contrast in dark, once all is loaded."""
        settled(self.page)
        most = {"runOnly": _WCAG, "rules": {rule: {"enabled": False} for rule in _COSTLY}}
        found = self._violations(most) + self._violations({"runOnly": _COSTLY}, costly=True)
        self.page.emulate_media(color_scheme="dark")
        found += [f"dark: {one}" for one in self._violations({"runOnly": _COSTLY[:1]}, costly=True)]
        self.page.emulate_media(color_scheme="light")
        assert found == [], "\n".join(found)

    def picture(self, name: str) -> None:
        """Write a screenshot for the documentation, if it is asked for."""
        if os.environ.get("PORTCULLIS_PICTURES"):
            PICTURES.mkdir(exist_ok=True)
            self.page.mouse.move(0, 0)
            # Playwright itself writes no WebP, which needs half of the space.
            session = self.context.new_cdp_session(self.page)
            taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": 80})
            (PICTURES / f"{name}.webp").write_bytes(base64.b64decode(taken["data"]))

    def _violations(self, options: dict[str, Any], *, costly: bool = False) -> list[str]:
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(_AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate(_RUN, [costly, options | {"resultTypes": ["violations"]}])
        return [
            f"{one['id']}: {one['help']}: " + ", ".join(node["html"][:200] for node in one["nodes"])
            for one in found
        ]

    def _report(self, text: str) -> None:
        self._noted.append(text)

    def _note(self, message: ConsoleMessage) -> None:
        refused = message.text.startswith(_REFUSED) and "/api/" in message.location.get("url", "")
        if message.type in ("error", "warning") and not refused:
            self._noted.append(f"{message.type}: {message.text}")
