"""The logs: found by filters, followed as they grow, and one entry with its changes and its decision."""

import re
from datetime import UTC, datetime

import httpx
import pytest
from playwright.sync_api import Route, expect

from service.features.log_reading.store_paging import follow_cursor
from tests.console.acts import act, button, row
from tests.console.house import House
from tests.console.visits import Visit


def test_a_change_is_found_and_shown_with_what_was_before_and_after(visit: Visit, house: House) -> None:
    made = house.send("POST", "/api/role", {"roleCode": "logged", "roleName": "Watched"})
    house.send("PATCH", f"/api/role/{made['id']}", {"roleName": "Told in the log"})
    house.wait_for_log("operation", target="role:logged", kind="UPDATE")

    page = visit.open("/logs/operations?kind=UPDATE")
    page.get_by_label("Record").fill("role:logged")
    page.get_by_label("Record").press("Enter")
    shown = row(page, "admin changed the name of role logged")
    expect(shown).to_have_count(1)
    expect(shown.get_by_role("link", name="logged")).to_have_attribute("href", f"#/roles/{made['id']}")
    expect(shown.get_by_role("link", name="admin")).to_have_attribute("href", "#/users/1")
    visit.picture("operation-log")
    shown.get_by_role("link").first.click()

    sentence = "admin changed the name of role logged"
    expect(page.get_by_role("heading", level=1)).to_have_text(sentence)
    change = row(page, "roleName")
    expect(change.get_by_role("deletion")).to_have_text("Watched")
    expect(change.get_by_role("insertion")).to_have_text("Told in the log")
    expect(page.get_by_role("link", name="Explain this decision")).to_have_attribute(
        "href", re.compile("^#/policy/explain[?].*decisionId=r[0-9]+-")
    )
    visit.picture("operation")


@pytest.mark.extended
def test_a_log_that_is_followed_shows_what_is_written_meanwhile(visit: Visit, house: House) -> None:
    page = visit.open("/logs/operations?target=role:followed")
    expect(page.get_by_text("Nothing matches these filters.")).to_be_visible()
    with page.expect_response("**/api/operation-log/list?**"):  # what is written from now on is new
        button(page, "Follow").click()
    expect(page).to_have_url(re.compile("follow=true"))

    house.send("POST", "/api/role", {"roleCode": "followed", "roleName": "Followed"})

    expect(row(page, "admin created role followed")).to_have_count(1)
    expect(page.get_by_text("1 new entry")).to_be_visible()


@pytest.mark.extended
def test_a_log_is_followed_further_after_a_restore(visit: Visit, house: House) -> None:
    page = visit.open("/logs/operations?target=role:restored&follow=true")
    expect(page.get_by_text("Nothing matches these filters.")).to_be_visible()

    def ahead(route: Route) -> None:
        route.continue_(url=re.sub("after=[^&]*", f"after={follow_cursor(10**12)}", route.request.url))

    # Once it is as if the log had been longer; then the list has been read again.
    with page.expect_response(re.compile("operation-log/list(?!.*after=)")):
        page.route(re.compile("after="), ahead, times=1)
    house.send("POST", "/api/role", {"roleCode": "restored", "roleName": "Restored"})

    expect(row(page, "admin created role restored")).to_have_count(1)


@pytest.mark.extended
def test_the_login_log_tells_who_was_refused(visit: Visit, house: House) -> None:
    house.member("doorman", "system:login-log:list")
    sent = {"userName": "doorman", "password": "not the password"}
    assert httpx.post(f"{house.url}/api/auth/login", json=sent).status_code == 401
    house.wait_for_log("login", userName="doorman", outcome="failure")

    page = visit.open("/logs/logins?userName=doorman&outcome=failure", name="doorman")

    failed = row(page, "doorman could not sign in on web: wrong user name or password")
    expect(failed).to_have_count(1)
    assert page.get_by_role("button", name="Export").count() == 0


@pytest.mark.extended
def test_previews_are_hidden_and_counted_until_they_are_asked_for(visit: Visit, house: House) -> None:
    since = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    house.member("guesser", "system:role:list")
    role = house.make("role", roleCode="kept", roleName="Kept")
    assert house.ask("guesser", "DELETE", f"/api/role/{role}?dryRun=true").status_code == 403
    house.wait_for_log("operation", userName="guesser", kind="DELETE")

    # Opened and cancelled: the console has asked what deleting the role would do.
    page = visit.open(f"/roles/{role}")
    act(page, "Delete")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    house.wait_for_log("operation", target="role:kept", kind="DELETE")
    visit.go(f"/logs/operations?kind=DELETE&module=role&from={since}")

    expect(page.get_by_text("2 previews are hidden, 1 of them refused by the policy.")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(0)
    visit.axe()
    page.get_by_role("link", name="Show them").click()
    rows = page.get_by_role("row")
    expect(rows.filter(has_text="admin previewed: delete role kept")).to_have_count(1)
    refused = rows.filter(has_text="guesser was not allowed to preview: delete a role")
    expect(refused.get_by_role("link", name="a role")).to_have_attribute("href", f"#/roles/{role}")
    expect(page.get_by_label("Previews")).to_have_value("all")
    expect(page.get_by_text("hidden,")).to_have_count(0)
    refused.get_by_role("link").first.click()
    expect(page.get_by_text("Nothing was saved.")).to_be_visible()

    # No refusal is hidden from those who ask for it.
    visit.go("/logs/operations?decision=deny&userName=guesser&kind=DELETE")
    expect(row(page, "guesser was not allowed to preview: delete a role")).to_have_count(1)
