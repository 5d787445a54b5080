"""What tests of the console may ask for; README.md says how to write one."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Dialog

from service.features.embedded.stores import EmbeddedStores
from tests.console.hostile import store
from tests.console.house import House
from tests.console.mailbox import Mailbox
from tests.console.states import Hostile, paths
from tests.console.visits import SCREEN, Visit, new_context
from tests.support.chromium import chromium


@pytest.fixture(scope="session")
def _closed(published_template: str) -> Iterator[None]:  # noqa: ARG001 - it has to outlive the houses
    """Close the houses before their template and its stores, also when a run is interrupted."""
    yield
    House.close()


@pytest.fixture
def house(stores: EmbeddedStores, published_template: str, _closed: None) -> House:
    """The service, its administrator and the browser.

    A file whose tests need another service overrides this: `visit` and `visitor` go there then.
    """
    chromium()  # before anything is started for a test that is skipped
    return House.of(stores, published_template)


@pytest.fixture
def local(stores: EmbeddedStores, published_template: str, _closed: None) -> House:
    """A house at http://localhost, which may have passkeys, sends mail, and makes passwords initial."""
    chromium()

    def start() -> House:
        mailbox = Mailbox()
        house = House.at_localhost(
            stores,
            published_template,
            PORTCULLIS_PASSWORD__INITIAL="true",
            PORTCULLIS_MAIL__URL=f"smtp://127.0.0.1:{mailbox.port}",
            PORTCULLIS_MAIL__FROM="portcullis@example.com",
        )
        house.beside(mailbox.close)
        house.mailbox = mailbox
        house.execute("UPDATE sys.user SET password_initial = NULL")
        return house

    return House.of(stores, published_template, "local", start)


@pytest.fixture
def visitor(house: House) -> Iterator[Callable[[], Visit]]:
    """Open browsers of their own, each with one page; at the end nothing may have gone wrong on them."""
    visits: list[Visit] = []

    def new() -> Visit:
        visits.append(house.idle.pop() if house.idle else Visit(house, new_context(house)))
        return visits[-1]

    yield new
    for visit in visits:
        visit.find_focus()
    troubles = [visit.troubles for visit in visits]
    for visit in visits:
        visit.end()
        house.idle.append(visit)
    assert not any(troubles), troubles


@pytest.fixture
def newcomer(house: House) -> Iterator[Visit]:
    """A browser that has loaded nothing yet."""
    with new_context(house) as context:
        visit = Visit(house, context)
        yield visit
        visit.find_focus()
        assert visit.troubles == []


@pytest.fixture
def visit(visitor: Callable[[], Visit]) -> Visit:
    """A browser of its own with one page."""
    return visitor()


@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.extended)])
def hostile(
    request: pytest.FixtureRequest, stores: EmbeddedStores, published_template: str, _closed: None
) -> Iterator[Hostile]:
    """A house of its own, whose records hold hostile texts: each in some field, or in all of them."""
    chromium()
    house = House(stores, published_template)
    try:
        addresses = paths(store(house.api, everywhere=request.param == "all"))
        with new_context(house) as context:
            visit = Visit(house, context)
            visit.sign_in()
            yield Hostile(visit, addresses)
    finally:
        house.end()


@pytest.fixture
def calm(hostile: Hostile) -> Iterator[Visit]:
    """The visit to the hostile house, on which nothing may run."""
    visit = hostile.visit
    ran: list[str] = []

    def note(dialog: Dialog) -> None:
        ran.append(dialog.message)
        dialog.dismiss()

    visit.hear("dialog", note)
    yield visit
    visit.page.set_viewport_size(SCREEN)
    assert (ran, visit.troubles) == ([], [])
