"""The session of a browser: shared by its tabs, asked for again when it ends, and gone everywhere at once."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Request, Route, expect

from service.features.embedded.stores import EmbeddedStores
from tests.console.acts import act, button, follow, headed
from tests.console.house import House
from tests.console.visits import CONSOLE, Visit, new_context
from tests.support.seeded import ADMINISTRATOR_PASSWORD
from tests.support.waiting import eventually


def requests(visit: Visit, path: str) -> list[Request]:
    """Return a list that grows by each request to ``path`` from now on."""
    sent: list[Request] = []
    visit.hear("request", lambda request: sent.append(request) if request.url.endswith(path) else None)
    return sent


def test_a_second_tab_needs_no_login_and_one_of_two_tabs_refreshes(visit: Visit, house: House) -> None:
    number = house.member("pair")
    visit.sign_in_by_hand("pair", "/account/devices")
    headed(visit.page, "Your sessions")
    other = visit.tab()
    logins, refreshes = requests(other, "/auth/login"), requests(other, "/auth/refresh")
    visit.hear(
        "request",
        lambda request: refreshes.append(request) if request.url.endswith("/auth/refresh") else None,
    )
    other.go("/account/devices")
    headed(other.page, "Your sessions")
    expect(other.page.get_by_role("row")).to_have_count(2)  # one session, below the head
    assert logins == []
    # New roles: both tabs have to refresh before their next request.
    house.send("PATCH", f"/api/user/{number}", {"roleIds": [4]})
    for tab in (visit, other):
        tab.page.evaluate("location.hash = '/account/sign-ins'")
    for tab in (visit, other):
        headed(tab.page, "Your sign-ins")
        expect(tab.page.get_by_role("row").nth(1)).to_contain_text("signed in")
    assert len(refreshes) == 1
    other.page.get_by_label("Signed in as pair").click()
    button(other.page, "Sign out").click()
    for tab in (visit, other):
        headed(tab.page, "Sign in")
    assert other.troubles == []


def test_the_next_user_can_not_take_back_what_another_has_done(visit: Visit, house: House) -> None:
    page = visit.page
    number = house.member("undone")
    visit.open(f"/users/{number}", "undone")
    act(page, "Disable")
    button(page.get_by_role("dialog"), "Disable").click()
    expect(button(page, "Undo")).to_be_visible()
    page.get_by_label("Signed in as admin").click()
    button(page, "Sign out").click()
    headed(page, "Sign in")
    expect(page.locator(".message")).to_have_count(0)
    page.keyboard.press("Control+z")
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill(ADMINISTRATOR_PASSWORD)
    button(page, "Sign in").click()
    headed(page, "undone")
    page.keyboard.press("Control+z")
    expect(page.locator(".badge", has_text="Disabled")).to_be_visible()
    assert house.send("GET", f"/api/user/{number}")["status"] == "disabled"


def test_a_session_that_ends_while_a_form_is_open_loses_nothing(visit: Visit, house: House) -> None:
    page = visit.page
    number = house.member("kicked")
    visit.open("/account", "Your account", "kicked")
    page.get_by_label("Name", exact=True).fill("Typed before the end")
    house.send("DELETE", f"/api/online/{number}")
    button(page, "Save").click()
    again = page.get_by_role("dialog", name="Sign in again")
    expect(again.get_by_label("User name")).to_have_value("kicked")
    expect(again.get_by_label("Password")).to_be_focused()
    expect(again.locator(".request")).to_contain_text("401 ")
    visit.axe()
    visit.picture("sign-in-again")
    again.get_by_label("Password").fill("wrong")
    button(again, "Sign in").click()
    expect(again.get_by_role("alert")).to_contain_text("The user name or the password is wrong")
    again.get_by_label("Password").fill(ADMINISTRATOR_PASSWORD)
    button(again, "Sign in").click()
    expect(page.get_by_role("status").get_by_text("Saved.")).to_be_visible()
    saved = house.send("GET", f"/api/user/{number}")
    assert saved["nickName"] == "Typed before the end"


def test_reloading_asks_for_a_login_and_then_shows_the_same_address(visit: Visit, house: House) -> None:
    page = visit.page
    house.member("linked")
    visit.sign_in_by_hand("linked", "/account/sign-ins?outcome=success")
    headed(page, "Your sign-ins")
    device = page.evaluate("localStorage.getItem('portcullis.device')")
    assert device.startswith("console-")
    assert page.evaluate("Object.keys(localStorage)") == ["portcullis.device"]
    assert page.evaluate("Object.keys(sessionStorage)") == []
    page.reload()
    headed(page, "Sign in")
    expect(page.get_by_role("main")).to_contain_text("Your session ends when you reload")
    page.get_by_label("User name").fill("linked")
    page.get_by_label("Password").fill(ADMINISTRATOR_PASSWORD)
    page.keyboard.press("Enter")
    headed(page, "Your sign-ins")
    assert page.url.endswith(f"{CONSOLE}#/account/sign-ins?outcome=success")
    expect(page.get_by_label("Outcome")).to_have_value("success")
    # The same browser is the same device: its earlier session was replaced, and no other one.
    page.evaluate("location.hash = '/account/devices'")
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page.get_by_role("row").nth(1)).to_contain_text(device)


def test_one_session_of_several_is_ended_and_then_all(visit: Visit, house: House) -> None:
    house.member("roaming")
    house.log_in("roaming", "old-tablet")
    page = visit.open("/account/devices", name="roaming")
    expect(page.get_by_role("row")).to_have_count(3)
    visit.picture("devices")
    button(page, "End: old-tablet").click()
    asked = page.get_by_role("dialog", name="End the session on old-tablet?")
    expect(asked).to_contain_text("has to sign in again")
    button(asked, "End the session").click()
    expect(page.get_by_role("row")).to_have_count(2)
    button(page, "Sign out everywhere").click()
    page.get_by_role("dialog").get_by_role("button", name="Sign out everywhere").click()
    headed(page, "Sign in")


def as_another(visit: Visit, name: str) -> None:
    """Sign in as another user in the dialog that asks for a login again."""
    again = visit.page.get_by_role("dialog", name="Sign in again")
    again.get_by_label("User name").fill(name)
    again.get_by_label("Password").fill(ADMINISTRATOR_PASSWORD)
    button(again, "Sign in").click()


def test_what_one_user_has_typed_is_never_sent_as_another(visit: Visit, house: House) -> None:
    first, second = house.member("first-of-two"), house.member("second-of-two")
    before = house.send("GET", f"/api/user/{second}")["nickName"]
    page = visit.open("/account", name="first-of-two")
    sent = requests(visit, "/api/user/profile")
    page.get_by_label("Name", exact=True).fill("Of the first")
    house.send("DELETE", f"/api/online/{first}")
    button(page, "Save").click()
    page.get_by_role("dialog", name="Sign in again").wait_for()
    refused = len(sent)
    as_another(visit, "second-of-two")
    expect(page.get_by_label("Signed in as second-of-two")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_value(before)
    assert {request.method for request in sent[refused:]} == {"GET"}
    assert house.send("GET", f"/api/user/{second}")["nickName"] == before


def test_a_tab_whose_other_tab_becomes_another_user_starts_anew(visit: Visit, house: House) -> None:
    first = house.member("tab-of-first")
    house.member("tab-of-second")
    page = visit.open("/account", name="tab-of-first")
    other = visit.tab()
    other.go("/account/devices")
    headed(other.page, "Your sessions")
    page.get_by_label("Name", exact=True).fill("Of the first")
    house.send("DELETE", f"/api/online/{first}")
    other.page.evaluate("location.hash = '/account'")
    as_another(other, "tab-of-second")
    for tab in (visit, other):
        expect(tab.page.get_by_label("Signed in as tab-of-second")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).not_to_have_value("Of the first")
    assert other.troubles == []


def test_a_tab_that_is_about_to_ask_for_a_login_follows_a_login_of_another_tab(
    visit: Visit, house: House
) -> None:
    first = house.member("asks-late")
    house.member("signs-in-first")
    page = visit.open("/account", name="asks-late")
    other = visit.tab()
    other.go("/account")  # it has never loaded what asks for a login
    headed(other.page, "Your account")
    held: list[Route] = []
    other.page.route("**/views/sign-in.js", lambda route: held.extend([route]))
    house.send("DELETE", f"/api/online/{first}")
    other.page.evaluate("location.hash = '/account/devices'")
    assert eventually(lambda: bool(other.page.evaluate("1") and held))  # asking the page lets it report
    page.evaluate("location.hash = '/account/devices'")
    as_another(visit, "signs-in-first")
    expect(page.get_by_label("Signed in as signs-in-first")).to_be_visible()
    held[0].continue_()
    expect(other.page.get_by_label("Signed in as signs-in-first")).to_be_visible()
    expect(other.page.get_by_role("dialog")).to_have_count(0)


def test_nothing_stays_on_the_screen_after_a_sign_out(visit: Visit, house: House) -> None:
    house.member("screen")
    page = visit.open("/account", name="screen")
    other = visit.tab()
    other.go("/account")  # it has never loaded the page that asks for a login
    headed(other.page, "Your account")
    other.expected.append("net::ERR_")
    other.page.route("**/views/sign-in.js", lambda route: route.abort())
    page.get_by_label("Signed in as").click()
    follow(page, "Sign out", "Sign in")
    expect(other.page.get_by_text("Your account")).to_have_count(0)
    assert "screen" not in other.page.locator("body").inner_text()


def test_a_page_that_comes_back_from_the_history_is_loaded_anew(visit: Visit, house: House) -> None:
    house.member("history")
    page = visit.open("/account", name="history")
    with page.expect_navigation(wait_until="load"):
        page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    headed(page, "Sign in")


def test_a_view_that_can_not_be_loaded_for_a_while_costs_no_session(visit: Visit, house: House) -> None:
    house.member("offline", "system:role:list")
    visit.page.reload()  # a document that has loaded no view yet
    page = visit.open("/account", name="offline")
    visit.expected += ["net::ERR_INTERNET_DISCONNECTED", "net::ERR_FAILED"]
    visit.context.set_offline(offline=True)
    page.evaluate("location.hash = '/account/devices'")
    expect(page.get_by_role("alert")).to_contain_text("can't be reached")
    visit.context.set_offline(offline=False)
    follow(page, "Try again", "Your sessions")
    # A service on the machine itself needs no network.
    visit.is_spoilt = True
    page.evaluate("Object.defineProperty(navigator, 'onLine', { value: false })")
    page.evaluate("location.hash = '/'")
    headed(page, "Hello, offline")
    # The network is there, but no service: first silent, then behind a proxy that says so.
    visit.expected += ["net::ERR_CONNECTION_REFUSED", "502"]
    page.route("**/console/**", lambda route: route.abort("connectionrefused"))
    page.evaluate("location.hash = '/account/sign-ins'")
    expect(page.get_by_role("alert")).to_contain_text("can't be reached")
    page.unroute("**/console/**")
    page.route("**/console/**", lambda route: route.fulfill(status=502))
    with page.expect_response("**/console/**"):
        button(page, "Try again").click()
    expect(page.get_by_role("alert")).to_contain_text("can't be reached")
    page.unroute("**/console/**")
    follow(page, "Try again", "Your sign-ins")
    # After an upgrade the file is gone for good, and the whole page is loaded anew.
    page.route("**/views/roles.js", lambda route: route.fulfill(status=404))
    visit.expected.append("404")
    page.evaluate("location.hash = '/roles'")
    expect(page.get_by_role("alert")).to_contain_text("This page can't be loaded")


def test_no_address_leads_to_an_operation_above_its_own(visit: Visit) -> None:
    page = visit.open("/account")
    asked: list[str] = []
    visit.hear("request", lambda request: asked.append(request.url))
    page.evaluate("location.hash = '/users/%2e%2e'")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    page.evaluate("location.hash = '/directories/%2e%2e'")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    assert not any(url.endswith("/api/") for url in asked)


@pytest.fixture
def cookies(stores: EmbeddedStores, published_template: str, _closed: None) -> Iterator[Visit]:
    """A tab of a service in cookie mode."""
    settings = {"PORTCULLIS_AUTH__IS_READ_COOKIE": "true", "PORTCULLIS_AUTH__COOKIE_SECURE": "false"}
    house = House(stores, published_template, **settings)
    try:
        with new_context(house) as context:
            visit = Visit(house, context)
            yield visit
            assert visit.troubles == []
    finally:
        house.end()


@pytest.mark.extended
def test_a_session_is_in_cookies_alone_and_survives_a_reload(cookies: Visit) -> None:
    page = cookies.page
    sent: list[str] = []
    cookies.hear("request", lambda request: sent.append(request.headers.get("authorization", "")))
    cookies.go("/account")
    headed(page, "Sign in")
    expect(page.get_by_role("main")).not_to_contain_text("ends when you reload")
    cookies.sign_in_by_hand(address="/account")
    page.reload()
    headed(page, "Your account")
    # When the access token is over, the page refreshes, with the CSRF token of its cookie.
    page.get_by_label("Name", exact=True).fill("By cookie")
    cookies.context.clear_cookies(name="portcullis_access")
    with page.expect_response("**/api/auth/refresh") as refreshed:
        button(page, "Save").click()
    assert refreshed.value.status == 200
    expect(page.get_by_role("status").get_by_text("Saved.")).to_be_visible()
    assert not any(sent)
    assert page.evaluate("Object.keys(localStorage)") == ["portcullis.device"]
    # A reload then finds the session by the refresh cookie.
    cookies.context.clear_cookies(name="portcullis_access")
    with page.expect_response("**/api/auth/refresh"):
        page.reload()
    headed(page, "Your account")
    page.get_by_label("Signed in as").click()
    follow(page, "Sign out", "Sign in")
