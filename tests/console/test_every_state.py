"""What holds for every view, menu and dialog: they are accessible, and what is typed into them stays text."""

from typing import Final

import pytest
from playwright.sync_api import expect

from tests.console.hostile import TEXTS
from tests.console.states import ASTRAY, DRAWN, LAYOUT, SIZES, Hostile, faults, states
from tests.console.visits import Visit

pytestmark = [pytest.mark.extended, pytest.mark.timeout(1_800)]

TYPE: Final = """(texts) => {
  const place = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.querySelector("main");
  const other = "[type=checkbox], [type=radio], [type=file], [type=datetime-local], [type=number]";
  const fields = place.querySelectorAll(`textarea, input:not(${other})`);
  for (const text of texts) {
    for (const field of fields) {
      field.value = text;
      for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
    }
  }
  return fields.length;
}"""
"""Types each of some texts into each field of what is shown, and returns how many fields there are."""
SEND: Final = """() => {
  const place = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.querySelector("main");
  place.querySelector("form:has(textarea, input:not([type=checkbox], [type=radio])) [type=submit]")?.click();
}"""
"""Sends the first form that takes text."""
IDLE: Final = """() => {
  const place = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.querySelector("main");
  return !place.querySelector("[aria-busy=true]");
}"""


def test_every_view_menu_and_dialog_keeps_the_rules_and_is_accessible(calm: Visit, hostile: Hostile) -> None:
    broken, seen = [], 0
    known: set[tuple[str, str]] = set()
    for path in hostile.paths:
        for state in states(calm, path, known):
            seen += 1
            broken += faults(calm.page, state)
            for size in SIZES:
                calm.page.set_viewport_size(size)
                calm.page.evaluate(DRAWN)
                try:
                    calm.axe()
                except AssertionError as error:
                    broken.append(f"{state}, {size['width']}: {error}")
                if astray := calm.page.evaluate(ASTRAY):
                    broken.append(f"{state}, {size['width']}: {astray}")
            calm.page.set_viewport_size(SIZES[0])
    assert not broken, "\n".join(broken)
    assert seen > 1.5 * len(hostile.paths)  # menus and dialogs were among them


def test_the_way_back_closes_each_dialog_and_leaves_its_view(calm: Visit, hostile: Hostile) -> None:
    page = calm.page
    dialogs = page.locator("dialog[open]")
    closed, known = 0, set[tuple[str, str]]()
    for path in hostile.paths:
        for _ in states(calm, path, known):
            if not dialogs.count():
                continue
            heading = page.get_by_role("heading", level=1).inner_text()
            page.evaluate("() => history.back()")
            expect(dialogs).to_have_count(0)
            page.wait_for_function("(path) => location.hash === `#${path}`", arg=path)
            expect(page.get_by_role("heading", level=1)).to_have_text(heading)
            closed += 1
    assert closed > 40


def test_what_is_typed_anywhere_stays_text(calm: Visit, hostile: Hostile) -> None:
    wrong, fields = [], 0
    known: set[tuple[str, str]] = set()
    for path in hostile.paths:
        for state in states(calm, path, known):
            fields += calm.page.evaluate(TYPE, list(TEXTS))
            calm.page.wait_for_function(IDLE)
            calm.page.evaluate(SEND)
            calm.page.wait_for_function(IDLE)
            layout = calm.page.evaluate(LAYOUT)
            if layout["markup"] or layout["width"] > calm.page.evaluate("() => innerWidth"):
                wrong.append(f"{state}: {layout}")
    assert not wrong, "\n".join(wrong)
    assert fields > 100
