"""The client for browsers on pages of another origin, as front ends use it; the console has it too."""

import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import BrowserContext, Page, Route

from tests.console.declarations import CLIENT
from tests.console.house import FRONT_END, FRONT_END_PORT, House
from tests.console.visits import new_context
from tests.support.seeded import ADMINISTRATOR_PASSWORD

PAGE: Final = """<!doctype html><title>A front end</title><script type="module">
import * as client from "./portcullis.js";
Object.assign(window, client, { asked: [], ended: 0 });
window.session = new client.Session({ base: "BASE", hooks: { ended() { window.ended += 1; } } });
window.code = (promise) => promise.then(() => "", (problem) => problem.code);
</script>"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - that of the base class
        pass


@pytest.fixture(scope="module")
def front_end(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of pages of another origin."""
    folder = tmp_path_factory.mktemp("front-end")
    for name in ("portcullis.js", "events.js"):
        shutil.copy(CLIENT.with_name(name), folder)
    server = ThreadingHTTPServer(("127.0.0.1", FRONT_END_PORT), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder
    server.shutdown()
    server.server_close()


@pytest.fixture
def browser(house: House, front_end: Path) -> Iterator[BrowserContext]:
    """A browser for pages that call the house."""
    (front_end / "index.html").write_text(PAGE.replace("BASE", house.url), encoding="utf-8")
    with new_context(house, FRONT_END) as context:
        yield context


@pytest.fixture
def tab(browser: BrowserContext) -> Callable[[], Page]:
    """Open the front end in another tab."""

    def open_tab() -> Page:
        page = browser.new_page()
        page.goto("/")
        page.wait_for_function("() => window.session")
        return page

    return open_tab


def log_in(page: Page, name: str) -> None:
    page.evaluate("([name, word]) => session.logIn(name, word)", [name, ADMINISTRATOR_PASSWORD])
    page.evaluate("() => session.identify()")


def test_a_refusal_is_a_problem_with_its_code(house: House, tab: Callable[[], Page]) -> None:
    house.member("plain", "system:role:list")
    page = tab()
    assert page.evaluate("() => session.find()") is False
    assert page.evaluate("() => code(session.logIn('plain', 'wrong'))") == "login_failed"
    log_in(page, "plain")
    problem = page.evaluate(
        """() => session.call("GET", "/api/user/list").catch((problem) => ({ ...problem,
             known: problem instanceof Problem }))"""
    )
    assert (problem["known"], problem["status"], problem["code"]) == (True, 403, "permission_denied")
    assert "system:user:list" in problem["document"]["required"]
    asked = ["system:role:list", "system:role:create", "system:user:list", "@login"]
    assert page.evaluate("(codes) => codes.map((code) => session.may(code))", asked) == [
        True,
        False,
        False,
        False,
    ]
    operations = ["GET /api/role/list", "POST /api/role"]
    assert page.evaluate("(names) => names.map((name) => session.mayCall(name))", operations) == [True, False]
    assert page.evaluate("() => Object.values({ ...localStorage }).join()").startswith("web-")


def test_menus_have_titles_in_the_language_asked_for_or_that_of_the_account(
    house: House, tab: Callable[[], Page]
) -> None:
    titles = {"zh-CN": "翻译过的菜单"}
    named = {"menuType": "Menu", "title": "Translated menu", "name": "Translated", "path": "/translated"}
    menu_id = house.make("menu", **named, titles=titles)
    linguists = {"roleName": "Linguists", "roleCode": "linguists", "menuIds": [menu_id]}
    house.member("linguist")
    (user,) = house.items("user", userName="linguist")
    role_ids = {"roleIds": [house.make("role", **linguists)]}
    house.send("PATCH", f"/api/user/{user['id']}", role_ids)
    page = tab()
    log_in(page, "linguist")
    shown = "(tag) => session.menus(tag).then(({ menus }) => menus.map(({ title }) => title))"
    assert page.evaluate(shown) == ["Translated menu"]
    assert page.evaluate(shown, "zh-CN") == ["翻译过的菜单"]
    profile = {"nickName": "linguist", "language": "zh-CN"}
    assert house.ask("linguist", "PUT", "/api/user/profile", profile).status_code == 200
    assert page.evaluate(shown) == ["翻译过的菜单"]
    assert page.evaluate(shown, "en") == ["Translated menu"]


def test_the_cookie_of_a_service_on_another_port_is_no_session(tab: Callable[[], Page]) -> None:
    page = tab()
    page.evaluate("() => { document.cookie = 'portcullis_csrf=of-another'; }")
    assert page.evaluate("() => session.find()") is False
    assert page.evaluate("() => new Session().find()") is True  # it would be that of this origin


COOKIES = """() => {
  const held = () => Number(/portcullis_csrf=(\\d+)/.exec(document.cookie)[1]);
  window.fetch = async (url) => {
    if (url.endsWith("/refresh")) {
      localStorage.refreshes = Number(localStorage.refreshes ?? 0) + 1;
      document.cookie = `portcullis_csrf=${held() + 1}`;
      return Response.json({ data: { accessToken: "a", refreshToken: "r", expiresIn: 60 } });
    }
    if (held() > Number(localStorage.over)) return Response.json({ data: held() });
    return Response.json({ code: "token_expired" }, { status: 401 });
  };
  document.cookie = "portcullis_csrf=1";
  localStorage.over = 0;
  window.session = new Session();
  return session.find();
}"""
"""Answers as a service in cookie mode, whose access tokens have expired up to the number ``over``."""


def test_each_tab_can_refresh_the_cookies_that_all_share_and_one_does(tab: Callable[[], Page]) -> None:
    older, newer = tabs = tab(), tab()
    for page in tabs:
        assert page.evaluate(COOKIES) is True
        page.wait_for_timeout(5)  # their proofs have times of their own
    ask = "async () => [(await session.call('GET', '/api/user/info')).data, localStorage.refreshes]"
    older.evaluate("() => { localStorage.over = 1; }")
    assert older.evaluate(ask) == [2, "1"]
    assert newer.evaluate(ask) == [2, "1"]
    newer.evaluate("() => { localStorage.over = 2; }")
    for page in tabs:
        page.evaluate(f"() => {{ window.waiting = ({ask})(); }}")
    assert [page.evaluate("() => waiting") for page in tabs] == [[3, "2"], [3, "2"]]


def test_a_refresh_without_an_answer_is_repeated(house: House, tab: Callable[[], Page]) -> None:
    number = house.member("patient", "system:role:list")
    page = tab()
    log_in(page, "patient")
    sent: list[str | None] = []

    def answer(route: Route) -> None:
        sent.append(route.request.post_data)
        if len(sent) == 1:
            route.abort("connectionrefused")
        elif len(sent) == 2:
            headers = {"Access-Control-Allow-Origin": "*"}
            route.fulfill(status=503, headers=headers, json={"code": "unavailable"})
        else:
            route.continue_()

    page.route("**/api/auth/refresh", answer)
    house.send("PATCH", f"/api/user/{number}", {"roleIds": []})
    info = page.evaluate("async () => (await session.call('GET', '/api/user/info')).data")
    assert info["userName"] == "patient"
    assert len(sent) == 3
    assert len({*sent}) == 1


def test_signing_out_after_the_end_asks_for_no_login(house: House, tab: Callable[[], Page]) -> None:
    number = house.member("leaver")
    page = tab()
    page.evaluate("() => { session.hooks.signIn = async (problem) => { asked.push(1); throw problem; }; }")
    for method, path in (("PATCH", "user"), ("DELETE", "online")):  # a refresh is enough, or too late
        log_in(page, "leaver")
        body: dict[str, Any] | None = {"roleIds": []} if method == "PATCH" else None
        assert house.api.request(method, f"/api/{path}/{number}", json=body).status_code == 200
        with page.expect_request("**/auth/refresh"):
            assert page.evaluate("() => code(session.signOut())") == ""
    assert page.evaluate("() => [asked.length, ended]") == [0, 2]


def test_no_answer_is_a_problem_too(tab: Callable[[], Page]) -> None:
    page = tab()
    page.context.set_offline(offline=True)
    assert page.evaluate("() => code(session.logIn('nobody', 'x'))") == "unreachable"


FOLLOWED: Final = """{
  menus: (tree) => { globalThis.shown = tree; },
  happened: ({ event }) => { (globalThis.happened ??= []).push(event); },
}"""


def test_tabs_share_one_event_stream_and_learn_of_changed_rights_by_it(
    house: House, tab: Callable[[], Page]
) -> None:
    number = house.member("follower")
    (auditor,) = house.items("role", roleCode="auditor")
    asked: list[str] = []

    def follow(page: Page) -> None:
        page.on(
            "request", lambda sent: asked.append(sent.method) if sent.url.endswith("/events/mine") else None
        )
        page.evaluate(
            f"() => import('./events.js').then(({{ follow }}) => {{ follow(session, {FOLLOWED}); }})"
        )

    first, second = tab(), tab()
    log_in(first, "follower")
    assert second.evaluate("() => session.find()")
    second.evaluate("() => session.identify()")
    for page in (first, second):
        follow(page)
    house.send("PATCH", f"/api/user/{number}", {"roleIds": [auditor["id"]]})
    for page in (first, second):
        page.wait_for_function("() => session.may('system:role:list')")
        page.wait_for_function("() => globalThis.happened?.includes('role.given')")
        page.wait_for_function("() => globalThis.shown?.codes.includes('system:role:list')")
    assert asked.count("GET") == 1
    first.close()  # the other tab goes on after the last event
    house.send("PATCH", f"/api/user/{number}", {"roleIds": []})
    second.wait_for_function("() => !session.may('system:role:list')")
    assert asked.count("GET") == 2
