"""All that a view of the console can show: itself, its menus, and the dialogs that its buttons open."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.console.test_scripts import CONSOLE as FILES
from tests.console.visits import Visit, settled

PATTERNS: Final = [
    pattern
    for path in (FILES / "loaders.js", *sorted(FILES.glob("features/*/feature.js")))
    for pattern in re.findall(r'pattern: "([^"]+)"', path.read_text(encoding="utf-8"))
]
"""The paths of all views, with the names of what stands in them."""
ASKED: Final = {
    "/policy/explain": "?userName=admin&method=GET&path=/api/user/list",
    "/policy/who": "?method=GET&path=/api/user/list",
    "/policy/what": "?roleCode=super",
    "/policy/compare": "?from=1&to=2",
}
"""What is asked of views that show nothing without a question."""

NARROW: Final[ViewportSize] = {"width": 320, "height": 640}
"""CSS pixels: WCAG 2.2, 1.4.10 (Reflow)."""
SIZES: Final[tuple[ViewportSize, ...]] = ({"width": 1440, "height": 900}, {"width": 390, "height": 844})
LAYOUT: Final = """() => ({
  width: document.documentElement.scrollWidth,
  markup: document.querySelectorAll("main :is(img, iframe, base, style), dialog img, body script").length,
  torn: [...document.querySelectorAll(".listing .table:not(.keep) tbody :is(th, td):not(.row-actions, .box)")]
    .filter((cell) => cell.childNodes.length > 1).length,
})"""
"""How wide the page is, how much markup of others is in it, and how many cells of lists hold several items,
which a narrow screen would tear apart."""
ASTRAY: Final = """() => {
  const place = (one) => one.closest("dialog[open], .acts > ul, .menu > ul, #messages, #side, .top, main");
  const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  const box = (one, within) => {
    const own = one.getClientRects()[0];
    const hidden = own.width * own.height < 5;
    let { left, right, top, bottom } = hidden ? (one.labels?.[0] ?? one).getBoundingClientRect() : own;
    for (let around = one.parentElement; around !== within; around = around.parentElement) {
      if (getComputedStyle(around).overflowY === "visible") continue;
      const edge = around.getBoundingClientRect(); // what is scrolled away is at the edge
      [left, right] = [left, right].map((x) => Math.min(Math.max(x, edge.left), edge.right));
      [top, bottom] = [top, bottom].map((y) => Math.min(Math.max(y, edge.top), edge.bottom));
    }
    return { left, right, top, bottom, height: bottom - top };
  };
  const name = (one) => `${one.localName} ${one.ariaLabel ?? (one.labels?.[0] ?? one).textContent}`;
  const all = top.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]");
  const stops = [...all].filter((one) => one.tabIndex >= 0 && !one.disabled && !one.matches(".skip")
    && one.getClientRects().length > 0 && one.checkVisibility({ visibilityProperty: true }));
  return stops.slice(1).flatMap((next, at) => {
    const before = stops[at];
    if (place(before) !== place(next) || before.contains(next)) return [];
    let within = before.parentElement;
    while (!within.contains(next)) within = within.parentElement;
    const [one, two] = [box(before, within), box(next, within)];
    const shared = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
    const level = shared > Math.min(one.height, two.height) / 2;
    // Another column begins above, but beside what was before.
    const back = level ? two.right <= one.left + 1 : two.bottom <= one.top + 1 && two.left < one.right;
    return back ? [`${name(before)} -> ${name(next)}`] : [];
  });
}"""
"""The tab stops after which the next one of the same part of the page is above or to the left."""

DRAWN: Final = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
"""Waits until the page has followed its size: what scrolls now can be reached by keys."""
WIDTHS: Final = (1440, 1024, 390)
"""CSS pixels of the windows in which the rules hold."""
_FAULTS: Final = """() => {
  const faults = [];
  const main = document.querySelector("main");
  const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? main;
  const name = (one) => `${one.localName}.${one.className}: ${(one.textContent || "").trim().slice(0, 60)}`;
  const shown = (one) => one.getClientRects().length > 0 && one.checkVisibility({ visibilityProperty: true });
  const every = (selector) => [...top.querySelectorAll(selector)].filter(shown);
  const lines = (one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    const tops = [...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => top);
    return tops.sort((a, b) => a - b).filter((at, place) => place === 0 || at > tops[place - 1] + 6).length;
  };

  for (const code of every(":is(td, th, dd) :is(code, .path, a)")) {
    const cell = code.closest("td, th, dd");
    if (cell.getBoundingClientRect().width < 90 && lines(code) > 2) faults.push(`broken up: ${name(code)}`);
  }

  const end = Math.ceil((document.querySelector(".layout")?.getBoundingClientRect().bottom ?? 0) + scrollY);
  const { scrollHeight: long } = document.documentElement;
  if (long > Math.max(innerHeight, end)) faults.push(`scrolls into nothing: ${long} of ${end}`);

  const odd = /\\b(?:undefined|null|NaN|Infinity|Invalid Date)\\b|\\[object /;
  const said = [document.title];
  const texts = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (!texts.currentNode.parentElement.closest("pre, .model, .lines")) said.push(texts.currentNode.data);
  }
  for (const one of top.querySelectorAll("*")) {
    for (const { name, value } of one.attributes)
      if (/^(aria-label|title|placeholder|alt|href|value|datetime)$/.test(name)) said.push(value);
    if (one.matches("input:not([type=checkbox], [type=radio])")) said.push(one.value);
  }
  for (const text of said) if (odd.test(text)) faults.push(`says ${text.trim().slice(0, 80)}`);

  const boxes = ".card, .note, .trouble, .message, .badge, .button, dd, .filter, .dialog-body, h1";
  for (const one of [top, ...every(boxes)]) {
    const { display, overflowX } = getComputedStyle(one);
    const cut = overflowX === "hidden" && one.title; // which says all of it when pointed at
    if (display === "inline" || cut) continue;
    if (one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)
      faults.push(`hangs out by ${one.scrollWidth - one.clientWidth}: ${name(one)}`);
  }
  for (const one of every("input, select, textarea")) {
    const [own, around] = [one, one.parentElement].map((each) => each.getBoundingClientRect());
    if (own.width > 4 && own.right > around.right + 1) faults.push(`wider than its place: ${name(one)}`);
  }
  for (const one of every(".filter")) {
    const { width } = one.getBoundingClientRect();
    if (innerWidth > 640 && width > 320) faults.push(`a filter of ${Math.round(width)} px: ${name(one)}`);
  }

  for (const one of every(".page > .body > .listing > .scroll.list")) {
    const out = one.scrollWidth - one.clientWidth;
    if (innerWidth >= 1024 && out > 1) faults.push(`cuts off ${out} of the list ${one.ariaLabel}`);
  }

  const heading = main?.querySelector("h1")?.textContent ?? "";
  if (heading === "" || heading === "Portcullis") faults.push(`is titled "${heading}"`);
  if (main?.querySelector(".page > .body > .trouble") && !main.querySelector(".crumbs a"))
    faults.push("shows trouble, and no way back");
  if (/Nothing was saved/.test(main?.querySelector(".page > .body > .trouble")?.textContent))
    faults.push("says that nothing was saved, of what was only read");
  return faults;
}"""
"""What breaks a rule of all views and dialogs: codes broken letter by letter, a page longer than its content,
values that are none, text that hangs out of its box, a record without a title or a way back."""


_FIND: Final = """() => [...document.querySelectorAll("main :is(button, .acts > summary)")].filter((one) =>
  !one.disabled && !one.matches(".sort, .fold, .twist, [data-key], [role=tab], .listing tr + tr *"))"""
_NAME: Final = "(one) => (one.ariaLabel ?? one.textContent).trim()"
_NAMES: Final = f"() => ({_FIND})().map({_NAME})"
_PRESS: Final = f"""(name) => {{
  const one = ({_FIND})().find((one) => ({_NAME})(one) === name);
  const menu = one?.closest("details.acts");
  if (menu) menu.open = true;
  if (one?.localName === "button") one.click();
}}"""
_SHOWN: Final = (
    "() => document.querySelector('dialog[open]') || !document.querySelector('main [aria-busy=true]')"
)
_OPENED: Final = "dialog[open], main .acts[open]"


@dataclass(frozen=True)
class Hostile:
    """A visit of the administrator to a house that holds hostile texts, and the paths of all views."""

    visit: Visit
    paths: list[str]


def paths(ids: dict[str, list[int]]) -> list[str]:
    """Return the paths of all views, those of a record with the id of one of ``ids``, by kind."""
    known = {f"{kind}s": str(numbers[:4][-1]) for kind, numbers in ids.items() if numbers} | {
        "directories": "hostile"
    }
    return [
        re.sub(r"\{\w+\}", known.get(pattern.split("/")[1], "1"), pattern) + ASKED.get(pattern, "")
        for pattern in PATTERNS
    ]


def faults(page: Page, what: str) -> list[str]:
    """Return what breaks a rule in the state that is shown, ``what``, at each of ``WIDTHS``."""
    before = page.viewport_size or SIZES[0]
    broken = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": before["height"]})
        page.evaluate(DRAWN)
        broken += [f"{what}, {width}: {fault}" for fault in page.evaluate(_FAULTS)]
    page.set_viewport_size(before)
    return broken


_MOVE: Final = """path => {
  if (location.hash === `#${path}`) return;
  for (const { dataset } of document.querySelectorAll("main .page")) delete dataset.path;
  location.hash = path;
}"""
"""Goes to a view. What is shown stays until that is there, and may have the same path with another query."""


def show(page: Page, path: str) -> Locator:
    """Go to a view, wait until all of it is shown, and return it."""
    page.evaluate(_MOVE, path)
    shown = page.locator(f'main .page[data-path="{path.partition("?")[0]}"]')
    expect(shown).to_be_visible()
    expect(shown.get_by_role("heading", level=1)).not_to_be_empty()
    settled(page)
    expect(shown.locator("[aria-busy=true]")).to_have_count(0)
    return shown


def states(visit: Visit, path: str, known: set[tuple[str, str]]) -> Iterator[str]:
    """Show a view, then what each of its buttons opens, and yield what is shown.

    ``known`` are the buttons that have been pressed already, by the first word of the path and their name;
    those of this view are added. Who gets a state may do what they like in it.
    """
    page = visit.page
    show(page, path)
    yield path
    area = path.split("/")[1].partition("?")[0]
    while True:
        names: list[str] = page.evaluate(_NAMES)
        name = next((name for name in names if (area, _kind(name)) not in known), None)
        if name is None:
            return
        known.add((area, _kind(name)))
        page.evaluate(_PRESS, name)
        page.wait_for_function(_SHOWN)
        if page.locator(_OPENED).count():
            yield f"{path}, {name}"
        _again(page, path)


def _kind(name: str) -> str:
    """Return the name of a button without what differs from record to record."""
    return re.sub(r":.*|\d+", "", name)[:16]


def _again(page: Page, path: str) -> None:
    """Show the view anew, whatever was done to it."""
    page.evaluate("() => document.querySelectorAll('dialog').forEach((one) => one.remove())")
    page.evaluate("() => { location.hash = '/nowhere'; }")
    away = page.get_by_role("heading", level=1, name="There is no such page")
    leave = page.locator("dialog[open]").get_by_role("button", name="Leave")
    expect(leave.or_(away).first).to_be_visible()
    if leave.count():
        leave.click()
    expect(away).to_be_visible()
    show(page, path)
