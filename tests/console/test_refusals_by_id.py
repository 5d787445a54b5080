"""A refusal found by the id of its decision: typed, from a log entry, from a refusal on the page."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.console.house import House
from tests.console.test_users import button, headed
from tests.console.visits import Visit


def refused(house: House, name: str) -> str:
    """Have a user refused who may not delete users; return the id of the decision once the log has it."""
    with house.service.client() as client:
        header = {"Authorization": f"Bearer {house.log_in(name)['accessToken']}"}
        answer = client.delete("/api/user/1", headers=header)
    assert answer.status_code == 403
    house.wait_for_log("operation", userName=name, decision="deny")
    decision_id: str = answer.json()["decisionId"]
    return decision_id


def test_a_decision_id_alone_says_who_was_refused_what_and_why(visit: Visit, house: House) -> None:
    house.member("dipper", "system:user:list")
    decision_id = refused(house, "dipper")
    page = visit.page
    visit.sign_in(address="/policy/explain")
    headed(page, "Explain")
    page.get_by_label("Decision id").fill(decision_id)
    page.get_by_label("Decision id").press("Enter")

    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("The user dipper")
    expect(answer).to_contain_text("DELETE /api/user/1")
    expect(answer).to_contain_text("the operation log")
    expect(answer.get_by_role("listitem").filter(has_text="Endpoint").first).to_contain_text(
        "system:user:delete"
    )
    expect(answer.get_by_text("The user held other codes then")).to_have_count(0)
    visit.axe()
    visit.picture("refusal")
    answer.get_by_role("link", name="dipper").click()
    headed(page, "dipper")
    page.go_back()
    expect(page.get_by_label("Decision id")).to_have_value(decision_id)
    expect(answer).to_contain_text("The user dipper")

    page.get_by_label("Decision id").fill(decision_id[:-12] + "0" * 12)
    button(page, "Ask").click()
    expect(page.get_by_role("alert")).to_contain_text("can't be found by their id alone")
    page.get_by_label("Decision id").fill("r1-")
    button(page, "Ask").click()
    expect(page.get_by_label("Decision id")).to_be_focused()


def test_codes_that_have_been_given_since_are_told(visit: Visit, house: House) -> None:
    user = house.member("ouzel")
    decision_id = refused(house, "ouzel")
    known = house.api.get("/api/role/list?roleCode=auditor").json()["data"]["items"]
    assert house.api.patch(f"/api/user/{user}", json={"roleIds": [known[0]["id"]]}).status_code == 200
    page = visit.page
    visit.sign_in(address="/logs/operations?userName=ouzel&decision=deny")
    page.get_by_role("row").nth(1).get_by_role("link").click()
    page.get_by_role("link", name="Explain this decision").click()
    expect(page.get_by_text("The user held other codes then")).to_be_visible()
    assert page.url.endswith(f"#/policy/explain?decisionId={decision_id}")
    expect(page.get_by_role("region", name="Answer")).to_contain_text("The user ouzel")


def test_a_refusal_on_a_page_leads_those_who_may_to_its_explanation(
    visitor: Callable[[], Visit], house: House
) -> None:
    edits = ("system:user:detail", "system:user:update")
    house.member("wren", *edits)
    house.member("robin", *edits, "system:policy:read", "system:operation-log:detail")
    for name in ("wren", "robin"):
        visit = visitor()
        page = visit.page
        visit.sign_in(name, "/users/1/edit")
        headed(page, "Edit admin")
        page.get_by_role("textbox", name="Name", exact=True).fill("Not mine")
        button(page, "Save").click()
        trouble = page.get_by_role("alert")
        expect(trouble).to_contain_text(re.compile("Decision r[0-9]+-"))
        expect(trouble.get_by_role("link")).to_have_count(1 if name == "robin" else 0)
        visit.axe()
    house.wait_for_log("operation", userName="robin", decision="deny")
    trouble.get_by_role("link").click()
    button(page.get_by_role("dialog"), "Leave").click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("The user robin")
    expect(answer.locator(".path")).to_contain_text("Grant")


def test_the_way_to_an_explanation_closes_the_dialog_that_it_is_in(visit: Visit, house: House) -> None:
    house.member("pipit", "system:user:list", "system:user:detail", "system:user:reset-password",
                 "system:policy:read", "system:operation-log:detail")  # fmt: skip
    page = visit.page
    visit.sign_in("pipit", "/users/1")
    button(page, "Set a password").click()
    page.get_by_role("dialog").get_by_label("New password").fill("four wary herons")
    button(page.get_by_role("dialog"), "Set the password").click()
    link = page.get_by_role("dialog").get_by_role("alert").get_by_role("link")
    expect(link).to_be_visible()
    house.wait_for_log("operation", userName="pipit", decision="deny")
    link.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("region", name="Answer")).to_contain_text("PUT /api/user/1/password")
