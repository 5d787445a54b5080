"""Home: what needs attention, the first steps, changes of rights, and refusals."""

from typing import Any, Final

import pytest
from playwright.sync_api import Page, Response, Route, expect

from tests.console.house import House
from tests.console.test_policy import narrow
from tests.console.test_users import button, headed
from tests.console.visits import Visit, settled

ALL_LEFT: Final = {"isNew": True} | dict.fromkeys(("password", "role", "user", "resource", "backup"), False)


RESTORED: Final = """
INSERT INTO sys.operation_log (create_time, event_id, module, action, kind, method, url, status, elapsed_ms)
    VALUES (now(), gen_random_uuid(), 'backup', 'restore', 'IMPORT', 'CLI', 'portcullis restore', 200, 9)
"""


def answer_with(visit: Visit, address: str, data: Any) -> None:
    """Have the API answer ``data`` to requests for ``address``."""

    def answer(route: Route) -> None:
        route.fulfill(json={"data": data})

    visit.page.unroute(address)
    visit.page.route(address, answer)


def row(page: Page, text: str) -> Any:
    return page.locator(".desk > li").filter(has_text=text)


def home(visit: Visit) -> None:
    """Show the first view anew."""
    visit.go("/account")
    headed(visit.page, "Your account")
    visit.go("/")
    settled(visit.page)


@pytest.mark.extended
def test_first_steps_are_ticked_off_as_they_are_taken_and_go_when_all_are(visit: Visit) -> None:
    page = visit.page
    answer_with(visit, "**/api/system/first-steps", ALL_LEFT)
    visit.sign_in()
    settled(page)
    steps = page.locator("section.card", has=page.get_by_role("heading", name="First steps"))
    expect(steps.get_by_role("listitem")).to_have_count(6)
    expect(steps.locator(".done")).to_have_count(0)
    expect(page.locator("main")).not_to_contain_text("no users")  # nothing else to attend to
    visit.axe()
    narrow(page)

    answer_with(visit, "**/api/system/first-steps", ALL_LEFT | {"password": True})
    visit.go("/policy/explain?userName=admin&method=GET&path=%2Fapi%2Frole%2Flist")
    expect(page.get_by_role("img", name="Path from admin")).to_be_visible()
    home(visit)
    expect(steps.locator(".done")).to_have_count(2)
    expect(row(page, "Change the first password")).to_contain_text("Done")
    expect(row(page, "See why a request is allowed")).to_contain_text("Done")
    row(page, "Create a role").get_by_role("link", name="New role").click()
    headed(page, "New role")

    answer_with(visit, "**/api/system/first-steps", dict.fromkeys(ALL_LEFT, True))
    home(visit)
    expect(steps).to_have_count(0)


@pytest.mark.extended
def test_first_steps_are_put_away_for_good_and_are_not_shown_to_those_who_can_not_take_them(
    visit: Visit, house: House
) -> None:
    house.member("fieldfare", "system:doctor:read", "system:role:create")
    page = visit.page
    answer_with(visit, "**/api/system/first-steps", ALL_LEFT)
    visit.sign_in()
    button(page, "Hide this list").click()
    heading = page.get_by_role("heading", name="First steps")
    expect(heading).to_have_count(0)
    expect(page.get_by_role("heading", name="What needs attention")).to_be_visible()
    home(visit)
    expect(heading).to_have_count(0)
    page.evaluate("localStorage.clear()")
    answer_with(visit, "**/api/system/first-steps", ALL_LEFT | {"isNew": False})
    home(visit)
    expect(heading).to_have_count(0)


@pytest.mark.extended
def test_what_nobody_has_uses_or_reaches_needs_attention_and_has_one_action(
    visit: Visit, house: House
) -> None:
    password = "six stubborn otters"
    person = {"userName": "aaa-brambling", "nickName": "Brambling", "password": password}
    assert house.api.post("/api/user", json=person).status_code == 201
    role = {"roleCode": "aaa-brambling", "roleName": "aaa Brambling"}
    assert house.api.post("/api/role", json=role).status_code == 201
    assert house.api.post("/api/service", json={"name": "brambling"}).status_code == 201
    resource = {"resourceName": "aaa brambling", "resourceCode": "brambling", "method": "GET", "path": "/a"}
    assert house.api.post("/api/resource", json=resource | {"service": "brambling"}).status_code == 201
    house.member("brambling", "system:user:list", "system:role:list", "system:resource:list")
    page = visit.page
    visit.sign_in("brambling")
    settled(page)
    expect(row(page, "no role")).to_contain_text("aaa-brambling")
    visit.axe()
    narrow(page)

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
    made = house.api.post("/api/role", json=role).json()["data"]["id"]
    assert house.api.patch(f"/api/user/{number}", json={"roleIds": [made]}).status_code == 200
    token = {"Authorization": f"Bearer {house.log_in('desk-whimbrel')['accessToken']}"}
    with house.service.client() as other:
        for _ in range(3):
            assert other.delete("/api/role/4711", headers=token).status_code == 403
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


@pytest.mark.parametrize(
    ("name", "codes", "titles"),
    [
        ("dotterel-0", (), ["Your permissions"]),
        ("dotterel-1", ("system:file:list",), ["Your permissions"]),
        ("dotterel-2", ("system:role:list",), ["What needs attention"]),
        ("dotterel-3", ("system:activity:list",), ["The last 24 hours"]),
        (
            "dotterel-4",
            ("system:operation-log:list",),
            ["Latest changes of rights", "Refused most often"],
        ),
        ("dotterel-5", ("system:doctor:read",), ["What needs attention"]),
    ],
)
def test_home_has_the_parts_that_the_caller_may_see_and_asks_for_no_other(
    visit: Visit, house: House, name: str, codes: tuple[str, ...], titles: list[str]
) -> None:
    refused: list[str] = []

    def note(response: Response) -> None:
        if response.status >= 400:
            refused.append(response.url)

    house.member(name, *codes)
    visit.hear("response", note)
    visit.sign_in(name)
    settled(visit.page)
    assert visit.page.locator("main h2:visible").all_inner_texts() == titles
    assert [url for url in refused if "/api/auth/refresh" not in url] == []


def test_below_a_path_of_another_site_the_console_says_what_is_wrong(visit: Visit) -> None:
    def empty(route: Route) -> None:  # in place of 404, of which the browser tells
        kind = "text/javascript" if route.request.url.endswith(".js") else "text/css"
        # The browser would keep it in memory for the page after this one.
        route.fulfill(body="", content_type=kind, headers={"Cache-Control": "no-store"})

    visit.page.route("**/console/*/**", empty)
    visit.page.goto("/console")
    expect(visit.page.get_by_text("Portcullis needs its own host name")).to_be_visible()
    visit.page.unroute("**/console/*/**")
    visit.page.goto("about:blank")
    visit.sign_in()
    expect(visit.page.get_by_text("Portcullis needs its own host name")).to_be_hidden()


def test_the_first_page_says_after_a_restore_why_ids_and_the_revision_jump(
    visit: Visit, house: House
) -> None:
    house.execute(RESTORED)
    house.member("dotterel-6", "system:operation-log:list", "system:operation-log:detail")
    visit.sign_in("dotterel-6")
    card = visit.page.locator(
        "section.card", has=visit.page.get_by_role("heading", name="Restored from a backup")
    )
    expect(card).to_contain_text("New ids and the policy revision start much higher")
    expect(card.get_by_role("link", name="Show the entry")).to_be_visible()
    house.execute("DELETE FROM sys.operation_log WHERE module = 'backup'")
    home(visit)
    expect(card).to_be_hidden()


def test_the_own_account_says_which_roles_one_has_and_what_they_allow(visit: Visit, house: House) -> None:
    house.member("desk-plover", "system:role:list")
    visit.sign_in("desk-plover", "/account")
    rights = visit.page.locator(
        "section.card", has=visit.page.get_by_role("heading", name="Your permissions")
    )
    expect(rights).to_contain_text("desk-plover")
    expect(rights.get_by_role("listitem")).to_contain_text(["Roles"])
    visit.axe()
