"""The session of a browser: shared by its tabs, asked for again when it ends, and gone everywhere at once."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Request, expect

from service.features.embedded.stores import EmbeddedStores
from tests.console.house import House
from tests.console.visits import CONSOLE, Visit, new_context, settled
from tests.support.databases import database
from tests.support.running import running
from tests.support.seeded import ADMINISTRATOR_PASSWORD


def requests(visit: Visit, path: str) -> list[Request]:
    """Return a list that grows by each request to ``path`` from now on."""
    sent: list[Request] = []
    visit.hear("request", lambda request: sent.append(request) if request.url.endswith(path) else None)
    return sent


def heading(visit: Visit, text: str) -> None:
    expect(visit.page.get_by_role("heading", level=1)).to_have_text(text)
    settled(visit.page)


def test_a_second_tab_needs_no_login_and_one_of_two_tabs_refreshes(visit: Visit, house: House) -> None:
    number = house.member("pair")
    visit.sign_in_by_hand("pair", "/account/devices")
    heading(visit, "Your sessions")
    other = visit.tab()
    logins, refreshes = requests(other, "/auth/login"), requests(other, "/auth/refresh")
    visit.hear(
        "request",
        lambda request: refreshes.append(request) if request.url.endswith("/auth/refresh") else None,
    )
    other.go("/account/devices")
    heading(other, "Your sessions")
    expect(other.page.get_by_role("row")).to_have_count(2)  # one session, below the head
    assert logins == []
    # New roles: both tabs have to refresh before their next request.
    assert house.api.patch(f"/api/user/{number}", json={"roleIds": [4]}).status_code == 200
    for tab in (visit, other):
        tab.page.evaluate("location.hash = '/account/sign-ins'")
    for tab in (visit, other):
        heading(tab, "Your sign-ins")
        expect(tab.page.get_by_role("row").nth(1)).to_contain_text("signed in")
    assert len(refreshes) == 1
    other.page.get_by_label("Signed in as pair").click()
    other.page.get_by_role("button", name="Sign out").click()
    for tab in (visit, other):
        heading(tab, "Sign in")
    assert other.troubles == []


def test_a_session_that_ends_while_a_form_is_open_loses_nothing(visit: Visit, house: House) -> None:
    number = house.member("kicked")
    visit.sign_in("kicked", "/account")
    visit.page.get_by_label("Name", exact=True).fill("Typed before the end")
    assert house.api.delete(f"/api/online/{number}").status_code == 200
    visit.page.get_by_role("button", name="Save").click()
    again = visit.page.get_by_role("dialog", name="Sign in again")
    expect(again.get_by_label("User name")).to_have_value("kicked")
    expect(again.get_by_label("Password")).to_be_focused()
    expect(again.locator(".request")).to_contain_text("401 ")
    visit.axe()
    visit.picture("sign-in-again")
    again.get_by_label("Password").fill("wrong")
    again.get_by_role("button", name="Sign in").click()
    expect(again.get_by_role("alert")).to_contain_text("The user name or the password is wrong")
    again.get_by_label("Password").fill(ADMINISTRATOR_PASSWORD)
    again.get_by_role("button", name="Sign in").click()
    expect(visit.page.get_by_role("status").get_by_text("Saved.")).to_be_visible()
    saved = house.api.get(f"/api/user/{number}").json()["data"]
    assert saved["nickName"] == "Typed before the end"


def test_reloading_asks_for_a_login_and_then_shows_the_same_address(visit: Visit, house: House) -> None:
    house.member("linked")
    visit.sign_in_by_hand("linked", "/account/sign-ins?outcome=success")
    heading(visit, "Your sign-ins")
    device = visit.page.evaluate("localStorage.getItem('portcullis.device')")
    assert device.startswith("console-")
    assert visit.page.evaluate("Object.keys(localStorage)") == ["portcullis.device"]
    assert visit.page.evaluate("Object.keys(sessionStorage)") == []
    visit.page.reload()
    heading(visit, "Sign in")
    expect(visit.page.get_by_role("main")).to_contain_text("Your session ends when you reload")
    visit.page.get_by_label("User name").fill("linked")
    visit.page.get_by_label("Password").fill(ADMINISTRATOR_PASSWORD)
    visit.page.keyboard.press("Enter")
    heading(visit, "Your sign-ins")
    assert visit.page.url.endswith(f"{CONSOLE}#/account/sign-ins?outcome=success")
    expect(visit.page.get_by_label("Outcome")).to_have_value("success")
    # The same browser is the same device: its earlier session was replaced, and no other one.
    visit.page.evaluate("location.hash = '/account/devices'")
    expect(visit.page.get_by_role("row")).to_have_count(2)
    expect(visit.page.get_by_role("row").nth(1)).to_contain_text(device)
    visit.axe()


def test_one_session_of_several_is_ended_and_then_all(visit: Visit, house: House) -> None:
    house.member("roaming")
    with house.service.client() as client:
        sent = {"userName": "roaming", "password": ADMINISTRATOR_PASSWORD, "device": "old-tablet"}
        assert client.post("/api/auth/login", json=sent).status_code == 200
    visit.sign_in("roaming", "/account/devices")
    expect(visit.page.get_by_role("row")).to_have_count(3)
    visit.picture("devices")
    visit.page.get_by_role("button", name="End: old-tablet").click()
    asked = visit.page.get_by_role("dialog", name="End the session on old-tablet?")
    expect(asked).to_contain_text("has to sign in again")
    asked.get_by_role("button", name="End the session").click()
    expect(visit.page.get_by_role("row")).to_have_count(2)
    visit.page.get_by_role("button", name="Sign out everywhere").click()
    visit.page.get_by_role("dialog").get_by_role("button", name="Sign out everywhere").click()
    heading(visit, "Sign in")


def as_another(visit: Visit, name: str) -> None:
    """Sign in as another user in the dialog that asks for a login again."""
    again = visit.page.get_by_role("dialog", name="Sign in again")
    again.get_by_label("User name").fill(name)
    again.get_by_label("Password").fill(ADMINISTRATOR_PASSWORD)
    again.get_by_role("button", name="Sign in").click()


def test_what_one_user_has_typed_is_never_sent_as_another(visit: Visit, house: House) -> None:
    first, second = house.member("first-of-two"), house.member("second-of-two")
    before = house.api.get(f"/api/user/{second}").json()["data"]["nickName"]
    visit.sign_in("first-of-two", "/account")
    sent = requests(visit, "/api/user/profile")
    visit.page.get_by_label("Name", exact=True).fill("Of the first")
    assert house.api.delete(f"/api/online/{first}").status_code == 200
    visit.page.get_by_role("button", name="Save").click()
    visit.page.get_by_role("dialog", name="Sign in again").wait_for()
    refused = len(sent)
    as_another(visit, "second-of-two")
    expect(visit.page.get_by_label("Signed in as second-of-two")).to_be_visible()
    expect(visit.page.get_by_label("Name", exact=True)).to_have_value(before)
    assert {request.method for request in sent[refused:]} == {"GET"}
    assert house.api.get(f"/api/user/{second}").json()["data"]["nickName"] == before


def test_a_tab_whose_other_tab_becomes_another_user_starts_anew(visit: Visit, house: House) -> None:
    first = house.member("tab-of-first")
    house.member("tab-of-second")
    visit.sign_in("tab-of-first", "/account")
    other = visit.tab()
    other.go("/account/devices")
    heading(other, "Your sessions")
    visit.page.get_by_label("Name", exact=True).fill("Of the first")
    assert house.api.delete(f"/api/online/{first}").status_code == 200
    other.page.evaluate("location.hash = '/account'")
    as_another(other, "tab-of-second")
    for tab in (visit, other):
        expect(tab.page.get_by_label("Signed in as tab-of-second")).to_be_visible()
    expect(visit.page.get_by_label("Name", exact=True)).not_to_have_value("Of the first")
    assert other.troubles == []


def test_nothing_stays_on_the_screen_after_a_sign_out_that_the_service_cannot_follow(
    visit: Visit, house: House
) -> None:
    house.member("screen")
    visit.sign_in("screen", "/account")
    other = visit.tab()
    other.go("/account")  # it has never loaded the page that asks for a login
    heading(other, "Your account")
    other.expected.append("net::ERR_")
    other.page.route("**/views/sign-in.js", lambda route: route.abort())
    visit.page.get_by_label("Signed in as").click()
    visit.page.get_by_role("button", name="Sign out").click()
    heading(visit, "Sign in")
    expect(other.page.get_by_text("Your account")).to_have_count(0)
    assert "screen" not in other.page.locator("body").inner_text()


def test_a_page_that_comes_back_from_the_history_is_loaded_anew(visit: Visit, house: House) -> None:
    house.member("history")
    visit.sign_in("history", "/account")
    with visit.page.expect_navigation(wait_until="load"):
        visit.page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    heading(visit, "Sign in")


def test_a_view_that_can_not_be_loaded_for_a_while_costs_no_session(visit: Visit, house: House) -> None:
    house.member("offline", "system:role:list")
    visit.sign_in("offline", "/account")
    visit.expected += ["net::ERR_INTERNET_DISCONNECTED", "net::ERR_FAILED"]
    visit.context.set_offline(offline=True)
    visit.page.evaluate("location.hash = '/account/devices'")
    expect(visit.page.get_by_role("alert")).to_contain_text("can't be reached")
    visit.context.set_offline(offline=False)
    visit.page.get_by_role("button", name="Try again").click()
    heading(visit, "Your sessions")
    # A service on the machine itself needs no network.
    visit.page.evaluate("Object.defineProperty(navigator, 'onLine', { value: false })")
    visit.page.evaluate("location.hash = '/'")
    heading(visit, "Hello, offline")
    # The network is there, but no service: first silent, then behind a proxy that says so.
    visit.expected += ["net::ERR_CONNECTION_REFUSED", "502"]
    visit.page.route("**/console/**", lambda route: route.abort("connectionrefused"))
    visit.page.evaluate("location.hash = '/account/sign-ins'")
    expect(visit.page.get_by_role("alert")).to_contain_text("can't be reached")
    visit.page.unroute("**/console/**")
    visit.page.route("**/console/**", lambda route: route.fulfill(status=502))
    with visit.page.expect_response("**/console/**"):
        visit.page.get_by_role("button", name="Try again").click()
    expect(visit.page.get_by_role("alert")).to_contain_text("can't be reached")
    visit.page.unroute("**/console/**")
    visit.page.get_by_role("button", name="Try again").click()
    heading(visit, "Your sign-ins")
    # After an upgrade the file is gone for good, and the whole page is loaded anew.
    visit.page.route("**/views/roles.js", lambda route: route.fulfill(status=404))
    visit.expected.append("404")
    visit.page.evaluate("location.hash = '/roles'")
    expect(visit.page.get_by_role("alert")).to_contain_text("This page can't be loaded")


def test_no_address_leads_to_an_operation_above_its_own(visit: Visit) -> None:
    visit.sign_in(address="/account")
    asked: list[str] = []
    visit.hear("request", lambda request: asked.append(request.url))
    visit.page.evaluate("location.hash = '/users/%2e%2e'")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    visit.page.evaluate("location.hash = '/directories/%2e%2e'")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("Not found")
    assert not any(url.endswith("/api/") for url in asked)


SHORT = 3  # seconds of an access token: the page has to refresh


@pytest.fixture
def cookies(
    house: House, stores: EmbeddedStores, published_template: str, redis_url: str, tmp_path: Path
) -> Iterator[Visit]:
    """A tab of a service in cookie mode."""
    with (
        database(stores, published_template) as url,
        running(
            tmp_path,
            *("--workers", "1"),
            DATABASE_URL=url,
            REDIS_URL=redis_url,
            JWT_SECRET=secrets.token_urlsafe(48),
            PORTCULLIS_AUTH__IS_READ_COOKIE="true",
            PORTCULLIS_AUTH__COOKIE_SECURE="false",
            PORTCULLIS_AUTH__ACCESS_TIMEOUT=str(SHORT),
        ) as service,
        new_context(house, service.url) as context,
    ):
        yield Visit(house, context)


@pytest.mark.extended
def test_a_session_is_in_cookies_alone_and_survives_a_reload(cookies: Visit) -> None:
    page = cookies.page
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.headers.get("authorization", "")))
    cookies.go("/account")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    expect(page.get_by_role("main")).not_to_contain_text("ends when you reload")
    cookies.sign_in_by_hand(address="/account")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account")
    # Until the access token is over; then the page refreshes, with the CSRF token of its cookie.
    with page.expect_response("**/api/auth/refresh", timeout=30_000) as refreshed:
        page.wait_for_function(f"() => new Promise((done) => setTimeout(() => done(true), {SHORT}500))")
        page.get_by_label("Name", exact=True).fill("By cookie")
        page.get_by_role("button", name="Save").click()
    assert refreshed.value.status == 200
    expect(page.get_by_role("status").get_by_text("Saved.")).to_be_visible()
    assert not any(sent)
    assert page.evaluate("Object.keys(localStorage)") == ["portcullis.device"]
    # A reload when the access token is over finds the session by the refresh cookie.
    page.wait_for_function(f"() => new Promise((done) => setTimeout(() => done(true), {SHORT}500))")
    with page.expect_response("**/api/auth/refresh", timeout=30_000):
        page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account")
    page.get_by_label("Signed in as").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert cookies.troubles == []
