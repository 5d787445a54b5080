"""What people do on pages of the console, and what they wait for."""

import re
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from playwright.sync_api import Locator, Page, Route, expect

from tests.console.visits import SCREEN, settled

UNSAFE: Final = "<img src=x onerror=alert(1)><svg/onload=alert(2)>'\"&{{7*7}}"
"""A text that would run if it became markup."""
BERLIN: Final = ZoneInfo("Europe/Berlin")
"""Where the reader is."""


def button(place: Page | Locator, name: str) -> Locator:
    """Return the button of this name."""
    return place.get_by_role("button", name=name, exact=True)


def row(page: Page, text: str) -> Locator:
    """Return the rows of tables that have a text."""
    return page.get_by_role("row").filter(has_text=text)


def headed(page: Page, title: str | re.Pattern[str]) -> None:
    """Wait until the view with that title is shown, and all of it."""
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    settled(page)


def card(page: Page, title: str) -> Locator:
    """Return the part of a view with this heading."""
    return page.locator("section.card", has=page.get_by_role("heading", name=title, exact=True))


def says(place: Locator, *texts: str | re.Pattern[str]) -> None:
    """Wait until a part of the page has all these texts."""
    for text in texts:
        expect(place).to_contain_text(text)


def follow(place: Page | Locator, name: str, title: str | re.Pattern[str]) -> None:
    """Click the link or the button of this name, and wait until the view with that title is shown."""
    place.get_by_role("link", name=name, exact=True).or_(button(place, name)).first.click()
    headed(place if isinstance(place, Page) else place.page, title)


def act(page: Page, name: str, confirm: str | None = None) -> None:
    """Do what is behind the button for further acts on a record, and confirm it in a dialog that asks."""
    page.locator("summary", has_text="More actions").click()
    button(page.locator(".acts"), name).click()
    if confirm:
        button(page.get_by_role("dialog"), confirm).click()


def unfold_question(page: Page) -> None:
    """Unfold the question above an answer of *Explain*."""
    page.locator("details.asked:not([open]) > summary").click()


def press(control: Locator) -> None:
    """Do by the keyboard what a control is for."""
    control.focus()
    control.press("Enter")


def confirmed(page: Page, control: Locator, confirm: str) -> None:
    """Press a control, and the button that confirms, once the dialog has it; wait until all is loaded."""
    press(control)
    press(button(page.get_by_role("dialog"), confirm))
    expect(page.get_by_role("dialog")).to_have_count(0)
    settled(page)


def narrow(page: Page) -> None:
    """Look at a view on the narrowest screen: nothing but tables may be wider than it."""
    settled(page)
    page.set_viewport_size({"width": 320, "height": 640})
    page.wait_for_function("document.documentElement.scrollWidth <= 320")
    page.set_viewport_size(SCREEN)


def hold(page: Page, url: str | re.Pattern[str], *methods: str) -> list[Route]:
    """Keep requests from the service until the test lets them go, by `continue_` of what is returned.

    Only those of ``methods`` if there are any, and no dry runs then.
    """
    held: list[Route] = []

    def decide(route: Route) -> None:
        request = route.request
        if methods and (request.method not in methods or "dryRun" in request.url):
            route.continue_()
        else:
            held.append(route)

    page.route(url, decide)
    return held


def typed(**ahead: float) -> str:
    """Return the instant so far ahead, as the reader types it."""
    return (datetime.now(BERLIN) + timedelta(**ahead)).strftime("%Y-%m-%dT%H:%M")
