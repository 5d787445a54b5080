"""All that a view of the console can show: itself, its menus, and the dialogs that its buttons open."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.console.test_scripts import CONSOLE as FILES
from tests.console.visits import Visit, script

PATTERNS: Final = [
    pattern
    for path in (FILES / "loaders.js", *sorted(FILES.glob("features/*/feature.js")))
    for pattern in re.findall(
        r'(?:pattern: |\bview\(|^  \[)"(/[^"]*)"', path.read_text(encoding="utf-8"), re.MULTILINE
    )
]
"""The paths of all views, with the names of what stands in them."""
ASKED: Final = {
    "/policy/explain": "?userName=admin&method=GET&path=/api/user/list",
    "/policy/who": "?method=GET&path=/api/user/list",
    "/policy/what": "?roleCode=super",
    "/policy/compare": "?from=1&to=2",
}
"""What is asked of views that show nothing without a question."""

WIDTHS: Final = (1440, 1024, 320)
"""CSS pixels of the windows in which the rules hold; the least is that of WCAG 2.2, 1.4.10 (Reflow)."""
SIZES: Final[tuple[ViewportSize, ...]] = ({"width": 1440, "height": 900}, {"width": 390, "height": 844})
"""The windows in which all is accessible."""
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
_NOWHERE: Final = re.compile("^(There is no such page|页面不存在|Ťĥéŕé íš ñó)")
_LEAVE: Final = re.compile("^(Leave|离开|Ļéá)")
"""What the console says, in the languages of tests, one of which is made of accents."""
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


def faults(visit: Visit, what: str, widths: Sequence[int] = WIDTHS) -> list[str]:
    """Return what breaks a rule in the state that is shown, ``what``, at each of ``widths``.

    At the first width axe judges too. The window keeps the last one, with which the next state begins: a
    change of it costs as much as the rules.
    """
    page = visit.page
    size = page.viewport_size or SIZES[0]
    broken: list[str] = []
    for width in sorted(widths, key=lambda width: width != size["width"]):
        if width != size["width"]:
            size = {"width": width, "height": size["height"]}
            page.set_viewport_size(size)
        broken_here: list[str] = page.evaluate(script("rules", "drawn().then(faults)"))
        if width == widths[0]:
            broken_here += visit.barriers()
        broken += [f"{what}, {width}: {fault}" for fault in broken_here]
    return broken


def show(page: Page, address: str) -> Locator:
    """Go to a view, wait until all of it is shown, and return it."""
    page.evaluate(script("rules", "show(given)"), address)
    return page.locator("main .page")


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
        show_anew(page, path)


def _kind(name: str) -> str:
    """Return the name of a button without what differs from record to record."""
    return re.sub(r":.*|\d+", "", name)[:16]


def show_anew(page: Page, path: str) -> None:
    """Show the view anew, whatever was done to it."""
    page.evaluate("() => document.querySelectorAll('dialog').forEach((one) => one.remove())")
    page.evaluate("() => { location.hash = '/nowhere'; }")
    away = page.get_by_role("heading", level=1, name=_NOWHERE)
    leave = page.locator("dialog[open]").get_by_role("button", name=_LEAVE)
    expect(leave.or_(away).first).to_be_visible()
    if leave.count():
        leave.click()
    expect(away).to_be_visible()
    show(page, path)
