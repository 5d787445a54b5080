"""A visit to the console: a page of a browser context, what went wrong on it, and what people do with it."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import axe_playwright_python
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Locator,
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

_SCRIPTS: Final = Path(__file__).with_name("scripts")
_AXE: Final = Path(axe_playwright_python.__file__).with_name("axe.min.js")
_WCAG: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_WAITING: Final = "main :is(.body, .scroll)[aria-busy=true], main .loading"
_HAND_OVER: Final = """({ accessToken, refreshToken, expiresIn }) => {
  const since = Date.now();
  const proof = { access: accessToken, refresh: refreshToken, since, until: since + 1000 * expiresIn };
  const channel = new BroadcastChannel("portcullis");
  channel.postMessage({ kind: "proof", proof });
  channel.close();
}"""
_REST: Final = """() => {
  if (!document.querySelector(".layout")) return false;
  document.querySelectorAll("dialog, .message").forEach((shown) => shown.remove());
  const channel = new BroadcastChannel("portcullis");
  channel.postMessage({ kind: "ended" });
  channel.close();
  localStorage.clear();
  sessionStorage.clear();
  document.documentElement.dataset.theme = "auto";
  history.replaceState(null, "", "#");
  return true;
}"""
"""Ends the session in the page, as another tab would; returns false where the console shows no view.

The page asks for a login then, with all modules loaded: the next test needs no new document."""
_FOCUSED: Final = "() => document.activeElement !== document.body"
_REPORTS: Final = """
addEventListener("securitypolicyviolation", (event) =>
  reportTrouble(`${event.effectiveDirective} forbids ${event.blockedURI}: ${event.sample}`));
"""
expect.set_options(timeout=PATIENCE)


_REFUSED: Final = "Failed to load resource: the server responded with a status of"


@cache
def _source(name: str) -> str:
    return (_SCRIPTS / f"{name}.js").read_text(encoding="utf-8")


def script(name: str, result: str) -> str:
    """Return a function for `evaluate`: it has those of a file of ``scripts``, and returns ``result``.

    Its argument is ``given``.
    """
    return f"async (given) => {{\n{_source(name)}\nreturn {result};\n}}"


def settled(page: Page) -> None:
    """Wait until the view that is shown has loaded: nothing on it moves by itself any more, nor the focus."""
    expect(page.locator(_WAITING)).to_have_count(0)


def new_context(
    house: House, url: str | None = None, locale: str = "en-GB", zone: str = "Europe/Berlin"
) -> BrowserContext:
    """Return a browser of its own, at ``url`` or the address of the house: no session, no stored data."""
    context = house.browser.new_context(
        base_url=url or house.address,
        viewport=SCREEN,
        locale=locale,
        timezone_id=zone,
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
        self.is_spoilt = False
        """Set by tests that change the document itself: the next one gets a new document."""

    @property
    def troubles(self) -> list[str]:
        """What went wrong so far."""
        return [text for text in self._noted if not any(part in text for part in self.expected)]

    @property
    def _login(self) -> Locator:
        """The button of the page that asks for a login."""
        return self.page.locator("main.alone").get_by_role("button", name="Sign in", exact=True)

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
        if self.is_spoilt or "/console" not in self.page.url or not self.page.evaluate(_REST):
            self.page.goto(CONSOLE)
            self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        expect(self._login).to_be_visible()
        self.context.clear_cookies()
        for noted in (self._heard, self.expected, self._noted):
            noted.clear()
        self._acted = self.is_spoilt = False

    def tab(self) -> Visit:
        """Open another tab of the same browser; the caller looks at its ``troubles``."""
        return Visit(self.house, self.context)

    def go(self, address: str = "/") -> None:
        """Go to a view: ``/users?page=2``."""
        self.page.goto(f"{CONSOLE}#{address}")

    def open(
        self, address: str, title: str | re.Pattern[str] | None = None, name: str = ADMINISTRATOR
    ) -> Page:
        """Sign in at a view, wait until it is there, with this title if it is known, and return the page."""
        self.sign_in(name, address)
        return self.show(address, title) if title else self.page

    def show(self, address: str, title: str | re.Pattern[str]) -> Page:
        """Go to a view, wait until it is shown with this title, and all of it, and return the page."""
        self.page.evaluate("(address) => { location.hash = address; }", address)
        expect(self.page.get_by_role("heading", level=1)).to_have_text(title)
        settled(self.page)
        return self.page

    def sign_in_by_hand(self, name: str = ADMINISTRATOR, address: str = "/") -> None:
        """Go to a view, sign in by the page that asks for it, and wait until the view is there."""
        self.go(address)
        self.page.get_by_label("User name").fill(name)
        self.page.locator("input[type=password]").fill(ADMINISTRATOR_PASSWORD)
        self.page.get_by_role("button", name="Sign in", exact=True).click()
        self._shown()

    def sign_in(self, name: str = ADMINISTRATOR, address: str = "/") -> None:
        """Go to a view, get a session as from another tab, and wait until the view is there.

        A session that the page has is left behind.
        """
        self.page.evaluate(_REST)
        self.go(address)
        expect(self._login).to_be_visible()
        self.page.evaluate(_HAND_OVER, self.house.log_in(name))
        self._shown()

    def _shown(self) -> None:
        """Wait until there is a session, and its first view has loaded."""
        expect(self.page.get_by_role("navigation").first).to_be_visible()
        expect(self.page.get_by_role("main").get_by_role("heading", level=1)).not_to_be_empty()
        settled(self.page)

    def axe(self) -> None:
        """Fail for what `barriers` finds."""
        settled(self.page)
        barriers = self.barriers()
        assert barriers == [], "\n".join(barriers)

    def barriers(self) -> list[str]:
        """Return faults of accessibility in light, and of contrast in dark too.

        What surrounds all views is judged once for the house, and so is contrast of what looks the same.
        """
        result = self._judge(dark=False)
        if result is None:
            self.page.evaluate(_AXE.read_text(encoding="utf-8"))
            result = self._judge(dark=False) or {}
        violations = result["violations"]
        self.house.is_frame_judged |= result["hasFrame"]
        if result["isNew"]:
            self.page.emulate_media(color_scheme="dark")
            dark = self._judge(dark=True) or {}
            self.page.emulate_media(color_scheme="light")
            violations += [violation | {"id": f"dark: {violation['id']}"} for violation in dark["violations"]]
        return [
            f"{violation['id']}: {violation['help']}: "
            + ", ".join(node["html"][:200] for node in violation["nodes"])
            for violation in violations
        ]

    def _judge(self, *, dark: bool) -> dict[str, Any] | None:
        given = {
            "isFrameJudged": self.house.is_frame_judged,
            "known": list(self.house.readable),
            "rules": _WCAG,
            "dark": dark,
        }
        result: dict[str, Any] | None = self.page.evaluate(script("rules", "barriers(given)"), given)
        self.house.readable.update((result or {}).get("passed", ()))
        return result

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
