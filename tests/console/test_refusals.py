"""What the API refuses is shown as what it means, with the id of the request, and nothing typed is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Route, expect

from tests.console.house import House
from tests.console.visits import Visit

PROFILE = "**/api/user/profile"
REFUSALS: tuple[tuple[int, dict[str, Any], str, str], ...] = (
    (403, {"code": "permission_denied", "required": ["a:b"], "needed": "any"}, "You may not do this", "a:b"),
    (404, {"code": "not_found"}, "There is nothing here", "deleted"),
    (
        409,
        {"code": "conflict", "detail": "The name is taken"},
        "conflicts with what is stored",
        "The name is taken",
    ),
    (413, {"code": "too_large"}, "This is too large", "Nothing was saved"),
    (429, {"code": "rate_limited"}, "Too many attempts", "Try again in 7 seconds"),
    (500, {"code": "internal_error"}, "The service failed", "log of the service"),
    (503, {"code": "unavailable"}, "out of reach for the moment", "Try again in 7 seconds"),
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
    visit.page.get_by_role("button", name="Save").click()
    return visit.page.get_by_role("main").get_by_role("alert")


def test_each_refusal_says_what_it_means_and_names_its_request(visit: Visit, house: House) -> None:
    number = house.member("refused")
    visit.sign_in("refused", "/account")
    name = visit.page.get_by_label("Name", exact=True)
    name.fill("Kept")
    for status, members, title, text in REFUSALS:
        visit.page.route(PROFILE, refusing(status, members))
        shown = saving(visit)
        expect(shown).to_contain_text(title)
        expect(shown).to_contain_text(text)
        expect(shown).to_contain_text(f"request-{status}")
        expect(name).to_have_value("Kept")
        visit.page.unroute(PROFILE)
    visit.axe()
    # Nothing stands in the way any more: the same request is sent again.
    visit.page.get_by_role("button", name="Try again").click()
    expect(visit.page.get_by_role("status").get_by_text("Saved.")).to_be_visible()
    assert house.api.get(f"/api/user/{number}").json()["data"]["nickName"] == "Kept"


def test_values_that_break_a_rule_are_told_at_their_fields(visit: Visit, house: House) -> None:
    house.member("mistaken")
    visit.sign_in("mistaken", "/account")
    visit.page.get_by_label("Email").fill("not an address")
    visit.page.get_by_label("Picture").fill("javascript:alert(1)")
    visit.page.get_by_role("button", name="Save").click()
    email = visit.page.get_by_label("Email")
    expect(email).to_have_attribute("aria-invalid", "true")
    expect(email).to_be_focused()
    expect(visit.page.get_by_label("Picture")).to_have_attribute("aria-invalid", "true")
    expect(visit.page.get_by_role("alert")).to_contain_text("2 values to correct")
    expect(visit.page.get_by_role("alert")).to_contain_text("422 validation_failed")
    visit.page.get_by_label("New password", exact=True).fill("four wary herons")
    visit.page.get_by_label("New password again").fill("five wary herons")
    visit.page.get_by_role("button", name="Change the password").click()
    expect(visit.page.get_by_text("Fill this in.")).to_be_visible()
    expect(visit.page.get_by_text("The two new passwords differ.")).to_be_visible()
    visit.page.evaluate("location.hash = '/'")
    visit.page.get_by_role("dialog", name="Leave without saving?").get_by_role(
        "button", name="Cancel"
    ).click()
    expect(email).to_have_value("not an address")
    assert visit.page.url.endswith("#/account")


def test_an_edit_by_somebody_else_is_merged(visit: Visit, house: House) -> None:
    number = house.member("merged")
    visit.sign_in("merged", "/account")
    visit.page.get_by_label("Name", exact=True).fill("Mine")
    visit.page.get_by_label("Phone").fill("+49 30 1234567")
    edit = {"nickName": "Theirs", "email": "theirs@example.org"}
    assert house.api.patch(f"/api/user/{number}", json=edit).status_code == 200
    shown = saving(visit)
    expect(shown).to_contain_text("Changed by admin meanwhile")
    expect(shown).to_contain_text("theirs@example.org")
    expect(visit.page.get_by_label("Email")).to_have_value("theirs@example.org")
    expect(visit.page.get_by_label("Name", exact=True)).to_have_value("Mine")
    shown.get_by_label("Theirs: Theirs").check()
    visit.axe()
    visit.page.get_by_role("button", name="Save").click()
    expect(visit.page.get_by_role("status").get_by_text("Saved.")).to_be_visible()
    saved = house.api.get(f"/api/user/{number}").json()["data"]
    assert saved.items() >= {**edit, "phone": "+49 30 1234567"}.items()
