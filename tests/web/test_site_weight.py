"""How much a browser loads: compressed files, their entity tags, and the page that asks for a login."""

import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path
from posixpath import dirname, join, normpath

import pytest

from service.features.api_document.api import add_document
from service.features.console.console import add_console
from service.features.console.sites import takes_gzip
from service.features.pages.api_documents import add_docs
from service.features.pages.api_guide import add_guide
from service.features.pages.links import GUIDE
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.support.cases import with_each
from tests.web.driver import Answer, ask
from tests.web.example_service import OpenGate

GZIP = ("Accept-Encoding", "gzip, deflate, br")
HEAVIEST_SIGN_IN = 70_000
"""Bytes of all that a browser loads before somebody can sign in, headers included."""

DOCUMENTS = [
    "/docs/openapi.json",
    "/openapi.json",
    "/docs",
    "/docs/errors",
    "/docs/assets/swagger-ui-bundle.js",
]
IMPORTED = re.compile(r'^(?:import|(?:import|export)[^;="]+ from) "([^"]+)"', re.MULTILINE)
LATER = re.compile(r'import\("([^"]+)"\)')


def served(site: Path) -> RequestMiddleware:
    app = Application()
    routes = Routes(app, OpenGate())
    add_console(routes, enabled=True, about={}, token=("Authorization", "Bearer "))
    add_guide(routes, site)
    add_docs(routes)
    add_document(routes, info={"title": "Example", "version": "1.0"})
    return RequestMiddleware(app, folders=routes.folders)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> RequestMiddleware:
    site = tmp_path_factory.mktemp("site")
    (site / "index.html").write_text("<p>first</p>" * 100)
    (site / "tiny.txt").write_text("x")
    return served(site)


def vary(answer: Answer) -> str | None:
    return answer.header("vary")


@with_each("path", ["/console", f"{GUIDE}/index.html", *DOCUMENTS])
async def test_a_document_is_sent_compressed_to_who_takes_it_and_plain_to_others(
    app: RequestMiddleware, path: str
) -> None:
    plain, packed = await ask(app, "GET", path), await ask(app, "GET", path, GZIP)
    assert (plain.status, plain.header("content-encoding"), vary(plain)) == (200, None, "Accept-Encoding")
    assert (packed.status, packed.header("content-encoding"), vary(packed)) == (
        200,
        "gzip",
        "Accept-Encoding",
    )
    assert gzip.decompress(packed.body) == plain.body
    assert int(packed.header("content-length") or 0) == len(packed.body) < len(plain.body)
    assert packed.header("content-type") == plain.header("content-type")


@with_each("path", ["/console", f"{GUIDE}/index.html", *DOCUMENTS])
async def test_each_representation_has_an_entity_tag_and_a_client_with_the_other_gets_the_whole(
    app: RequestMiddleware, path: str
) -> None:
    plain, packed = await ask(app, "GET", path), await ask(app, "GET", path, GZIP)
    tags = [plain.header("etag") or "", packed.header("etag") or ""]
    assert len({*tags, ""}) == 3
    known = await ask(app, "GET", path, GZIP, ("If-None-Match", tags[1]))
    assert (known.status, known.body, known.header("etag"), vary(known)) == (
        304,
        b"",
        tags[1],
        "Accept-Encoding",
    )
    assert known.header("content-encoding") is None
    assert (await ask(app, "GET", path, ("If-None-Match", tags[0]))).status == 304
    assert (await ask(app, "GET", path, GZIP, ("If-None-Match", tags[0]))).body == packed.body
    assert (await ask(app, "GET", path, ("If-None-Match", tags[1]))).body == plain.body


@with_each("headers", [(), (GZIP,)])
@with_each("path", ["/console", f"{GUIDE}/index.html", GUIDE, *DOCUMENTS])
async def test_head_has_the_headers_of_get_and_no_body(
    app: RequestMiddleware, path: str, headers: tuple[tuple[str, str], ...]
) -> None:
    head, whole = await ask(app, "HEAD", path, *headers), await ask(app, "GET", path, *headers)
    assert (head.status, head.body) == (whole.status, b"")
    assert {*head.headers} - {*whole.headers} == {("x-request-id", head.header("x-request-id"))}
    assert {name for name, _ in head.headers} == {name for name, _ in whole.headers}


async def test_a_file_that_gzip_would_make_longer_is_sent_as_it_is(app: RequestMiddleware) -> None:
    tiny = await ask(app, "GET", f"{GUIDE}/tiny.txt", GZIP)
    assert (tiny.body, tiny.header("content-encoding"), vary(tiny)) == (b"x", None, None)


@with_each(
    ("accepted", "expected"),
    [
        (None, False),
        (b"", False),
        (b"gzip", True),
        (b"br;q=1.0, GZIP;q=0.8, *;q=0.1", True),
        (b"x-gzip", True),
        (b"gzip ; q=0.001", True),
        (b"gzip;q=0", False),
        (b"gzip;Q=0.000, deflate", False),
        (b"*", True),
        (b"*;q=0", False),
        (b"*, gzip;q=0", False),
        (b"*;q=0, gzip", True),
        (b"identity", False),
        (b"br, deflate", False),
        (b"gzipped", False),
        (b"gzip;q=yes", False),
        (b",,;q=1,\xff", False),
    ],
)
def test_gzip_is_taken_where_it_is_named_with_a_weight(accepted: bytes | None, expected: bool) -> None:
    assert takes_gzip(accepted) is expected


async def test_all_that_is_loaded_before_a_login_is_light(app: RequestMiddleware) -> None:
    loaded = {path: size async for path, size in before_sign_in(app)}
    names = {path.split("/", 3)[-1] for path in loaded}
    assert names >= {
        "console",
        "main.js",
        "views/sign-in.js",
        "style/base.css",
        "icon.svg",
        "core/session.js",
    }
    assert sum(loaded.values()) <= HEAVIEST_SIGN_IN, loaded


async def test_nothing_of_what_is_shown_after_a_login_is_loaded_before_it(app: RequestMiddleware) -> None:
    names = {path.split("/", 3)[-1] async for path, _ in before_sign_in(app)}
    assert {name for name in names if name.startswith("views/")} == {"views/sign-in.js"}
    assert not names & {"core/frame.js", "core/router.js", "parts/table.js", "parts/dialog.js"}


async def before_sign_in(app: RequestMiddleware) -> AsyncIterator[tuple[str, int]]:
    """Yield the path and the bytes of each answer that a browser without a session loads.

    They are the page and what it refers to, the page that asks for a login, and what these import.
    """
    asked, waiting = set(), ["/console"]
    while waiting:
        path = waiting.pop()
        if path in asked:
            continue
        asked.add(path)
        answer = await ask(app, "GET", path, GZIP)
        assert answer.status == 200, path
        yield path, len(answer.body) + sum(len(name) + len(value) + 4 for name, value in answer.headers)
        plain = answer.header("content-encoding") is None
        text = (answer.body if plain else gzip.decompress(answer.body)).decode()
        if path == "/console":
            waiting += re.findall(r' (?:src|href)="(/[^"]+)"', text)
            waiting += [f"{dirname(waiting[0])}/texts/en.start.json"]
        elif path.endswith(".js"):
            modules = IMPORTED.findall(text)
            modules += [module for module in LATER.findall(text) if module == "./views/sign-in.js"]
            waiting += [normpath(join(dirname(path), module)) for module in modules]
