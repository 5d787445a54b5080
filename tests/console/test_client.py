"""The client for browsers on pages of another origin, as front ends use it; the console has it too."""

import base64
import random
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route

from service.features.embedded.stores import EmbeddedStores
from service.features.second_factors import totp
from service.kernel.codes import HeldCodes
from tests.console.declarations import CLIENT
from tests.console.house import House
from tests.console.visits import new_context
from tests.support.chromium import chromium
from tests.support.seeded import ADMINISTRATOR_PASSWORD

PAGE = """<!doctype html><title>A front end</title><script type="module">
import * as client from "./portcullis.js";
Object.assign(window, client, { asked: [], ended: 0 });
window.session = new client.Session({ base: "BASE", hooks: { ended() { window.ended += 1; } } });
window.code = (promise) => promise.then(() => "", (problem) => problem.code);
</script>"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - that of the base class
        pass


@pytest.fixture(scope="module")
def elsewhere(
    stores: EmbeddedStores,
    published_template: str,
    tmp_path_factory: pytest.TempPathFactory,
    _closed: None,
) -> Iterator[tuple[House, str]]:
    """A service, and the address of a page on another origin that may call it."""
    chromium()
    folder = tmp_path_factory.mktemp("front-end")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    house = House(stores, published_template, PORTCULLIS_SERVER__CORS_ORIGINS=origin)
    house.browser = House.of(stores, published_template).browser
    script = CLIENT.with_name("portcullis.js").read_text("utf-8")
    (folder / "portcullis.js").write_text(script, encoding="utf-8")
    (folder / "index.html").write_text(PAGE.replace("BASE", house.url), encoding="utf-8")
    try:
        yield house, origin
    finally:
        house.end()
        server.shutdown()
        server.server_close()


@pytest.fixture
def browser(elsewhere: tuple[House, str]) -> Iterator[BrowserContext]:
    with new_context(*elsewhere) as context:
        yield context


def tab(browser: BrowserContext) -> Page:
    page = browser.new_page()
    page.goto("/")
    page.wait_for_function("() => window.session")
    return page


def log_in(page: Page, name: str) -> None:
    page.evaluate("([name, word]) => session.logIn(name, word)", [name, ADMINISTRATOR_PASSWORD])
    page.evaluate("() => session.identify()")


def enrolled(house: House, name: str) -> list[str]:
    """Enrol an app for a user, and return the recovery codes."""
    with house.service.client() as client:
        client.headers["Authorization"] = f"Bearer {house.log_in(name)['accessToken']}"
        app = client.post("/api/user/profile/factors/totp", json={}).json()["data"]
        code = totp.code_at(base64.b32decode(app["secret"]), int(time.time()) // totp.PERIOD)
        path = f"/api/user/profile/factors/totp/{app['id']}/confirm"
        codes: list[str] = client.post(path, json={"code": code}).json()["data"]["recoveryCodes"]
    return codes


def test_a_refusal_is_a_problem_with_its_code(elsewhere: tuple[House, str], browser: BrowserContext) -> None:
    elsewhere[0].member("plain", "system:role:list")
    page = tab(browser)
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


def test_the_cookie_of_a_service_on_another_port_is_no_session(browser: BrowserContext) -> None:
    page = tab(browser)
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


def test_each_tab_can_refresh_the_cookies_that_all_share_and_one_does(browser: BrowserContext) -> None:
    older, newer = tabs = tab(browser), tab(browser)
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


def test_a_login_with_a_second_factor_is_two_steps(
    elsewhere: tuple[House, str], browser: BrowserContext
) -> None:
    house = elsewhere[0]
    house.member("twofold")
    recovery, *_ = enrolled(house, "twofold")
    page = tab(browser)
    asked = page.evaluate(
        "(word) => session.logIn('twofold', word).catch(({ code, document }) => ({ code, ...document }))",
        ADMINISTRATOR_PASSWORD,
    )
    assert asked["code"] == "second_factor_required"
    assert {"totp", "recovery_code"} <= {*asked["methods"]}
    answer = "([challenge, code]) => session.answer(challenge, { method: 'recovery_code', code })"
    page.evaluate(answer, [asked["challenge"], recovery])
    page.evaluate("() => session.identify()")
    assert page.evaluate("() => session.me.name") == "twofold"


def test_tabs_share_a_session_of_which_one_refreshes_and_one_ends_all(
    elsewhere: tuple[House, str], browser: BrowserContext
) -> None:
    house = elsewhere[0]
    number = house.member("tabbed", "system:role:list")
    first, second = tab(browser), tab(browser)
    log_in(first, "tabbed")
    assert second.evaluate("() => session.find()") is True
    second.evaluate("() => session.identify()")
    refreshes: list[str] = []
    browser.on(
        "request",
        lambda request: refreshes.append(request.method) if request.url.endswith("/auth/refresh") else None,
    )
    assert house.api.patch(f"/api/user/{number}", json={"roleIds": []}).status_code == 200
    for page in (first, second):
        page.evaluate("() => { window.waiting = session.call('GET', '/api/user/info'); }")
    for page in (first, second):
        assert page.evaluate("async () => (await window.waiting).data.userName") == "tabbed"
    assert refreshes.count("POST") == 1
    first.evaluate("() => session.signOut()")
    second.wait_for_function("() => window.ended === 1")
    assert second.evaluate("() => code(session.call('GET', '/api/user/info'))") == "unauthenticated"


def test_a_refresh_without_an_answer_is_repeated_with_the_same_token(
    elsewhere: tuple[House, str], browser: BrowserContext
) -> None:
    house = elsewhere[0]
    number = house.member("patient", "system:role:list")
    page = tab(browser)
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
    assert house.api.patch(f"/api/user/{number}", json={"roleIds": []}).status_code == 200
    info = page.evaluate("async () => (await session.call('GET', '/api/user/info')).data")
    assert info["userName"] == "patient"
    assert len(sent) == 3
    assert len({*sent}) == 1


def test_signing_out_of_a_session_that_is_over_asks_for_no_login(
    elsewhere: tuple[House, str], browser: BrowserContext
) -> None:
    house = elsewhere[0]
    number = house.member("leaver")
    page = tab(browser)
    page.evaluate("() => { session.hooks.signIn = async (problem) => { asked.push(1); throw problem; }; }")
    for method, path in (("PATCH", "user"), ("DELETE", "online")):  # a refresh is enough, or too late
        log_in(page, "leaver")
        body: dict[str, Any] | None = {"roleIds": []} if method == "PATCH" else None
        assert house.api.request(method, f"/api/{path}/{number}", json=body).status_code == 200
        with page.expect_request("**/auth/refresh"):
            assert page.evaluate("() => code(session.signOut())") == ""
    assert page.evaluate("() => [asked.length, ended]") == [0, 2]


def test_a_request_that_waits_for_a_login_is_not_sent_as_another_user(
    elsewhere: tuple[House, str], browser: BrowserContext
) -> None:
    house = elsewhere[0]
    first, second = house.member("waiting-first"), house.member("waiting-second")
    page = tab(browser)
    log_in(page, "waiting-first")
    page.evaluate(
        """(word) => Object.assign(session.hooks, {
             signIn: () => session.logIn(window.next, word),
             restarted() { asked.push("restarted"); },
           })""",
        ADMINISTRATOR_PASSWORD,
    )
    send = "session.call('PUT', '/api/user/profile', { body: { nickName: 'Of the first' } })"
    for name in ("waiting-first", "waiting-second"):
        assert house.api.delete(f"/api/online/{first}").status_code == 200
        page.evaluate(f"(name) => {{ next = name; {send}.then(() => asked.push('saved')); }}", name)
        page.wait_for_function("(count) => asked.length === count", arg=1 + (name != "waiting-first"))
    assert page.evaluate("() => asked") == ["saved", "restarted"]
    names = [house.api.get(f"/api/user/{number}").json()["data"]["nickName"] for number in (first, second)]
    assert names == ["Of the first", "waiting-second"]


def test_a_demand_is_proved_and_the_request_is_sent_again(
    elsewhere: tuple[House, str], browser: BrowserContext
) -> None:
    house = elsewhere[0]
    house.member("prover")
    made = {"resourceName": "prover", "resourceCode": "prover", "method": "GET", "path": "/api/auth/sessions"}
    resource = house.api.post("/api/resource", json=made | {"assurance": "two-factors"}).json()["data"]["id"]
    page = tab(browser)
    log_in(page, "prover")
    recovery, *_ = enrolled(house, "prover")
    ask = "() => code(session.call('GET', '/api/auth/sessions'))"
    assert page.evaluate(ask) == "insufficient_user_authentication"
    page.evaluate(
        """(code) => { session.hooks.stepUp = async ({ document }) => {
             asked.push(document.methods);
             await session.prove({ method: "recovery_code", code });
             return true;
           }; }""",
        recovery,
    )
    assert page.evaluate(ask) == ""
    assert page.evaluate(ask) == ""
    (methods,) = page.evaluate("() => asked")
    assert "recovery_code" in methods
    assert house.api.delete(f"/api/resource/{resource}").status_code == 200


def test_no_answer_is_a_problem_too(browser: BrowserContext) -> None:
    page = tab(browser)
    browser.set_offline(offline=True)
    assert page.evaluate("() => code(session.logIn('nobody', 'x'))") == "unreachable"


def test_wildcards_grant_what_they_grant_in_the_service(browser: BrowserContext) -> None:
    chance = random.Random(7)
    segments = ["a", "b", "*", "a*", ""]
    odd = ["", ":", "a:", "*:", "@login", "@nobody", "a::b", "*", "a:*:b", "*:*", "a:*"]

    def some_code() -> str:
        made = ":".join(chance.choices(segments, [4, 4, 3, 1, 0.3], k=chance.randint(1, 4)))
        return chance.choice(odd) if chance.random() < 0.2 else made

    cases = [([some_code() for _ in range(chance.randint(0, 3))], some_code()) for _ in range(5000)]
    expected = [
        any(
            (
                held.holds_exactly(code),
                held.holds_everything(code),
                held.holds_subtree(code),
                held.holds_pattern(code),
            )
        )
        for held, code in ((HeldCodes(codes), code) for codes, code in cases)
    ]
    assert 500 < sum(expected) < 4500
    given = tab(browser).evaluate("(cases) => cases.map(([held, code]) => grants(held, code))", cases)
    wrong = [
        (case, is_given)
        for case, is_given, was in zip(cases, given, expected, strict=True)
        if is_given != was
    ]
    assert wrong == []
