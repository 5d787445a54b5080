"""The console of 50,000 users and 10,000 resources: nothing moves by itself, and the focus is seen.

How long views take is measured by ``dev.py bench console``.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks.console import ACTS, ADDRESSES, Act, known
from tests.benchmarks.console_data import LARGE, install
from tests.benchmarks.installation import environment
from tests.console.house import House
from tests.console.states import SIZES, show
from tests.console.visits import Visit, new_context, script, settled
from tests.support.databases import database

pytestmark = [pytest.mark.extended, pytest.mark.timeout(1_800)]

NAME: Final = "large"
STOPS: Final = 60
"""How many tab stops of a view are tried: the rows of a list are alike."""
MOVED: Final = script("rules", "moved()")
UNSEEN: Final = script("rules", "unseen()")


@pytest.fixture(scope="module")
def large(
    stores: EmbeddedStores, tmp_path_factory: pytest.TempPathFactory, _closed: None
) -> Iterator[tuple[Visit, dict[str, Any]]]:
    """A visit to the large installation, and what stands in the addresses of its views."""
    place = Path(tmp_path_factory.mktemp("large"))
    with database(stores, name=NAME) as url:
        environ = environment(stores, place) | {"DATABASE_URL": url}
        with ThreadPoolExecutor(1) as apart:  # the browser keeps this thread from running an event loop
            apart.submit(install, environ, replace(LARGE, users=50_000)).result()
        ids = known(url)
        house = House(stores, NAME)
        try:
            with new_context(house) as context:
                visit = Visit(house, context)
                visit.page.add_init_script(f"({script('rules', 'observe()')})();")
                visit.sign_in()
                yield visit, ids
        finally:
            house.end()


def searched(page: Page) -> None:
    """Look for something by the keyboard, wherever it is."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.type("abc")
    expect(page.get_by_role("dialog").get_by_role("option").nth(3)).to_be_visible()


@pytest.mark.parametrize("size", SIZES, ids=["wide", "narrow"])
def test_nothing_moves_by_itself_and_the_focus_is_always_seen(
    large: tuple[Visit, dict[str, Any]], size: ViewportSize
) -> None:
    visit, ids = large
    page = visit.page
    page.set_viewport_size(size)
    faults = []
    for address in ADDRESSES.split():
        page.evaluate(MOVED)
        show(page, address.format(**ids))
        faults += [f"{address} moves: {moved}" for moved in page.evaluate(MOVED)]
        keys = ["Tab"] * STOPS
        if "matrix" in address:
            page.locator("tbody [tabindex='0']").focus()
            keys = ["ArrowDown"] * 30 + ["ArrowRight"] * 12 + ["ArrowUp"] * 25 + ["ArrowLeft"] * 12
        for key in keys:
            page.keyboard.press(key)
            unseen = page.evaluate(UNSEEN)
            if unseen == "the body":
                break  # after the last stop
            if unseen:
                faults.append(f"{address}: {key} leads to {unseen}")
    assert not faults, "\n".join(faults)
    assert visit.troubles == []


def test_what_is_done_in_a_view_keeps_the_focus_and_moves_nothing(
    large: tuple[Visit, dict[str, Any]],
) -> None:
    visit, ids = large
    page = visit.page
    page.set_viewport_size(SIZES[0])
    faults = []
    for act in [*ACTS, Act("everything is searched", "/account", searched)]:
        show(page, "/account/devices")  # not what was done before, in the same view
        show(page, act.address.format(**ids))
        page.evaluate(MOVED)
        act.work(page)
        settled(page)
        faults += [f"{act.name}: {moved}" for moved in page.evaluate(MOVED)]
        if unseen := page.evaluate(UNSEEN):
            faults.append(f"{act.name}: the focus is on {unseen}")
        page.keyboard.press("Escape")
        if (discard := page.get_by_role("button", name="Discard the changes")).count():
            discard.click()
    assert not faults, "\n".join(faults)
