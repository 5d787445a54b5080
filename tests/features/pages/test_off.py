"""Without the pages: 404 in their place, and nothing leads there."""

from service.features.pages.links import facts
from service.kernel.feature import provided
from tests.support.inside_fixtures import ServiceWith

OFF = {"PORTCULLIS_FEATURES__OFF": "pages"}
PAGES = ("/", "/docs", "/docs/errors", "/docs/guide", "/docs/assets/errors.css", "/docs/guide/index.html")


async def test_pages_are_not_found_and_what_programs_read_stays(service_with: ServiceWith) -> None:
    async with service_with(**OFF) as service:
        for path in PAGES:
            answer = await service.as_anonymous("GET", path)
            assert (answer.status, answer.json["type"]) == (404, "/docs/errors#not-found"), path
        for path in ("/docs/openapi.json", "/openapi.json", "/health/live", "/health/ready"):
            assert (await service.as_anonymous("GET", path)).status == 200, path
        console = (await service.as_anonymous("GET", "/console")).body.decode()
        assert "data-version=" in console
        assert "data-api=" not in console
        assert "data-guide=" not in console


async def test_the_console_and_the_banner_lead_to_the_pages_where_they_are_served(
    service_with: ServiceWith,
) -> None:
    async with service_with() as service:
        console = (await service.as_anonymous("GET", "/console")).body.decode()
        assert 'data-api="/docs"' in console
        assert ("data-guide=" in console) is ("guide" in facts())
    assert provided("banner", ["pages"]) == {}
    assert "pages" not in provided("console-facts", ["pages"])
    (rows,) = provided("banner").values()
    assert rows == {"API docs": "/docs"}
