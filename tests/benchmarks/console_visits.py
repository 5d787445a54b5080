"""What a view of the console costs in a browser: requests, bytes, time, tasks, nodes, and what moves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from playwright.sync_api import Browser, Page

from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

PATIENCE: Final = 60_000
"""Milliseconds that a view may take to settle."""

_OBSERVE: Final = """
(() => {
  const noted = { began: 0, last: 0, started: 0, ended: 0 };
  const fresh = { bytes: 0, largest: 0, calls: 0, task: 0, shift: 0 };
  Object.assign(noted, fresh);
  const changed = () => { noted.last = performance.now(); };
  performance.setResourceTimingBufferSize(100000);
  const real = window.fetch;
  // The events of the account are one answer for as long as the page stands.
  const endless = (address) => String(address).includes("/api/events/");
  window.fetch = (...given) => { if (!endless(given[0])) noted.started += 1; return real(...given); };
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) {
      changed();
      if (one.initiatorType !== "fetch" || endless(one.name)) continue;
      noted.ended += 1;
      noted.calls += 1;
      noted.bytes += one.decodedBodySize;
      noted.largest = Math.max(noted.largest, one.decodedBodySize);
    }
  }).observe({ type: "resource" });
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) {
      if (one.startTime >= noted.began) noted.task = Math.max(noted.task, one.duration);
      noted.last = Math.max(noted.last, one.startTime + one.duration);
    }
  }).observe({ type: "longtask" });
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) noted.shift += one.value;
  }).observe({ type: "layout-shift" });
  new MutationObserver(changed).observe(document, { childList: true, subtree: true, attributes: true });
  window.measuring = {
    begin() {
      const now = performance.now();
      Object.assign(noted, fresh, { began: now, last: now });
    },
    async settled(patience) {
      // The button that has opened a dialog is busy until it is closed: only the dialog counts then.
      const place = () => document.querySelector("dialog[open]") ?? document.querySelector("main");
      const waits = () => noted.started > noted.ended || place()?.querySelector("[aria-busy=true], .loading");
      for (;;) {
        await new Promise((resolve) => { setTimeout(resolve, 50); });
        const now = performance.now();
        if (now - noted.began > patience || (!waits() && now - noted.last > 500)) break;
      }
      const { began, last, calls, bytes, largest, task, shift } = noted;
      const nodes = document.querySelectorAll("*").length;
      const faults = document.querySelectorAll(":is(main, dialog) [role=alert]").length;
      const seconds = Math.max(10, last - began) / 1000;
      return { calls, bytes, largest, task, shift, seconds, nodes, faults };
    },
  };
})();
"""
_BEGIN: Final = "() => window.measuring.begin()"
_SETTLED: Final = "patience => window.measuring.settled(patience)"


@dataclass(frozen=True)
class Cost:
    """What was measured until nothing changed any more; ``largest`` are the bytes of the largest answer."""

    calls: int
    bytes: int
    largest: int
    task: float  # milliseconds of the longest task of the main thread; 0 below 50
    shift: float  # what moved without the reader, as the Layout Instability API counts it
    seconds: float
    nodes: int
    faults: int  # alerts that the view shows


class Visitor:
    """A tab in which the administrator has signed in."""

    def __init__(self, browser: Browser, url: str) -> None:
        context = browser.new_context(base_url=url, viewport={"width": 1280, "height": 900})
        context.set_default_timeout(PATIENCE)
        self.page: Page = context.new_page()
        self.page.add_init_script(_OBSERVE)
        self.page.goto("/console#/")
        self.page.get_by_label("User name").fill(ADMINISTRATOR)
        self.page.locator("input[type=password]").fill(ADMINISTRATOR_PASSWORD)
        self.first = self.cost(lambda page: page.get_by_role("button", name="Sign in").click())

    def cost(self, work: Callable[[Page], Any]) -> Cost:
        """Do ``work`` on the page, and return what it costs until the page is settled."""
        self.page.evaluate(_BEGIN)
        work(self.page)
        return Cost(**self.page.evaluate(_SETTLED, PATIENCE))

    def go(self, address: str) -> Cost:
        """Go to a view: ``/users?page=2``."""
        return self.cost(lambda page: page.evaluate("address => { location.hash = address; }", address))

    def leave(self) -> None:
        """Close what is open and take back what was chosen, so that nothing asks before the next view."""
        self.page.keyboard.press("Escape")
        if (discard := self.page.get_by_role("button", name="Discard the changes")).count():
            discard.click()
        self.page.evaluate(_SETTLED, PATIENCE)
