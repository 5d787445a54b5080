"""The site of the documentation: what its pages are made of, what is refused, and how it is served."""

from pathlib import Path

import pytest

from docs.site import pages, strict
from service.features.pages.api_guide import add_guide
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.docs.pages import ROOT
from tests.web.driver import ask
from tests.web.example_service import OpenGate

STYLE = '<div style="color: red">'


def checkout(root: Path, index: str) -> Path:
    for name in [*pages.ELSEWHERE, "docs/guides/one.md", "docs/decisions/README.md", "model.conf"]:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# A page\n")
    (root / "docs" / "README.md").write_text(index)
    return root


def test_every_page_has_a_place_of_its_own_and_is_listed_by_the_index() -> None:
    places = pages.places_of()
    assert len(set(places.values())) == len(places)
    listed = pages.relinked((ROOT / "docs/README.md").read_text("utf-8"), "docs/README.md", places, ROOT)[0]
    shown = pages.navigation(listed)
    for name, place in places.items():
        if name != "docs/README.md" and not (name.startswith("docs/decisions/0")):
            assert f"<{place.removesuffix('.md')}>" in shown, name


def test_links_lead_to_the_places_of_pages_and_to_copies_of_other_files(tmp_path: Path) -> None:
    index = "# Index\n\n## One\n\n[a `b`](guides/one.md#x) [m](../model.conf) [r](../deploy/) `[c](d.md)`\n"
    pages.stage(tmp_path / "staged", checkout(tmp_path, index))
    text = (tmp_path / "staged" / "index.md").read_text()
    assert "[a `b`](guides/one.md#x) [m](files/model.conf) [r](guides/deploying.md) `[c](d.md)`\n" in text
    assert (tmp_path / "staged" / "files" / "model.conf").is_file()
    assert ":caption: One\n\na b <guides/one" in text


def test_no_file_of_the_site_can_be_imported() -> None:
    assert pages.copy_of("docs/examples/policy-tests/conftest.py").endswith("conftest.py.txt")
    assert pages.copy_of("model.conf") == "files/model.conf"


def test_a_link_to_nothing_ends_the_build(tmp_path: Path) -> None:
    with pytest.raises(pages.SiteError, match=r"docs/README\.md links to guides/two\.md"):
        pages.stage(tmp_path / "staged", checkout(tmp_path, "[two](guides/two.md)\n"))


def test_scripts_and_styles_of_pages_go_to_files(tmp_path: Path) -> None:
    (tmp_path / "_static").mkdir()
    page = tmp_path / "x.html"
    page.write_text(
        f'<html data-content_root=""><head><style>p {{}}</style></head><script>go()</script>{STYLE}'
    )
    assert len(strict.faults(tmp_path)) == 3
    strict.outline(tmp_path)
    assert strict.faults(tmp_path) == []
    assert sorted(path.suffix for path in (tmp_path / "_static").iterdir()) == [".css", ".css", ".js"]
    assert "{ color: red }" in (tmp_path / "_static" / "attributes.css").read_text()


@pytest.mark.parametrize(
    ("markup", "fault"),
    [
        ('<script src="https://example.com/x.js"></script>', "is loaded from elsewhere"),
        ('<img src="//example.com/x.png">', "is loaded from elsewhere"),
        ('<p onclick="x()">', "stands in the page"),
        ('<a href="y.html">y</a>', "leads nowhere"),
        ('<a href="#y">y</a>', "leads nowhere"),
        ('<link rel="stylesheet" href="y.css">', "leads nowhere"),
    ],
)
def test_a_fault_of_a_built_page_is_found(tmp_path: Path, markup: str, fault: str) -> None:
    (tmp_path / "x.html").write_text(f'<a href="https://example.com">elsewhere</a><i id="z"></i>{markup}')
    (message,) = strict.faults(tmp_path)
    assert message.startswith("x.html: ")
    assert message.endswith(fault)


def served(site: Path) -> RequestMiddleware:
    app = Application()
    routes = Routes(app, OpenGate())
    add_guide(routes, site)
    return RequestMiddleware(app)


async def test_a_built_site_is_served_with_a_policy_that_lets_no_inline_code_run(tmp_path: Path) -> None:
    (tmp_path / "guides").mkdir()
    (tmp_path / "index.html").write_text("first")
    (tmp_path / "guides" / "one.js").write_text("one")
    (tmp_path / "guides" / "more").mkdir()
    (tmp_path / "guides" / "more" / "model.conf").write_text("two")
    (tmp_path / "home.webp").write_bytes(b"RIFF")
    app = served(tmp_path)
    entrance = await ask(app, "GET", "/docs/guide")
    assert (entrance.status, entrance.header("location")) == (307, "/docs/guide/index.html")
    first = await ask(app, "GET", "/docs/guide/index.html")
    assert (first.body, first.header("content-type")) == (b"first", "text/html; charset=utf-8")
    policy = first.header("content-security-policy")
    assert policy is not None
    assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
    assert "unsafe" not in policy
    script = await ask(app, "GET", "/docs/guide/guides/one.js")
    assert (script.body, script.header("content-type")) == (b"one", "text/javascript; charset=utf-8")
    deep = await ask(app, "GET", "/docs/guide/guides/more/model.conf")
    assert (deep.body, deep.header("content-type")) == (b"two", "text/plain; charset=utf-8")
    picture = await ask(app, "GET", "/docs/guide/home.webp")
    assert (picture.body, picture.header("content-type")) == (b"RIFF", "image/webp")
    for path in ("/docs/guide/two.html", "/docs/guide/guides", "/docs/guide/..%2findex.html"):
        assert (await ask(app, "GET", path)).status in (400, 404)


async def test_without_the_site_its_place_says_how_to_build_it(tmp_path: Path) -> None:
    answer = await ask(served(tmp_path), "GET", "/docs/guide")
    assert (answer.status, answer.json["code"]) == (404, "not_found")
    assert "python3 dev.py docs" in answer.json["detail"]
