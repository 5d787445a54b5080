"""The logs: found by filters, followed as they grow, and one entry with its changes and its decision."""

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Route, expect

from service.features.log_reading.store_paging import follow_cursor
from tests.console.house import House
from tests.console.test_users import act
from tests.console.visits import Visit


def test_a_change_is_found_and_shown_with_what_was_before_and_after(visit: Visit, house: House) -> None:
    made = house.api.post("/api/role", json={"roleCode": "logged", "roleName": "Watched"}).json()["data"]
    house.api.patch(f"/api/role/{made['id']}", json={"roleName": "Told in the log"})
    house.wait_for_log("operation", target="role:logged", kind="UPDATE")

    visit.sign_in(address="/logs/operations?kind=UPDATE")
    visit.page.get_by_label("Record").fill("role:logged")
    visit.page.get_by_label("Record").press("Enter")
    row = visit.page.get_by_role("row").filter(has_text="admin changed the name of role logged")
    expect(row).to_have_count(1)
    expect(row.get_by_role("link", name="logged")).to_have_attribute("href", f"#/roles/{made['id']}")
    expect(row.get_by_role("link", name="admin")).to_have_attribute("href", "#/users/1")
    visit.axe()
    visit.picture("operation-log")
    row.get_by_role("link").first.click()

    sentence = "admin changed the name of role logged"
    expect(visit.page.get_by_role("heading", level=1)).to_have_text(sentence)
    change = visit.page.get_by_role("row").filter(has_text="roleName")
    expect(change.get_by_role("deletion")).to_have_text("Watched")
    expect(change.get_by_role("insertion")).to_have_text("Told in the log")
    expect(visit.page.get_by_role("link", name="Explain this decision")).to_have_attribute(
        "href", re.compile("^#/policy/explain[?].*decisionId=r[0-9]+-")
    )
    visit.axe()
    visit.picture("operation")


@pytest.mark.extended
def test_a_log_that_is_followed_shows_what_is_written_meanwhile(visit: Visit, house: House) -> None:
    visit.sign_in(address="/logs/operations?target=role:followed")
    expect(visit.page.get_by_text("Nothing matches these filters.")).to_be_visible()
    with visit.page.expect_response("**/api/operation-log/list?**"):  # what is written from now on is new
        visit.page.get_by_role("button", name="Follow").click()
    expect(visit.page).to_have_url(re.compile("follow=true"))

    house.api.post("/api/role", json={"roleCode": "followed", "roleName": "Followed"})

    expect(visit.page.get_by_role("row").filter(has_text="admin created role followed")).to_have_count(1)
    expect(visit.page.get_by_text("1 new entry")).to_be_visible()


@pytest.mark.extended
def test_a_log_is_followed_further_after_a_restore(visit: Visit, house: House) -> None:
    visit.sign_in(address="/logs/operations?target=role:restored&follow=true")
    expect(visit.page.get_by_text("Nothing matches these filters.")).to_be_visible()

    def ahead(route: Route) -> None:
        route.continue_(url=re.sub("after=[^&]*", f"after={follow_cursor(10**12)}", route.request.url))

    # Once it is as if the log had been longer; then the list has been read again.
    with visit.page.expect_response(re.compile("operation-log/list(?!.*after=)")):
        visit.page.route(re.compile("after="), ahead, times=1)
    house.api.post("/api/role", json={"roleCode": "restored", "roleName": "Restored"})

    expect(visit.page.get_by_role("row").filter(has_text="admin created role restored")).to_have_count(1)


@pytest.mark.extended
def test_the_login_log_tells_who_was_refused(visit: Visit, house: House) -> None:
    house.member("doorman", "system:login-log:list")
    with house.service.client() as client:
        sent = {"userName": "doorman", "password": "not the password"}
        assert client.post("/api/auth/login", json=sent).status_code == 401
    house.wait_for_log("login", userName="doorman", outcome="failure")

    visit.sign_in("doorman", "/logs/logins?userName=doorman&outcome=failure")

    expect(
        visit.page.get_by_role("row").filter(
            has_text="doorman could not sign in on web: wrong user name or password"
        )
    ).to_have_count(1)
    assert visit.page.get_by_role("button", name="Export").count() == 0
    visit.axe()


@pytest.mark.extended
def test_what_was_only_previewed_is_hidden_and_counted_until_it_is_asked_for(
    visit: Visit, house: House
) -> None:
    since = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    house.member("guesser", "system:role:list")
    role = house.api.post("/api/role", json={"roleCode": "kept", "roleName": "Kept"}).json()["data"]["id"]
    with house.service.client() as client:
        client.headers["Authorization"] = f"Bearer {house.log_in('guesser')['accessToken']}"
        assert client.delete(f"/api/role/{role}?dryRun=true").status_code == 403
    house.wait_for_log("operation", userName="guesser", kind="DELETE")

    # Opened and cancelled: the console has asked what deleting the role would do.
    visit.sign_in(address=f"/roles/{role}")
    act(visit.page, "Delete")
    visit.page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    house.wait_for_log("operation", target="role:kept", kind="DELETE")
    visit.go(f"/logs/operations?kind=DELETE&module=role&from={since}")

    expect(visit.page.get_by_text("2 previews are hidden, 1 of them refused by the policy.")).to_be_visible()
    expect(visit.page.get_by_role("row")).to_have_count(0)
    visit.axe()
    visit.page.get_by_role("link", name="Show them").click()
    rows = visit.page.get_by_role("row")
    expect(rows.filter(has_text="admin previewed: delete role kept")).to_have_count(1)
    refused = rows.filter(has_text="guesser was not allowed to preview: delete a role")
    expect(refused.get_by_role("link", name="a role")).to_have_attribute("href", f"#/roles/{role}")
    expect(visit.page.get_by_label("Previews")).to_have_value("all")
    expect(visit.page.get_by_text("hidden,")).to_have_count(0)
    refused.get_by_role("link").first.click()
    expect(visit.page.get_by_text("Nothing was saved.")).to_be_visible()

    visit.go(
        "/logs/operations?decision=deny&userName=guesser&kind=DELETE"
    )  # no refusal is hidden from who asks for it
    expect(
        visit.page.get_by_role("row").filter(has_text="guesser was not allowed to preview: delete a role")
    ).to_have_count(1)


@pytest.mark.extended
def test_a_refused_read_is_found_with_the_number_of_its_repetitions(visit: Visit, house: House) -> None:
    house.member("reader", "system:role:list")
    with house.service.client() as client:
        client.headers["Authorization"] = f"Bearer {house.log_in('reader')['accessToken']}"
        refused = [client.get(f"/api/user/{number}") for number in (1, 2, 3)]
    assert {answer.status_code for answer in refused} == {403}
    house.wait_for_log("operation", userName="reader", kind="REFUSED_READ")

    def after_a_minute(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        for entry in body["data"]["items"]:
            entry["repetitions"] = 2
        route.fulfill(response=answer, json=body)

    visit.page.route("**/api/operation-log/list?**dryRun=false**", after_a_minute)
    visit.sign_in(address="/logs/operations?userName=reader&kind=REFUSED_READ")

    row = visit.page.get_by_role("row").filter(has_text="reader was not allowed to read GET /api/user/1")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("(2 times)")
    expect(row).to_contain_text("Denied")
