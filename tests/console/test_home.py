"""Home: what needs attention, the first steps, changes of rights, and refusals."""

from typing import Any, Final

import pytest
from playwright.sync_api import Page, Response, Route, expect

from tests.console.acts import button, card, headed, says
from tests.console.house import House
from tests.console.visits import Visit, settled

ALL_LEFT: Final = {"isNew": True} | dict.fromkeys(("password", "role", "user", "resource", "backup"), False)


PARTS: Final = {
    "dotterel-0": (None, ["Your permissions"]),
    "dotterel-1": ("system:file:list", ["Your permissions"]),
    "dotterel-2": ("system:role:list", ["Your permissions"]),
    "dotterel-3": ("system:activity:list", ["The last 24 hours"]),
    "dotterel-4": ("system:operation-log:list", ["Latest changes of rights", "Refused most often"]),
    "dotterel-5": ("system:doctor:read", ["What needs attention"]),
    "dotterel-6": ("system:resource:list", ["What needs attention"]),
}
"""What home shows to users with one permission."""
RESTORED: Final = """
INSERT INTO sys.operation_log (create_time, event_id, module, action, kind, method, url, status, elapsed_ms)
    VALUES (now(), gen_random_uuid(), 'backup', 'restore', 'IMPORT', 'CLI', 'portcullis restore', 200, 9)
"""


def answer_with(visit: Visit, address: str, data: Any) -> None:
    page = visit.page
    """Have the API answer ``data`` to requests for ``address``."""

    def answer(route: Route) -> None:
        route.fulfill(json={"data": data})

    page.unroute(address)
    page.route(address, answer)


def row(page: Page, text: str) -> Any:
    return page.locator(".desk > li").filter(has_text=text)


def home(visit: Visit) -> None:
    page = visit.page
    """Show the first view anew."""
    visit.show("/account", "Your account")
    visit.go("/")
    settled(page)


def test_a_link_to_the_view_that_is_shown_loads_it_anew(visit: Visit, house: House) -> None:
    page = visit.open("/services", "Services")
    house.send("POST", "/api/service", {"name": "shown-anew"})
    expect(page.get_by_role("main")).not_to_contain_text("shown-anew")
    page.get_by_role("navigation", name="Main navigation").get_by_role("link", name="Services").click()
    expect(page.get_by_role("table")).to_contain_text("shown-anew")


@pytest.mark.extended
def test_first_steps_are_ticked_off_go_when_all_are_taken_and_can_be_hidden_for_good(visit: Visit) -> None:
    answer_with(visit, "**/api/system/first-steps", ALL_LEFT)
    page = visit.open("/")
    steps = card(page, "First steps")
    expect(steps.get_by_role("listitem")).to_have_count(1)  # the next step
    steps.get_by_text("0 of 6 steps done").click()
    expect(steps.get_by_role("listitem")).to_have_count(7)
    expect(steps.locator(".done")).to_have_count(0)
    expect(page.locator("main")).not_to_contain_text("no users")  # nothing else to attend to
    visit.axe()

    answer_with(visit, "**/api/system/first-steps", ALL_LEFT | {"password": True})
    visit.go("/policy/explain?userName=admin&method=GET&path=%2Fapi%2Frole%2Flist")
    expect(page.get_by_role("img", name="Path from admin")).to_be_visible()
    home(visit)
    expect(steps.locator(".done")).to_have_count(2)
    says(row(page, "Change the first password"), "Done")
    says(row(page, "See why a request is allowed"), "Done")
    steps.get_by_role("link", name="New role").click()
    headed(page, "New role")
    answer_with(visit, "**/api/system/first-steps", dict.fromkeys(ALL_LEFT, True))
    home(visit)
    expect(steps).to_have_count(0)

    for hidden in (ALL_LEFT, ALL_LEFT | {"isNew": False}):
        answer_with(visit, "**/api/system/first-steps", hidden)
        page.evaluate("localStorage.clear()")
        home(visit)
        if hidden is ALL_LEFT:
            button(page, "Hide").click()
            expect(page.get_by_role("heading", name="What needs attention")).to_be_visible()
            home(visit)
        expect(steps).to_have_count(0)


@pytest.mark.extended
def test_what_needs_attention_has_one_action(visit: Visit, house: House) -> None:
    password = "six stubborn otters"
    person = {"userName": "aaa-brambling", "nickName": "Brambling", "password": password}
    house.send("POST", "/api/user", person)
    role = {"roleCode": "aaa-brambling", "roleName": "aaa Brambling"}
    house.send("POST", "/api/role", role)
    house.send("POST", "/api/service", {"name": "brambling"})
    resource = {"resourceName": "aaa brambling", "resourceCode": "brambling", "method": "GET", "path": "/a"}
    house.send("POST", "/api/resource", resource | {"service": "brambling"})
    house.member("brambling", "system:user:list", "system:role:list", "system:resource:list")
    page = visit.page
    visit.sign_in("brambling")
    settled(page)
    expect(row(page, "no role")).to_contain_text("aaa-brambling")

    for text, act, name, other, title in (
        ("no role", "Show these users", "aaa-brambling", "admin", "Users"),
        ("no users", "Show these roles", "aaa Brambling", "Super administrator", "Roles"),
        ("closed to everyone", "Show these resources", "aaa brambling", "List users", "Resources"),
    ):
        expect(row(page, text)).to_contain_text(name)
        row(page, text).get_by_role("link", name=act).click()
        headed(page, title)
        expect(page.get_by_role("table").get_by_text(name, exact=True)).to_be_visible()
        expect(page.get_by_role("table")).not_to_contain_text(other)
        page.go_back()
        settled(page)


@pytest.mark.extended
def test_findings_lead_to_where_they_are_mended(visit: Visit) -> None:
    page = visit.page
    me, robot = {"id": 1, "userName": "admin"}, {"id": 77, "userName": "robot"}
    findings = [
        {"check": "api-keys", "state": "warning", "message": "1 key", "remedy": "make one", "users": [robot]},
        {"check": "first-administrator", "state": "warning", "message": "m", "remedy": "r", "users": [me]},
        {"check": "clocks", "state": "fault", "message": "far apart", "remedy": None, "users": []},
        {"check": "database", "state": "ok", "message": "fine", "remedy": None, "users": []},
    ]
    checked = {"status": "fault", "checkedTime": "2026-11-23T12:00:00Z", "items": findings}
    answer_with(visit, "**/api/system/findings", checked)
    answer_with(visit, "**/api/system/first-steps", ALL_LEFT | {"isNew": False})
    visit.sign_in()
    settled(page)
    expect(page.locator(".desk > li").first).to_contain_text("Clocks")
    expect(row(page, "Database")).to_have_count(0)
    ways = (
        ("Clocks", "Details"),
        ("First administrator", "Change the password"),
        ("Api keys", "Renew the key"),
    )
    addresses = [row(page, text).get_by_role("link", name=act).get_attribute("href") for text, act in ways]
    assert addresses == ["#/doctor", "#/account", "#/users/77/keys"]


@pytest.mark.extended
def test_changes_of_rights_and_refusals_are_told_with_their_explanation(visit: Visit, house: House) -> None:
    number = house.member("desk-whimbrel", "system:role:list")
    role = {"roleCode": "desk-whimbrel-more", "roleName": "Whimbrel more"}
    made = house.make("role", **role)
    house.send("PATCH", f"/api/user/{number}", {"roleIds": [made]})
    for _ in range(3):
        assert house.ask("desk-whimbrel", "DELETE", "/api/role/4711").status_code == 403
    house.wait_for_log("operation", target="user:desk-whimbrel", rights="true")
    house.wait_for_log("operation", 3, userName="desk-whimbrel", decision="deny")
    page = visit.page
    answer_with(visit, "**/api/system/first-steps", ALL_LEFT | {"isNew": False})
    visit.sign_in()
    settled(page)
    refused = row(page, "/api/role/4711")
    expect(refused).to_contain_text("3 times")
    visit.axe()
    visit.picture("home")
    refused.get_by_role("link", name="Explain").click()
    headed(page, "Explain")
    expect(
        page.get_by_role("img", name="Path from desk-whimbrel to DELETE /api/role/4711: Refused")
    ).to_be_visible()
    page.go_back()
    settled(page)
    row(page, "gave role desk-whimbrel-more to desk-whimbrel").get_by_role("link", name="Explain").click()
    expect(
        page.get_by_role("img", name=f"Path from admin to PATCH /api/user/{number}: Allowed")
    ).to_be_visible()


def test_home_has_the_parts_that_the_caller_may_see_and_asks_for_no_other(visit: Visit, house: House) -> None:
    refused: list[str] = []

    def note(response: Response) -> None:
        if response.status >= 400 and "/api/auth/refresh" not in response.url:
            refused.append(response.url)

    visit.hear("response", note)
    for name, (code, titles) in PARTS.items():
        house.member(name, *([code] if code else []))
        visit.sign_in(name)
        assert visit.page.locator("main h2:visible").all_inner_texts() == titles, code
    assert refused == []


def test_below_a_path_of_another_site_the_console_says_what_is_wrong(visit: Visit) -> None:
    page = visit.page

    def empty(route: Route) -> None:  # in place of 404, of which the browser tells
        kind = "text/javascript" if route.request.url.endswith(".js") else "text/css"
        # The browser would keep it in memory for the page after this one.
        route.fulfill(body="", content_type=kind, headers={"Cache-Control": "no-store"})

    page.route("**/console/*/**", empty)
    page.goto("/console")
    expect(page.get_by_text("Portcullis needs its own host name")).to_be_visible()
    page.unroute("**/console/*/**")
    page.reload()
    expect(page.get_by_label("User name")).to_be_visible()
    expect(page.get_by_text("Portcullis needs its own host name")).to_be_hidden()


def test_the_first_page_explains_a_restore(visit: Visit, house: House) -> None:
    house.execute(RESTORED)
    house.member("restored-dotterel", "system:operation-log:list", "system:operation-log:detail")
    visit.sign_in("restored-dotterel")
    shown = card(visit.page, "Restored from a backup")
    says(shown, "New ids and the policy revision start much higher")
    expect(shown.get_by_role("link", name="Show the entry")).to_be_visible()
    house.execute("DELETE FROM sys.operation_log WHERE module = 'backup'")
    home(visit)
    expect(shown).to_be_hidden()


def test_the_own_account_says_which_roles_one_has_and_what_they_allow(visit: Visit, house: House) -> None:
    house.member("desk-plover", "system:role:list")
    rights = card(visit.open("/account", "Your account", "desk-plover"), "Your permissions")
    says(rights, "desk-plover")
    expect(rights.get_by_role("listitem")).to_contain_text(["Roles"])
