"""What holds for every view, menu and dialog: they are accessible, and what is typed into them stays text."""

from __future__ import annotations

from typing import Final

import pytest

from tests.console.hostile import TEXTS
from tests.console.states import ASTRAY, LAYOUT, SIZES, Hostile, states
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

DRAWN: Final = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
"""Waits until the page has followed its size: what scrolls now can be reached by keys."""


def test_no_view_menu_or_dialog_has_a_fault_of_accessibility(calm: Visit, hostile: Hostile) -> None:
    faults, seen = [], 0
    known: set[tuple[str, str]] = set()
    for path in hostile.paths:
        for state in states(calm, path, known):
            seen += 1
            for size in SIZES:
                calm.page.set_viewport_size(size)
                calm.page.evaluate(DRAWN)
                try:
                    calm.axe()
                except AssertionError as error:
                    faults.append(f"{state}, {size['width']}: {error}")
                if astray := calm.page.evaluate(ASTRAY):
                    faults.append(f"{state}, {size['width']}: {astray}")
            calm.page.set_viewport_size(SIZES[0])
    assert not faults, "\n".join(faults)
    assert seen > 1.5 * len(hostile.paths)  # menus and dialogs were among them


def test_what_is_typed_anywhere_stays_text(calm: Visit, hostile: Hostile) -> None:
    faults, fields = [], 0
    known: set[tuple[str, str]] = set()
    for path in hostile.paths:
        for state in states(calm, path, known):
            fields += calm.page.evaluate(TYPE, list(TEXTS))
            calm.page.wait_for_function(IDLE)
            calm.page.evaluate(SEND)
            calm.page.wait_for_function(IDLE)
            layout = calm.page.evaluate(LAYOUT)
            if layout["markup"] or layout["width"] > calm.page.evaluate("() => innerWidth"):
                faults.append(f"{state}: {layout}")
    assert not faults, "\n".join(faults)
    assert fields > 100
