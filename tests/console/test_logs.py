"""The logs: found by filters, followed as they grow, and one entry with its changes and its decision."""

from __future__ import annotations

import re

from playwright.sync_api import Route, expect

from service.records.logs.positions import follow_cursor
from tests.console.house import House
from tests.console.visits import Visit

MARKUP = "<img src=x onerror=alert(1)>"


def test_a_change_is_found_and_shown_with_what_was_before_and_after(visit: Visit, house: House) -> None:
    made = house.api.post("/api/role", json={"roleCode": "logged", "roleName": MARKUP}).json()["data"]
    house.api.patch(f"/api/role/{made['id']}", json={"roleName": "Told in the log"})
    house.wait_for_log("operation", target="role:logged", kind="UPDATE")

    visit.sign_in(address="/logs/operations?kind=UPDATE")
    visit.page.get_by_label("Record").fill("role:logged")
    visit.page.get_by_label("Record").press("Enter")
    row = visit.page.get_by_role("row").filter(has_text="role update")
    expect(row).to_have_count(1)
    visit.axe()
    visit.picture("operation-log")
    row.get_by_role("link").click()

    expect(visit.page.get_by_role("heading", level=1)).to_have_text("role update")
    change = visit.page.get_by_role("row").filter(has_text="roleName")
    expect(change.get_by_role("deletion")).to_have_text(MARKUP)
    expect(change.get_by_role("insertion")).to_have_text("Told in the log")
    expect(visit.page.get_by_role("link", name="Explain this decision")).to_have_attribute(
        "href", re.compile("^#/policy/explain[?].*decisionId=r[0-9]+-")
    )
    visit.axe()
    visit.picture("operation")


def test_a_log_that_is_followed_shows_what_is_written_meanwhile(visit: Visit, house: House) -> None:
    visit.sign_in(address="/logs/operations?target=role:followed")
    expect(visit.page.get_by_text("Nothing matches these filters.")).to_be_visible()
    with visit.page.expect_response("**/api/operation-log/list?**"):  # what is written from now on is new
        visit.page.get_by_role("button", name="Follow").click()
    expect(visit.page).to_have_url(re.compile("follow=true"))

    house.api.post("/api/role", json={"roleCode": "followed", "roleName": "Followed"})

    expect(visit.page.get_by_role("row").filter(has_text="role create")).to_have_count(1)
    expect(visit.page.get_by_text("1 new entry")).to_be_visible()


def test_a_log_is_followed_further_after_a_restore(visit: Visit, house: House) -> None:
    visit.sign_in(address="/logs/operations?target=role:restored&follow=true")
    expect(visit.page.get_by_text("Nothing matches these filters.")).to_be_visible()

    def ahead(route: Route) -> None:
        route.continue_(url=re.sub("after=[^&]*", f"after={follow_cursor(10**12)}", route.request.url))

    # Once it is as if the log had been longer; then the list has been read again.
    with visit.page.expect_response(re.compile("operation-log/list(?!.*after=)")):
        visit.page.route(re.compile("after="), ahead, times=1)
    house.api.post("/api/role", json={"roleCode": "restored", "roleName": "Restored"})

    expect(visit.page.get_by_role("row").filter(has_text="role create")).to_have_count(1)


def test_the_login_log_tells_who_was_refused(visit: Visit, house: House) -> None:
    house.member("doorman", "system:login-log:list")
    with house.service.client() as client:
        sent = {"userName": "doorman", "password": "not the password"}
        assert client.post("/api/auth/login", json=sent).status_code == 401
    house.wait_for_log("login", userName="doorman", outcome="failure")

    visit.sign_in("doorman", "/logs/logins?userName=doorman&outcome=failure")

    expect(visit.page.get_by_role("row").filter(has_text="login_failed")).to_have_count(1)
    assert visit.page.get_by_role("button", name="Export").count() == 0
    visit.axe()
