"""Refusals are shown as what they mean, nothing typed is lost, and one is found by the id of its decision."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.console.acts import act, button, headed, says, unfold_question
from tests.console.house import House
from tests.console.visits import Visit

PROFILE = "**/api/user/profile"
REFUSALS: tuple[tuple[int, dict[str, Any], str, str], ...] = (
    (
        403,
        {"code": "permission_denied", "required": ["a:b"], "needed": "any"},
        "You are not allowed to do this",
        "a:b",
    ),
    (404, {"code": "not_found"}, "Not found", "deleted"),
    (
        409,
        {"code": "conflict", "detail": "The name is taken"},
        "conflicts with stored data",
        "The name is taken",
    ),
    (413, {"code": "too_large"}, "This is too large", "Nothing was saved"),
    (429, {"code": "rate_limited"}, "Too many attempts", "Try again in 7 seconds"),
    (500, {"code": "internal_error"}, "The service failed", "service log"),
    (503, {"code": "unavailable"}, "temporarily unavailable", "Try again in 7 seconds"),
)


def refusing(status: int, members: dict[str, Any]) -> Callable[[Route], None]:
    """Return what refuses a write as the service would, and lets reads pass."""
    about = {"type": "/docs/errors", "title": "T", "status": status, "requestId": f"request-{status}"}
    headers = {"Retry-After": "7"} if status in (429, 503) else {}

    def answer(route: Route) -> None:
        if route.request.method == "PUT":
            body, kind = json.dumps(about | members), "application/problem+json"
            route.fulfill(status=status, headers=headers, content_type=kind, body=body)
        else:
            route.continue_()

    return answer


def saving(visit: Visit) -> Locator:
    button(visit.page, "Save").click()
    return visit.page.get_by_role("main").get_by_role("alert")


def test_each_refusal_says_what_it_means_and_names_its_request(visit: Visit, house: House) -> None:
    number = house.member("refused")
    page = visit.open("/account", name="refused")
    name = page.get_by_label("Name", exact=True)
    name.fill("Kept")
    for status, members, title, text in REFUSALS:
        page.route(PROFILE, refusing(status, members))
        shown = saving(visit)
        says(shown, title, text, f"request-{status}")
        expect(name).to_have_value("Kept")
        page.unroute(PROFILE)
    visit.axe()
    # Nothing stands in the way any more: the same request is sent again.
    button(page, "Try again").click()
    expect(page.get_by_role("status").get_by_text("Your profile was saved.")).to_be_visible()
    assert house.send("GET", f"/api/user/{number}")["nickName"] == "Kept"


def test_values_that_break_a_rule_are_told_at_their_fields(visit: Visit, house: House) -> None:
    house.member("mistaken")
    page = visit.open("/account", name="mistaken")
    page.get_by_label("Email").fill("not an address")
    page.get_by_label("Picture").fill("javascript:alert(1)")
    button(page, "Save").click()
    email = page.get_by_label("Email")
    expect(email).to_have_attribute("aria-invalid", "true")
    expect(email).to_be_focused()
    expect(page.get_by_label("Picture")).to_have_attribute("aria-invalid", "true")
    says(page.get_by_role("alert"), "2 values to correct", "422 validation_failed")
    page.get_by_label("New password", exact=True).fill("four wary herons")
    page.get_by_label("New password again").fill("five wary herons")
    button(page, "Change the password").click()
    expect(page.get_by_text("Fill this in.")).to_be_visible()
    expect(page.get_by_text("The two new passwords differ.")).to_be_visible()
    page.evaluate("location.hash = '/'")
    page.get_by_role("dialog", name="Leave without saving?").get_by_role("button", name="Cancel").click()
    expect(email).to_have_value("not an address")
    assert page.url.endswith("#/account")


def test_an_edit_by_somebody_else_is_merged(visit: Visit, house: House) -> None:
    number = house.member("merged")
    page = visit.open("/account", name="merged")
    page.get_by_label("Name", exact=True).fill("Mine")
    page.get_by_label("Phone").fill("+49 30 1234567")
    edit = {"nickName": "Theirs", "email": "theirs@example.org"}
    house.send("PATCH", f"/api/user/{number}", edit)
    shown = saving(visit)
    says(shown, "Changed by admin in the meantime", "theirs@example.org")
    expect(page.get_by_label("Email")).to_have_value("theirs@example.org")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Mine")
    shown.get_by_label("Theirs: Theirs").check()
    button(page, "Save").click()
    expect(page.get_by_role("status").get_by_text("Your profile was saved.")).to_be_visible()
    saved = house.send("GET", f"/api/user/{number}")
    assert saved.items() >= {**edit, "phone": "+49 30 1234567"}.items()


def refused(house: House, name: str) -> str:
    """Have a user refused who may not delete users; return the id of the decision once the log has it."""
    answer = house.ask(name, "DELETE", "/api/user/1")
    assert answer.status_code == 403
    house.wait_for_log("operation", userName=name, decision="deny")
    decision_id: str = answer.json()["decisionId"]
    return decision_id


@pytest.mark.feature("pages")
def test_a_value_that_is_taken_is_named_with_what_was_not_saved(visit: Visit) -> None:
    page = visit.open("/roles/new", "New role")
    page.get_by_role("textbox", name="Name", exact=True).fill("Second")
    page.get_by_role("textbox", name="Code", exact=True).fill("auditor")
    button(page, "Create").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Role Second was not saved: Code: “auditor” is already in use.")
    expect(alert.get_by_role("link", name="409 conflict")).to_have_attribute("href", "/docs/errors#conflict")
    expect(page.get_by_role("textbox", name="Code", exact=True)).to_be_focused()


@pytest.mark.extended
def test_a_decision_id_alone_says_who_was_refused_what_and_why(visit: Visit, house: House) -> None:
    house.member("dipper", "system:user:list")
    decision_id = refused(house, "dipper")
    page = visit.open("/policy/explain", "Explain")
    page.get_by_label("Decision id").fill(decision_id)
    page.get_by_label("Decision id").press("Enter")

    answer = page.get_by_role("region", name="Answer")
    says(answer, "The user dipper", "DELETE /api/user/1", "the audit log")
    expect(answer.get_by_role("listitem").filter(has_text="Endpoint").first).to_contain_text(
        "system:user:delete"
    )
    expect(answer.get_by_text("The user had other permissions then")).to_have_count(0)
    visit.axe()
    visit.picture("refusal")
    answer.get_by_role("link", name="dipper").click()
    headed(page, "dipper")
    page.go_back()
    expect(page.get_by_label("Decision id")).to_have_value(decision_id)
    expect(answer).to_contain_text("The user dipper")

    unfold_question(page)
    page.get_by_label("Decision id").fill(decision_id[:-12] + "0" * 12)
    button(page, "Ask").click()
    expect(page.get_by_role("alert")).to_contain_text("can't be found by id")
    page.get_by_label("Decision id").fill("r1-")
    button(page, "Ask").click()
    expect(page.get_by_label("Decision id")).to_be_focused()


@pytest.mark.extended
def test_codes_that_have_been_given_since_are_told(visit: Visit, house: House) -> None:
    user = house.member("ouzel")
    decision_id = refused(house, "ouzel")
    known = house.send("GET", "/api/role/list?roleCode=auditor")["items"]
    house.send("PATCH", f"/api/user/{user}", {"roleIds": [known[0]["id"]]})
    page = visit.open("/logs/operations?userName=ouzel&decision=deny")
    page.get_by_role("row").nth(1).get_by_role("rowheader").get_by_role("link").click()
    page.get_by_role("link", name="Explain this decision").click()
    expect(page.get_by_text("The user had other permissions then")).to_be_visible()
    assert page.url.endswith(f"#/policy/explain?decisionId={decision_id}")
    expect(page.get_by_role("region", name="Answer")).to_contain_text("The user ouzel")


@pytest.mark.extended
@pytest.mark.feature("pages")
def test_a_refusal_on_a_page_leads_those_who_may_to_its_explanation(
    visitor: Callable[[], Visit], house: House
) -> None:
    edits = ("system:user:detail", "system:user:update")
    house.member("whimbrel", *edits)
    house.member("robin", *edits, "system:policy:read", "system:operation-log:detail")
    for name in ("whimbrel", "robin"):
        visit = visitor()
        page = visit.open("/users/1/edit", "Edit admin", name)
        page.get_by_role("textbox", name="Name", exact=True).fill("Not mine")
        button(page, "Save").click()
        trouble = page.get_by_role("alert")
        expect(trouble).to_contain_text(re.compile("Decision r[0-9]+-"))
        decision = trouble.get_by_role("link", name=re.compile("^r[0-9]+-"))
        expect(decision).to_have_count(1 if name == "robin" else 0)
        meaning = trouble.get_by_role("link", name="403 permission_denied")
        expect(meaning).to_have_attribute("href", "/docs/errors#permission-denied")
    house.wait_for_log("operation", userName="robin", decision="deny")
    decision.click()
    button(page.get_by_role("dialog"), "Leave").click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("The user robin")
    expect(answer.locator(".path")).to_contain_text("Grant")


@pytest.mark.extended
def test_the_way_to_an_explanation_closes_the_dialog_that_it_is_in(visit: Visit, house: House) -> None:
    house.member("pipit", "system:user:list", "system:user:detail", "system:user:reset-password",
                 "system:policy:read", "system:operation-log:detail")  # fmt: skip
    page = visit.open("/users/1", name="pipit")
    act(page, "Set a password")
    page.get_by_role("dialog").get_by_label("New password").fill("four wary herons")
    button(page.get_by_role("dialog"), "Set the password").click()
    link = page.get_by_role("dialog").get_by_role("alert").get_by_role("link", name=re.compile("^r[0-9]+-"))
    expect(link).to_be_visible()
    house.wait_for_log("operation", userName="pipit", decision="deny")
    link.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("region", name="Answer")).to_contain_text("PUT /api/user/1/password")
