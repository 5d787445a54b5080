"""Roles that are assigned for a time and with a reason, as administrators and reviewers see them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.acts import BERLIN, button, follow, headed, says, typed, unfold_question
from tests.console.house import House
from tests.console.visits import Visit

DEMANDS = "UPDATE sys.role SET max_duration = %s, reason_required = true WHERE role_code = %s"
EXPIRED = """INSERT INTO sys.ended_assignment (id, user_id, role_id, role_code, valid_until, reason, source,
    create_time, created_by, end_time, how)
    SELECT nextval('sys.user_role_id_seq'), %s, id, role_code, now() - interval '1 day', 'Handover',
        'direct', now() - interval '2 days', 'admin', now() - interval '1 day', 'expired'
    FROM sys.role WHERE role_code = %s"""


def assigned(house: House, user: int, role: str) -> list[dict[str, Any]]:
    items = house.send("GET", f"/api/user/{user}/roles")["items"]
    return [item for item in items if item["roleCode"] == role]


def give(house: House, user: int, **body: Any) -> dict[str, Any]:
    made: dict[str, Any] = house.send("POST", f"/api/user/{user}/roles", body)
    return made


def row(page: Page, role: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=role, exact=True))


def test_a_role_is_assigned_with_an_end_and_a_reason_changed_and_ended(visit: Visit, house: House) -> None:
    user = house.member("hoopoe")
    house.member("roller", "system:role:list")
    house.execute(DEMANDS, 30 * 86_400, "roller")
    page = visit.open(f"/users/{user}/roles")
    dialogs = page.get_by_role("dialog")
    expect(row(page, "hoopoe")).to_contain_text("No end")
    button(page, "Assign a role").click()
    dialogs.get_by_label("Role").select_option("roller")
    expect(dialogs).to_contain_text("At most 30 days; an end is required. A reason is required.")
    button(dialogs, "Preview").click()
    expect(dialogs.get_by_label("Until")).to_be_focused()
    expect(dialogs.get_by_label("Until")).to_have_attribute("aria-invalid", "true")
    visit.axe()
    dialogs.get_by_label("Until").fill(typed(days=3, minutes=1))
    dialogs.get_by_label("Reason").fill("On call")
    button(dialogs, "Preview").click()
    expect(dialogs.last.get_by_role("heading", name="Gain access")).to_be_visible()
    button(dialogs.last, "Assign a role").click()
    expect(page.get_by_text("User hoopoe got the role roller.")).to_be_visible()
    expect(row(page, "roller")).to_contain_text("(in 3 days)")
    for text in ("Ends soon", "On call", "by admin"):
        expect(row(page, "roller")).to_contain_text(text)
    visit.picture("assignments")

    button(row(page, "roller"), "Change: roller").click()
    dialogs.get_by_label("Until").fill("")
    dialogs.get_by_label("Until").press_sequentially("01")  # a day alone: no end, for the browser
    button(dialogs, "Preview").click()
    expect(dialogs.get_by_text("Complete this value, or clear it.")).to_be_visible()
    expect(dialogs.get_by_label("Until")).to_be_focused()
    dialogs.get_by_label("Until").fill(typed(days=10, minutes=1))
    button(dialogs, "Preview").click()
    button(dialogs.last, "Save").click()
    expect(row(page, "roller")).to_contain_text("(in 10 days)")
    [saved] = assigned(house, user, "roller")
    assert (saved["from"], saved["reason"]) == (None, "On call")

    button(row(page, "roller"), "End now: roller").click()
    expect(dialogs.get_by_role("heading", name="Lose access")).to_be_visible()
    button(dialogs, "End now").click()
    expect(row(page, "roller")).to_have_count(0)
    assert assigned(house, user, "roller") == []
    page.get_by_label("Include ended").check()
    expect(row(page, "roller")).to_contain_text("Ended early")
    expect(row(page, "roller").get_by_role("button")).to_have_count(0)


def test_what_begins_later_and_what_has_expired_is_shown_as_such(visit: Visit, house: House) -> None:
    user = house.member("oriole")
    house.member("serin-role")
    house.execute(EXPIRED, user, "serin-role")
    begins = (datetime.now(UTC) + timedelta(days=20, minutes=1)).isoformat()
    give(house, user, roleCode="auditor", **{"from": begins})
    page = visit.open(f"/users/{user}/roles?ended=true")
    expect(row(page, "Auditor auditor")).to_contain_text("Begins later")
    says(row(page, "serin-role"), "Expired", "Handover")
    visit.show("/changes", "Changes")  # no person acted, so the log has no entry of it
    expect(page.get_by_role("main")).to_contain_text("The role serin-role of oriole ended by itself")
    says(page.get_by_role("listitem").filter(has_text="of oriole ended"), "Lost: serin-role", "Handover")
    visit.show(f"/users/{user}/roles", "oriole")
    page.set_viewport_size({"width": 320, "height": 640})
    page.wait_for_function("document.documentElement.scrollWidth <= 320")


def test_nobody_is_offered_to_change_their_own_roles(visit: Visit, house: House) -> None:
    number = house.send("GET", "/api/user/profile")["id"]
    page = visit.open(f"/users/{number}/roles")
    headed(page, "admin")
    expect(page.get_by_role("table")).to_contain_text("No end")
    expect(page.get_by_role("table").get_by_role("button", name=re.compile("Change|End"))).to_have_count(0)
    expect(button(page, "Assign a role")).to_have_count(0)


@pytest.mark.extended
def test_an_end_in_the_repeated_hour_of_autumn_stays_in_an_edit(visit: Visit, house: House) -> None:
    user = house.member("dotterel")
    second = datetime(2050, 10, 30, 2, 30, 15, tzinfo=BERLIN, fold=1)
    give(house, user, roleCode="auditor", until=second.isoformat())
    page = visit.open(f"/users/{user}/roles")
    dialogs = page.get_by_role("dialog")
    button(row(page, "Auditor auditor"), "Change: Auditor").click()
    dialogs.get_by_label("Reason").fill("Inventory")
    button(dialogs, "Preview").click()
    button(dialogs.last, "Save").click()
    expect(row(page, "Auditor auditor")).to_contain_text("Inventory")
    [saved] = assigned(house, user, "auditor")
    assert datetime.fromisoformat(saved["until"]) == second.astimezone(UTC)


@pytest.mark.extended
def test_the_assignments_of_all_users_are_found_by_what_they_have(visit: Visit, house: House) -> None:
    user = house.member("wagtail")
    house.member("treecreeper")
    soon = (datetime.now(UTC) + timedelta(days=2)).isoformat()
    give(house, user, roleCode="auditor", until=soon, reason="Inventory")
    page = visit.page
    visit.sign_in()
    follow(page, "Assignments", "Assignments")
    page.get_by_role("searchbox", name="User").fill("wagtail")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(3)
    page.get_by_role("combobox", name="End", exact=True).select_option("With an end")
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text("Inventory")
    page.get_by_label("Ends before").fill(typed(days=3))
    page.get_by_label("Ends before").press("Enter")
    page.get_by_role("combobox", name="Role").select_option("auditor")
    expect(rows).to_have_count(2)
    assert "endsBefore=" in page.url
    visit.picture("all-assignments")
    rows.last.get_by_role("link").click()
    headed(page, "wagtail")
    expect(row(page, "Auditor auditor")).to_contain_text("Inventory")


@pytest.mark.extended
def test_a_role_limits_how_long_it_is_assigned_and_asks_for_a_reason(visit: Visit, house: House) -> None:
    house.member("wallcreeper")
    role = house.role("wallcreeper")["id"]
    page = visit.open(f"/roles/{role}/edit", "Edit the role wallcreeper")
    length = page.get_by_role("group", name="Longest assignment")
    length.get_by_label("Number").press_sequentially("-")
    button(page, "Save").click()
    expect(page.get_by_text("Complete this value, or clear it.")).to_be_visible()
    length.get_by_label("Number").fill("12")
    length.get_by_label("Unit").select_option("Hours")
    page.get_by_label("Assignments need a reason").check()
    follow(page, "Save", "wallcreeper")
    expect(page.get_by_role("main")).to_contain_text("12 hours")
    saved = house.role("wallcreeper")
    assert (saved["maxDuration"], saved["reasonRequired"]) == (43_200, True)


@pytest.mark.extended
def test_why_since_when_and_until_when_a_user_holds_a_permission(visit: Visit, house: House) -> None:
    user = house.member("shrike")
    house.member("jaeger", "system:user:delete")
    until = (datetime.now(UTC) + timedelta(days=3, minutes=1)).isoformat()
    give(house, user, roleCode="jaeger", until=until, reason="Spring cleaning")
    page = visit.open(f"/users/{user}/access")
    follow(page, "system:user:delete", "Explain")
    answer = page.get_by_role("region", name="Answer")
    for text in (
        "Allowed",
        "the role jaeger",
        "assigned since",
        "(in 3 days)",
        "by admin",
        "Spring cleaning",
    ):
        expect(answer).to_contain_text(text)
    visit.axe()
    visit.picture("why")
    unfold_question(page)
    page.get_by_label("At", exact=True).fill(typed(days=4))
    button(page, "Ask").click()
    expect(answer).to_contain_text("Refused")
    assert "at=" in page.url


@pytest.mark.extended
def test_questions_are_asked_about_an_instant_to_come(visit: Visit, house: House) -> None:
    user = house.member("skua")
    house.member("gannet", "system:role:export")
    begins = (datetime.now(UTC) + timedelta(days=5)).isoformat()
    give(house, user, roleCode="gannet", **{"from": begins})
    page = visit.open("/policy/who?method=GET&path=/api/role/export&by=users")
    users = page.get_by_role("table")
    expect(users).to_contain_text("gannet")
    expect(users).not_to_contain_text("skua")
    page.get_by_label("At", exact=True).fill(typed(days=6))
    button(page, "Ask").click()
    expect(users).to_contain_text("skua")
    visit.go(f"/policy/what?userName=skua&at={typed(days=6)}:00Z")
    expect(page.get_by_role("main")).to_contain_text("system:role:export")
    visit.go(f"/policy/matrix?roles=gannet&at={typed(days=6)}:00Z&object=role/export")
    expect(page.get_by_role("grid")).to_contain_text("GET /api/role/export")
    link = page.get_by_role("grid").get_by_role("link").last
    expect(link).to_have_attribute("href", re.compile("at="))
    visit.go("/policy/matrix?roles=gannet&at=2001-01-01T00:00:00Z")
    expect(page.get_by_role("alert")).to_contain_text("Rights before")
