"""The start page: where it leads, what it tells, and to whom."""

import pytest

from service import __version__
from service.endpoints.health import Live
from service.features.api_document.api import add_document
from service.features.pages.api_documents import add_docs
from service.features.pages.api_start import LINKS, StartPage
from service.kernel.about import AUDIENCE, LIMITS, ROLE
from service.server.prepared import banner
from service.web.requests.application import Application
from service.web.requests.credentials import OperatorToken
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.features.pages.test_docs import Links
from tests.support.cases import with_each
from tests.web.driver import Answer, ask
from tests.web.example_service import OpenGate

TOKEN = "an-operator-token-of-enough-characters"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def app() -> RequestMiddleware:
    application = Application()
    routes = Routes(application, OpenGate())
    for path in ("/health/live", "/health/ready", "/.well-known/jwks.json"):
        routes.add_outside(path, Live())
    routes.add_outside("/", StartPage(OperatorToken(TOKEN)))
    add_docs(routes)
    add_document(routes, info={"title": "Example", "version": "1.0"})
    routes.check([])
    return RequestMiddleware(application)


APP = app()


async def start(accept: str | None = BROWSER, *headers: tuple[str, str]) -> Answer:
    answer = await ask(APP, "GET", "/", *([] if accept is None else [("Accept", accept)]), *headers)
    assert answer.status == 200
    assert answer.header("vary") == "Accept"
    return answer


async def test_the_page_loads_and_leads_to_what_is_served_here() -> None:
    links = Links((await start()).body.decode())
    assert links.inline == []
    assert set(LINKS) < set(links.loaded)
    for target in links.loaded:
        if target != "data:,":
            assert (await ask(APP, "GET", target)).status == 200, target


async def test_the_page_says_what_this_is_and_what_it_is_not() -> None:
    page = (await start()).body.decode().replace("&#x27;", "'")
    for sentence in (ROLE, AUDIENCE, *LIMITS):
        assert sentence in page


async def test_the_page_leads_to_the_documentation_only_where_it_is_served() -> None:
    assert "/docs/guide" not in (await start()).body.decode()
    application = Application()
    Routes(application, OpenGate()).add_outside("/", StartPage(OperatorToken(TOKEN), guide=True))
    for accept in (BROWSER, "application/json"):
        answer = await ask(RequestMiddleware(application), "GET", "/", ("Accept", accept))
        assert '"/docs/guide"' in answer.body.decode()


async def test_the_page_may_run_no_script() -> None:
    policy = (await start()).header("content-security-policy") or ""
    directives = dict(directive.strip().partition(" ")[::2] for directive in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert "script-src" not in directives
    assert "unsafe" not in policy


@with_each(
    ("accept", "media_type"),
    [
        (None, "text/html; charset=utf-8"),
        ("*/*", "text/html; charset=utf-8"),
        (BROWSER, "text/html; charset=utf-8"),
        ("application/json;q=0.5, text/html", "text/html; charset=utf-8"),
        ("image/png", "text/html; charset=utf-8"),
        ("json;;q=", "text/html; charset=utf-8"),
        ("application/json", "application/json"),
        ("application/json, text/plain, */*", "application/json"),
    ],
)
async def test_a_client_that_asks_for_json_gets_json(accept: str | None, media_type: str) -> None:
    assert (await start(accept)).header("content-type") == media_type


async def test_json_has_the_same_links() -> None:
    body = (await start("application/json")).json["data"]
    assert (body["name"], body["role"], body["links"]) == ("Portcullis", ROLE, LINKS)


@pytest.mark.parametrize("accept", [BROWSER, "application/json"])
async def test_strangers_are_not_told_the_version(accept: str) -> None:
    assert __version__.encode() not in (await start(accept)).body
    wrong = await start(accept, ("Authorization", f"Bearer {TOKEN}x"))
    assert __version__.encode() not in wrong.body


async def test_operators_are_told_the_version() -> None:
    answer = await start("application/json", ("Authorization", f"Bearer {TOKEN}"))
    assert answer.json["data"]["version"] == __version__


async def test_nothing_is_at_the_start_page_but_a_page_to_read() -> None:
    assert (await ask(APP, "POST", "/", body=b"{}")).status == 405


async def test_the_banner_says_what_this_is() -> None:
    lines = banner("http://127.0.0.1:1", {}, None).splitlines()
    assert lines[0] == f"Portcullis {__version__}"
    assert [line.strip() for line in lines[1:3]] == [ROLE, AUDIENCE]
