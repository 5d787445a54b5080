"""A visit to the console: a page of a browser context, what went wrong on it, and what people do with it."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import axe_playwright_python
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    TimeoutError,  # noqa: A004 - that of the browser
    ViewportSize,
    expect,
)

from tests.console.house import PATIENCE, House
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

PICTURES: Final = Path(__file__).parents[2] / "docs" / "guides" / "console"
CONSOLE: Final = "/console"
SCREEN: Final[ViewportSize] = {"width": 1280, "height": 900}

_AXE: Final = Path(axe_playwright_python.__file__).with_name("axe.min.js")
_WCAG: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_WAITING: Final = "main :is(.body, .scroll)[aria-busy=true], main .loading"
_CONTRAST: Final = "color-contrast"
_SIZE: Final = "target-size"
_RUN: Final = """async (options) => {
  const { violations } = await axe.run({ resultTypes: ["violations"], selectors: false, ...options });
  return violations;
}"""
_RUN_ON_LOOKS: Final = """async ([rule, passing]) => {
  const known = new Set(passing);
  const looks = new Map([[document.body, ""]]);
  const first = new Map();
  const short = (text) => {
    let [one, two] = [1, 2];
    for (let place = 0; place < text.length; place += 1) {
      one = Math.imul(one ^ text.charCodeAt(place), 0x9e3779b1);
      two = Math.imul(two ^ text.charCodeAt(place) ^ (two >>> 15), 0x85ebca6b);
    }
    return `${one},${two}`;
  };
  for (const one of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(one);
    const own = [one.localName, one.className, style.color, style.backgroundColor, style.backgroundImage,
      style.opacity, style.fontSize, style.fontWeight];
    const look = short(`${looks.get(one.parentElement)} > ${own}`);
    looks.set(one, look);
    const judged = (one.tabIndex >= 0 && rule === "target-size") || one.matches("input, select, textarea")
      || [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
    const shown = one.checkVisibility({ visibilityProperty: true });
    if (judged && shown && !first.has(look) && !known.has(look)) first.set(look, one);
  }
  if (first.size === 0) return [[], []];
  const { violations, passes } = await axe.run({ include: [...first.values()] },
    { runOnly: [rule], resultTypes: ["violations", "passes"], selectors: false, elementRef: true });
  const passed = passes.flatMap(({ nodes }) => nodes.map(({ element }) => looks.get(element)));
  return [violations, passed];
}"""
"""Runs a rule that takes milliseconds for each element on one of those that look the same, outwards too.

Takes the looks that need no judgement, and returns the violations, and the looks that have passed."""
_HAND_OVER: Final = """({ accessToken, refreshToken, expiresIn }) => {
  const since = Date.now();
  const proof = { access: accessToken, refresh: refreshToken, since, until: since + 1000 * expiresIn };
  const channel = new BroadcastChannel("portcullis");
  channel.postMessage({ kind: "proof", proof });
  channel.close();
}"""
_FOCUSED: Final = "() => document.activeElement !== document.body"
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
        self.page.on("request", self._note_act)
        self._acted = False

    @property
    def troubles(self) -> list[str]:
        """What went wrong so far."""
        return [text for text in self._noted if not any(part in text for part in self.expected)]

    def find_focus(self) -> None:
        """Note a trouble if the focus is on the body after an act: the keyboard would begin anew."""
        if self._acted:
            try:
                self.page.wait_for_function(_FOCUSED)
            except TimeoutError:
                self._noted.append("after an act, the focus is on the body")

    def hear(self, event: Any, listener: Callable[[Any], Any]) -> None:
        """Call ``listener`` at each ``event`` of the page, until the test ends."""
        self.page.on(event, listener)
        self._heard.append((event, listener))

    def end(self) -> None:
        """Leave the browser to the next test: with one page, and nothing stored, routed or listened to."""
        for page in self.context.pages:
            if page is not self.page:
                page.close()
        self.context.unroute_all()
        self.page.unroute_all()
        for event, listener in self._heard:
            self.page.remove_listener(event, listener)
        self.context.set_offline(offline=False)
        if self.page.viewport_size != SCREEN:
            self.page.set_viewport_size(SCREEN)
        self.page.goto(CONSOLE)  # a new document in the same process, which the next test needs anyway
        self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.context.clear_cookies()
        for noted in (self._heard, self.expected, self._noted):
            noted.clear()
        self._acted = False

    def tab(self) -> Visit:
        """Open another tab of the same browser; the caller looks at its ``troubles``."""
        return Visit(self.house, self.context)

    def go(self, address: str = "/") -> None:
        """Go to a view: ``/users?page=2``."""
        self.page.goto(f"{CONSOLE}#{address}")

    def sign_in_by_hand(self, name: str = ADMINISTRATOR, address: str = "/") -> None:
        """Go to a view, sign in by the page that asks for it, and wait until the view is there."""
        self.go(address)
        self.page.get_by_label("User name").fill(name)
        self.page.locator("input[type=password]").fill(ADMINISTRATOR_PASSWORD)
        self.page.get_by_role("button", name="Sign in", exact=True).click()
        self._shown()

    def sign_in(self, name: str = ADMINISTRATOR, address: str = "/") -> None:
        """Go to a view, get a session as from another tab, and wait until the view is there."""
        self.go(address)
        expect(self.page.get_by_label("User name")).to_be_visible()
        self.page.evaluate(_HAND_OVER, self.house.log_in(name))
        self._shown()

    def _shown(self) -> None:
        """Wait until there is a session, and its first view has loaded."""
        expect(self.page.get_by_role("navigation").first).to_be_visible()
        expect(self.page.get_by_role("main").get_by_role("heading", level=1)).not_to_be_empty()
        settled(self.page)

    def axe(self) -> None:
        """Look for faults of accessibility in light, and for bad contrast in dark, once all is loaded."""
        settled(self.page)
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(_AXE.read_text(encoding="utf-8"))
        quick = {"runOnly": _WCAG, "rules": {rule: {"enabled": False} for rule in (_CONTRAST, _SIZE)}}
        violations = self.page.evaluate(_RUN, quick)
        violations += self.page.evaluate(_RUN_ON_LOOKS, [_SIZE, []])[0]
        violations += self._contrast()
        self.page.emulate_media(color_scheme="dark")
        try:
            violations += [violation | {"id": f"dark: {violation['id']}"} for violation in self._contrast()]
        finally:
            self.page.emulate_media(color_scheme="light")
        messages = [
            f"{violation['id']}: {violation['help']}: "
            + ", ".join(node["html"][:200] for node in violation["nodes"])
            for violation in violations
        ]
        assert messages == [], "\n".join(messages)

    def _contrast(self) -> list[Any]:
        """Return violations of the contrast, of what looks like nothing that has passed on any page."""
        violations: list[Any]
        violations, passed = self.page.evaluate(_RUN_ON_LOOKS, [_CONTRAST, list(self.house.readable)])
        self.house.readable.update(passed)
        return violations

    def picture(self, name: str) -> None:
        """Write a screenshot for the documentation, if it is asked for."""
        if os.environ.get("PORTCULLIS_PICTURES"):
            PICTURES.mkdir(exist_ok=True)
            self.page.mouse.move(0, 0)
            # Playwright itself writes no WebP, which needs half of the space.
            session = self.context.new_cdp_session(self.page)
            taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": 80})
            (PICTURES / f"{name}.webp").write_bytes(base64.b64decode(taken["data"]))

    def _note_act(self, request: Request) -> None:
        if request.method != "GET" and "/api/auth/" not in request.url and "dryRun" not in request.url:
            self._acted = True

    def _report(self, text: str) -> None:
        self._noted.append(text)

    def _note(self, message: ConsoleMessage) -> None:
        refused = message.text.startswith(_REFUSED) and "/api/" in message.location.get("url", "")
        if message.type in ("error", "warning") and not refused:
            self._noted.append(f"{message.type}: {message.text}")
