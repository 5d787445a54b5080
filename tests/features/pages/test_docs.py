"""The pages of the API and of the problem codes."""

import re
from html.parser import HTMLParser
from importlib.metadata import version

import pytest

from service.features.api_document.api import add_document
from service.features.pages.api_documents import add_docs
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.problems import refusals, type_of
from service.web.requests.routes import Routes
from tests.support.cases import with_each
from tests.web.driver import ask
from tests.web.example_service import OpenGate


def app() -> RequestMiddleware:
    application = Application()
    table = Routes(application, OpenGate())
    add_docs(table)
    add_document(table, info={"title": "Example", "version": "1.0"})
    table.check([])
    return RequestMiddleware(application)


APP = app()


class Links(HTMLParser):
    """Collects what a page loads, and what it runs or styles in line."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.inline: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        self.loaded += [names[name] or "" for name in ("src", "href") if name in names]
        if (tag == "script" and "src" not in names) or tag == "style":
            self.inline.append(tag)
        self.inline += [name for name in names if name.startswith("on") or name == "style"]


async def page(path: str) -> str:
    answer = await ask(APP, "GET", path)
    assert (answer.status, answer.header("content-type")) == (200, "text/html; charset=utf-8")
    return answer.body.decode()


@pytest.mark.parametrize("path", ["/docs", "/docs/errors"])
async def test_a_page_loads_only_what_is_served_here(path: str) -> None:
    links = Links(await page(path))
    assert links.inline == []
    for target in links.loaded:
        if target != "data:,":
            assert (await ask(APP, "GET", target)).status == 200, target


@pytest.mark.parametrize("path", ["/docs", "/docs/errors"])
async def test_a_page_may_run_no_script_of_anybody_else(path: str) -> None:
    policy = (await ask(APP, "GET", path)).header("content-security-policy")
    assert policy is not None
    directives = dict(directive.strip().partition(" ")[::2] for directive in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == "'self'"
    assert not re.search(r"https?:|\*|unsafe-eval", policy)


async def test_swagger_ui_knows_openapi_3_1() -> None:
    assert int(version("flask-swagger-ui").partition(".")[0]) >= 5
    script = (await ask(APP, "GET", "/docs/assets/swagger-ui-bundle.js")).body
    assert b"3.1" in script


@with_each(
    ("name", "media_type"),
    [
        ("swagger-ui.css", "text/css; charset=utf-8"),
        ("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
        ("start.js", "text/javascript; charset=utf-8"),
        ("errors.css", "text/css; charset=utf-8"),
    ],
)
async def test_an_asset_has_its_media_type(name: str, media_type: str) -> None:
    answer = await ask(APP, "GET", f"/docs/assets/{name}")
    assert (answer.status, answer.header("content-type")) == (200, media_type)


@with_each("name", ["swagger-ui.js.map", "index.html", "..%2f..%2fpyproject.toml", "nothing"])
async def test_no_other_file_is_an_asset(name: str) -> None:
    assert (await ask(APP, "GET", f"/docs/assets/{name}")).status in (400, 404)


async def test_every_problem_type_points_to_its_place_on_the_page() -> None:
    text = await page("/docs/errors")
    for refusal in refusals():
        path, _, anchor = type_of(refusal).partition("#")
        assert path == "/docs/errors"
        assert text.count(f'id="{anchor}"') == 1
        assert f"<code>{refusal.code}</code>" in text
