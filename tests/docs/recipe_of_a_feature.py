"""What the recipe "A feature" of CONTRIBUTING makes; ``test_contributing.py`` runs this in the copy."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from service.__main__ import main
from service.features.embedded.stores import EmbeddedStores
from service.kernel.feature import switches
from tests.console.house import House
from tests.console.visits import Visit, new_context
from tests.support.chromium import chromium
from tests.support.databases import NewDatabase
from tests.support.inside import Inside, inside_published

LIST = "/api/headcount/list"
OFF = {"PORTCULLIS_FEATURES__OFF": "headcount"}
OPERATION = f"GET {LIST}"


async def paths_of(service: Inside) -> set[str]:
    return set((await service.as_anonymous("GET", "/docs/openapi.json")).json["paths"])


async def jobs_of(service: Inside) -> dict[str, Any]:
    return {job["name"]: job for job in (await service.data("GET", "/api/jobs"))["items"]}


async def counted(service: Inside) -> list[dict[str, Any]]:
    """Return the rows that the job has stored; it runs beside the requests."""
    for _ in range(500):
        rows: list[dict[str, Any]] = (await service.data("GET", LIST))["items"]
        if rows and (await jobs_of(service))["headcount"]["successTime"]:
            return rows
        await asyncio.sleep(0.02)
    raise AssertionError("the job has stored nothing")


async def test_it_counts_is_absent_while_it_is_off_and_lists_what_it_has_counted_when_it_is_on_again(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url = new_database(published_template)
    async with inside_published(url, redis_url) as service:
        await service.data("POST", "/api/jobs/headcount/run")
        rows = await counted(service)
        assert [row["users"] for row in rows] == [1]
        assert LIST in await paths_of(service)
        assert OPERATION in (await service.data("GET", "/api/user/operations"))["operations"]

    async with inside_published(url, redis_url, **OFF) as service:
        answer = await service.ask("GET", LIST)
        assert (answer.status, answer.json["code"]) == (404, "not_found")
        assert LIST not in await paths_of(service)
        assert OPERATION not in (await service.data("GET", "/api/user/operations"))["operations"]
        assert "headcount" not in await jobs_of(service)
        assert (await service.ask("POST", "/api/jobs/headcount/run")).status == 404

    async with inside_published(url, redis_url) as service:
        assert (await service.data("GET", LIST))["items"] == rows
        assert (await jobs_of(service))["headcount"]["runs"][0]["detail"] == "1 users"


@pytest.mark.parametrize("off", ["headcount", "all"])
def test_its_lines_are_those_that_are_left_out_where_it_is_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, off: str
) -> None:
    assert "headcount" in switches()
    for value, count in (("", 3), (off, 0)):
        monkeypatch.setenv("PORTCULLIS_FEATURES__OFF", value)
        assert main(["policy", "check", "--lines"]) == 0
        assert capsys.readouterr().out.count(f"{OPERATION}, ") == count


@pytest.fixture(params=["", "headcount"], ids=["on", "off"])
def visit(
    request: pytest.FixtureRequest, stores: EmbeddedStores, published_template: str
) -> Iterator[tuple[Visit, bool]]:
    chromium()
    house = House(stores, published_template, PORTCULLIS_FEATURES__OFF=request.param)
    try:
        browser = Visit(house, new_context(house))
        yield browser, not request.param
        browser.end()
        assert browser.troubles == []
    finally:
        house.end()


def test_its_view_is_in_the_navigation_where_it_is_on(visit: tuple[Visit, bool]) -> None:
    browser, on = visit
    browser.sign_in("admin", "/headcount")
    heading = browser.page.get_by_role("heading", level=1)
    entries = browser.page.get_by_role("navigation", name="Main navigation").get_by_role("link")
    expect(heading).to_have_text("Headcount" if on else "You have no access to this page")
    names = entries.all_inner_texts()
    assert names.count("Headcount") == on
    if on:
        assert names.index("Headcount") == names.index("By hour") + 1
