"""How the console is served: its page, the files of one release, their headers, and the switch."""

import re
from pathlib import Path

import pytest

from service.features.console.console import FILES, add_console
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.web.driver import ask
from tests.web.example_service import OpenGate

TOLD = 'data-token-name="X-Token" data-token-prefix="&quot;" data-version="1.&lt;2" '
SCRIPT = '<script type="module" src="main.js"></script>'
PAGE = f'<html lang="en">{SCRIPT}\n<link rel="icon" href="data:,"><a href="#/users">'


def served(folder: Path = FILES, *, enabled: bool = True) -> RequestMiddleware:
    app = Application()
    routes = Routes(app, OpenGate())
    add_console(routes, enabled=enabled, token=("X-Token", '"'), about={"version": "1.<2"}, folder=folder)
    return RequestMiddleware(app, folders=routes.folders)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "core").mkdir()
    (tmp_path / "types").mkdir()
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "main.js").write_text('import "./core/dom.js";')
    (tmp_path / "core" / "dom.js").write_text("dom")
    (tmp_path / "features" / "own").mkdir(parents=True)
    (tmp_path / "features" / "own" / "feature.js").write_text("own")
    (tmp_path / "types" / "api.d.ts").write_text("types")
    return tmp_path


async def script_of(app: RequestMiddleware) -> str:
    page = (await ask(app, "GET", "/console")).body.decode()
    match = re.search(r'src="(/console/[0-9a-f]{16}/main\.js)"', page)
    assert match is not None, page
    return match[1]


async def test_the_page_of_the_package_leads_to_files_that_are_served() -> None:
    app = served()
    page = await ask(app, "GET", "/console")
    assert (page.status, page.header("content-type")) == (200, "text/html; charset=utf-8")
    paths = re.findall(r' (?:src|href)="([^"]+)"', page.body.decode())
    assert len(paths) >= 2
    for path in paths:
        assert (await ask(app, "GET", path)).status == 200, path


async def test_a_link_whose_mark_was_encoded_is_answered_by_the_page_which_says_that_it_is_broken(
    folder: Path,
) -> None:
    page = await ask(served(folder), "GET", "/console")
    for path in ("/console%23", "/console%23/invitation"):
        assert (await ask(served(folder), "GET", f"{path}?token=x")).body == page.body


@pytest.mark.parametrize("path", ["/console", "/console/"])
async def test_only_references_to_files_of_the_console_are_changed(folder: Path, path: str) -> None:
    page = await ask(served(folder), "GET", path)
    assert page.status == 200
    shown = re.sub(rb"/console/[0-9a-f]{16}/", b"", page.body).decode()
    assert shown.replace(TOLD, "", 1) == PAGE


async def test_the_page_tells_its_scripts_where_the_access_token_belongs(folder: Path) -> None:
    page = await ask(served(folder), "GET", "/console")
    assert page.body.decode().startswith(f'<html {TOLD}lang="en">')


async def test_only_a_folder_may_have_a_slash_after_it(folder: Path) -> None:
    app = served(folder)
    script = await script_of(app)
    for path in ("/console//", f"{script}/", f"{script.removesuffix('main.js')}core/"):
        assert (await ask(app, "GET", path)).status == 400, path


async def test_browsers_check_the_page_and_keep_the_files_of_its_release(folder: Path) -> None:
    app = served(folder)
    script = await script_of(app)
    for path, kept in (("/console", "no-cache"), (script, "public, max-age=31536000, immutable")):
        answer = await ask(app, "GET", path)
        assert [value for name, value in answer.headers if name == "cache-control"] == [kept]
        tag = answer.header("etag") or ""
        again = await ask(app, "GET", path, ("If-None-Match", f'W/"x", {tag}'))
        assert (again.status, again.body, again.header("etag")) == (304, b"", tag)
        assert again.header("cache-control") == kept


async def test_a_file_has_its_type_and_what_has_none_is_not_served(folder: Path) -> None:
    app = served(folder)
    base = (await script_of(app)).removesuffix("main.js")
    script = await ask(app, "GET", f"{base}core/dom.js")
    assert (script.body, script.header("content-type")) == (b"dom", "text/javascript; charset=utf-8")
    for path in ("types/api.d.ts", "core", "core/../main.js", "x.js"):
        assert (await ask(app, "GET", base + path)).status in (400, 404), path
    assert (await ask(app, "GET", "/console/main.js")).status == 404


async def test_files_of_features_are_served_and_so_is_every_file_of_the_console(folder: Path) -> None:
    app = served(folder)
    base = (await script_of(app)).removesuffix("main.js")
    script = await ask(app, "GET", f"{base}features/own/feature.js")
    assert (script.status, script.body) == (200, b"own")
    assert (await ask(app, "GET", f"{base}features/own/x.js")).status == 404
    app = served()
    base = (await script_of(app)).removesuffix("main.js")
    for path in FILES.rglob("*.js"):
        answer = await ask(app, "GET", base + path.relative_to(FILES).as_posix())
        assert answer.status == 200, path


async def test_no_file_of_another_release_is_served_and_what_refuses_it_is_not_kept(folder: Path) -> None:
    before = await script_of(served(folder))
    (folder / "core" / "dom.js").write_text("changed")
    after = served(folder)
    assert await script_of(after) != before
    answer = await ask(after, "GET", before)
    assert (answer.status, answer.json["code"]) == (404, "not_found")
    assert "reload" in answer.json["detail"]
    assert answer.header("cache-control") == "no-store"


async def test_the_page_and_its_files_run_no_code_but_their_own_and_are_in_no_frame(folder: Path) -> None:
    app = served(folder)
    for path in ("/console", await script_of(app)):
        answer = await ask(app, "GET", path)
        policy = answer.header("content-security-policy") or ""
        directives = dict(directive.strip().partition(" ")[::2] for directive in policy.split(";"))
        assert directives == {
            "default-src": "'self'",
            "img-src": "'self' data:",
            "object-src": "'none'",
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'none'",
            "require-trusted-types-for": "'script'",
            "trusted-types": "'none'",
        }
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.header("referrer-policy") == "no-referrer"
        assert answer.header("cross-origin-opener-policy") == "same-origin"
        assert answer.header("cross-origin-resource-policy") == "same-origin"
        features = (answer.header("permissions-policy") or "").split(", ")
        assert "camera=()" in features
        assert {f"publickey-credentials-{act}=(self)" for act in ("create", "get")} <= {*features}


async def test_where_it_is_switched_off_its_place_says_so() -> None:
    app = served(enabled=False)
    for path in ("/console", "/console/", "/console/main.js", "/console/x/core/dom.js"):
        answer = await ask(app, "GET", path)
        assert (answer.status, answer.json["code"]) == (404, "not_found")
        assert "console.enabled" in answer.json["detail"]
