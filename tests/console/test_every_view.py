"""What holds for every view, menu and dialog: one walk applies all rules to each state, at each width."""

from datetime import UTC, datetime
from typing import Final

import pytest
from playwright.sync_api import expect

from tests.console.acts import headed
from tests.console.hostile import TEXTS, store_long
from tests.console.house import House
from tests.console.states import Hostile, faults, paths, show, show_anew, states
from tests.console.visits import Visit, script

pytestmark = pytest.mark.timeout(1_800)


STRICTEST: Final = (1024, 320)
"""The widths that leave the least room, beside the navigation and below it."""


def test_every_view_keeps_the_rules_with_the_longest_names_and_with_markup_in_them(
    visit: Visit, house: House
) -> None:
    broken: list[str] = []
    before = datetime.now(UTC).isoformat()
    visit.hear("dialog", lambda dialog: pytest.fail(dialog.message))
    visit.sign_in()
    views = paths(store_long(house))
    assert len(views) > 90  # those of features are among them
    for path in views:
        show(visit.page, path)
        broken += faults(visit, path, STRICTEST)
    assert not broken, "\n".join(broken)
    # Nothing that the console asks by itself is refused.
    assert house.items("operation-log", userName="admin", decision="deny", **{"from": before}) == []


def test_what_is_not_there_has_a_title_and_a_way_back(visit: Visit) -> None:
    page = visit.page
    heading, back = page.get_by_role("heading", level=1), page.get_by_role("navigation", name="Back")
    visit.sign_in(address="/roles/999999")
    for address, title in (
        ("/roles/999999", "Not found"),
        ("/roles/abc", "There is no such page"),
        ("/users/0", "There is no such page"),
    ):
        visit.show(address, title)
        expect(page).to_have_title(f"{title} · Portcullis")
        expect(page.get_by_role("main")).not_to_contain_text("Nothing was saved")
        back.get_by_role("link").click()
        headed(page, address.split("/")[1].title())
    visit.context.set_offline(offline=True)
    visit.expected.append("net::ERR_INTERNET_DISCONNECTED")
    for address, title in (("/roles", "Roles"), ("/roles/1", "The service can't be reached")):
        visit.go(address)
        expect(heading).to_have_text(title)
    visit.context.set_offline(offline=False)
    back.get_by_role("link").click()
    expect(page.get_by_role("table")).to_be_visible()


@pytest.mark.extended
def test_every_state_keeps_the_rules_is_accessible_and_the_way_back_closes_its_dialogs(
    calm: Visit, hostile: Hostile
) -> None:
    page = calm.page
    dialogs = page.locator("dialog[open]")
    broken, seen, closed = [], 0, 0
    known: set[tuple[str, str]] = set()
    for path in [*hostile.paths, "/%3Cimg%20src=x%20onerror=alert(1)%3E"]:
        for state in states(calm, path, known):
            seen += 1
            broken += faults(calm, state)
            if dialogs.count():
                heading = page.get_by_role("heading", level=1).inner_text()
                page.evaluate("() => history.back()")
                expect(dialogs).to_have_count(0)
                page.wait_for_function("(path) => location.hash === `#${path}`", arg=path)
                expect(page.get_by_role("heading", level=1)).to_have_text(heading)
                closed += 1
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    assert not broken, "\n".join(broken)
    assert seen > 1.5 * len(hostile.paths)  # menus and dialogs were among them
    assert closed > 40


@pytest.mark.extended
def test_what_is_typed_anywhere_stays_text(calm: Visit, hostile: Hostile) -> None:
    page = calm.page
    wrong, fields = [], 0
    known: set[tuple[str, str]] = set()
    for path in hostile.paths:
        for state in states(calm, path, known):
            fields += page.evaluate(script("rules", "type(given)"), list(TEXTS))
            page.wait_for_function(script("rules", "idle()"))
            page.evaluate(script("rules", "send()"))
            page.wait_for_function(script("rules", "idle()"))
            if page.evaluate(script("rules", "foreign()")):
                wrong.append(state)
        show_anew(page, path)  # a view asks before what was typed in it is lost
    assert not wrong, "\n".join(wrong)
    assert fields > 100
