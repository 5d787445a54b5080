"""What tests of the console may ask for; README.md says how to write one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from service.embedded import EmbeddedStores
from tests.console.house import House, chromium
from tests.console.visits import Visit, new_context

HERE = Path(__file__).parent


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """End browser and service after the last test of this folder: other tests run event loops."""
    yield
    if nextitem is None or HERE not in nextitem.path.parents:
        House.close()


@pytest.fixture(scope="session")
def _closed(stores: EmbeddedStores) -> Iterator[None]:  # noqa: ARG001 - they have to outlive the house
    """Close the house before its stores, also when a run is interrupted."""
    yield
    House.close()


@pytest.fixture
def house(stores: EmbeddedStores, published_template: str, _closed: None) -> House:
    """The service, its administrator and the browser."""
    chromium()  # before anything is started for a test that is skipped
    return House.of(stores, published_template)


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
        assert visit.troubles == []


@pytest.fixture
def visit(visitor: Callable[[], Visit]) -> Visit:
    """A browser of its own with one page."""
    return visitor()
