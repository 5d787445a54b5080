"""A demand that the session does not meet: the console asks for a proof, and sends the request again."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.console.acts import button, headed, says
from tests.console.house import House
from tests.console.test_session import requests
from tests.console.visits import Visit
from tests.support.seeded import ADMINISTRATOR_PASSWORD

GUARDED = {"resourceName": "Grebes", "resourceCode": "grebes", "method": "GET", "path": "/api/auth/sessions"}
SESSIONS = "location.hash = '/account/devices'"
REFUSED = "Not accepted: it is wrong, already used, or expired."


def question(page: Page) -> Locator:
    """Return the question for a proof."""
    return page.get_by_role("dialog", name="Confirm your identity")


@pytest.fixture
def guarded(house: House) -> Iterator[None]:
    """A demand of two factors on the list of the own sessions."""
    number = house.make("resource", **GUARDED, assurance="two-factors")
    yield
    house.send("DELETE", f"/api/resource/{number}")


def refuse_once(page: Page, url: str, methods: list[str]) -> None:
    """Answer the next request to ``url`` as one that demands a recent login."""
    refusal = {
        "code": "insufficient_user_authentication",
        "title": "Stronger or more recent authentication is required",
        "layer": "assurance",
        "required": ["@login-within-15m"],
        "methods": methods,
    }

    def answer(route: Route) -> None:
        route.fulfill(status=401, content_type="application/problem+json", body=json.dumps(refusal))

    page.route(url, answer, times=1)


@pytest.mark.usefixtures("guarded")
def test_a_refusal_asks_for_a_proof_and_the_request_is_sent_again(visit: Visit, house: House) -> None:
    house.member("prover")
    page = visit.open("/account", "Your account", "prover")
    _, codes = house.enrol("prover")
    other = visit.tab()
    other.go("/account")
    headed(other.page, "Your account")
    refreshes, asked = requests(visit, "/auth/refresh"), question(page)
    page.evaluate(SESSIONS)
    button(asked, "Cancel").click()
    refusal = page.get_by_role("main").get_by_role("alert")
    says(refusal, "This requires two factors.", "401 insufficient_user_authentication")
    visit.axe()
    visit.show("/account", "Your account")
    page.evaluate(SESSIONS)
    says(asked, "This requires two factors.")
    code = asked.get_by_label("Authenticator code")
    expect(code).to_be_focused()
    visit.picture("step-up")
    code.fill("000000")
    button(asked, "Confirm").click()
    says(asked, REFUSED)
    expect(code).to_be_focused()
    button(asked, "Use a recovery code").click()
    expect(asked.get_by_label("Recovery code")).to_be_focused()
    asked.get_by_label("Recovery code").fill(codes[0])
    page.keyboard.press("Enter")
    headed(page, "Your sessions")
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    expect(asked).to_have_count(0)
    # The other tab has the new tokens too, and no refresh was needed.
    other.page.evaluate(SESSIONS)
    expect(other.page.get_by_role("row").nth(1)).to_be_visible()
    assert refreshes == []
    assert other.troubles == []


@pytest.mark.usefixtures("guarded")
def test_users_without_a_factor_are_sent_to_add_one_first(visit: Visit, house: House) -> None:
    house.member("unproved")
    page = visit.open("/account", "Your account", "unproved")
    page.evaluate(SESSIONS)
    refusal = page.get_by_role("main").get_by_role("alert")
    says(refusal, "This requires two factors.")
    expect(question(page)).to_have_count(0)
    refusal.get_by_role("link", name="Add a second factor to your account first").click()
    headed(page, "Your account")
    expect(page.locator("main h2").first).to_have_text("Second factors")


@pytest.mark.extended
def test_an_administrator_looks_at_factors_and_resets_them(visit: Visit, house: House) -> None:
    number = house.member("factored")
    house.enrol("factored")
    page = visit.open("/users?secondFactor=true&userName=factored", "Users")
    page.get_by_role("link", name="factored").first.click()
    page.get_by_role("link", name="Second factors").click()
    expect(page.get_by_role("row")).to_have_count(3)  # the app and the recovery codes, below the head
    says(page.get_by_role("row").nth(1), "Authenticator app")
    visit.axe()
    button(page, "Reset the second factors").click()
    asked = page.get_by_role("dialog", name="Reset the second factors of factored?")
    says(asked, "The password alone signs in")
    button(asked, "Reset the second factors").click()
    text = "This user has no second factors and signs in with the password alone."
    expect(page.get_by_text(text)).to_be_visible()
    assert house.send("GET", f"/api/user/{number}/factors")["items"] == []


@pytest.mark.extended
def test_a_demand_is_set_on_a_resource_and_explained(visit: Visit, house: House) -> None:
    words = "two factors in the last 15 minutes"
    number = house.make("resource", **GUARDED)
    page = visit.open(f"/resources/{number}/edit", "Edit the resource Grebes")
    page.get_by_label("Required sign-in").select_option(words.capitalize())
    button(page, "Save").click()
    asked = page.get_by_role("dialog")
    says(asked, f"needs {words} as authentication")
    button(asked, "Save").click()
    headed(page, "Grebes")
    says(page.get_by_role("main"), words)
    visit.show("/policy/explain?userName=admin&method=GET&path=/api/auth/sessions", "Explain")
    step = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Authentication Not met"))
    says(step, f"resource GET /api/auth/sessions: {words} Not met")
    drawing = page.get_by_role("img", name="Path from admin to GET /api/auth/sessions: Refused")
    expect(drawing.locator(".box.bad")).to_have_count(2)  # the proof, and so the request
    page.get_by_text("Show as table").click()
    expect(page.get_by_role("row", name=f"admin ✗ Authentication {words}: Not met")).to_be_visible()
    for address, title in (
        ("matrix?object=auth/sessions", "Matrix"),
        ("openings", "Public access"),
        ("what?userName=admin&needs=login", "What can"),
    ):
        visit.show(f"/policy/{address}", title)
        guarded = page.get_by_role("row").filter(has=page.get_by_text("GET /api/auth/sessions", exact=True))
        says(guarded, words)
    visit.show("/policy/who?method=GET&path=/api/auth/sessions", "Who can")
    expect(page.get_by_role("definition").filter(has_text=words)).to_be_visible()
    house.send("DELETE", f"/api/resource/{number}")


@pytest.mark.extended
def test_requests_with_one_demand_share_a_question_over_what_is_typed(visit: Visit, house: House) -> None:
    number = house.member("prover-by-password")
    page = visit.open("/account", "Your account", "prover-by-password")
    for url in ("**/api/user/profile", "**/api/user/info"):
        refuse_once(page, url, ["password", "totp"])
    page.get_by_label("Name", exact=True).fill("Typed before the question")
    # The frame asks who the caller is while the form is sent.
    button(page, "Save").evaluate("(save) => { dispatchEvent(new Event('focus')); save.click(); }")
    asked = question(page)
    expect(asked).to_have_count(1)
    says(asked, "This requires a sign-in in the last 15 minutes.")
    asked.get_by_label("Password").fill("wrong")
    button(asked, "Confirm").click()
    says(asked, REFUSED)
    visit.axe()
    asked.get_by_label("Password").fill(ADMINISTRATOR_PASSWORD)
    button(asked, "Confirm").click()
    expect(page.get_by_role("status").get_by_text("Saved.")).to_be_visible()
    expect(asked).to_have_count(0)
    assert house.send("GET", f"/api/user/{number}")["nickName"] == "Typed before the question"


@pytest.mark.extended
def test_a_page_that_can_ask_for_no_passkey_offers_none(visit: Visit) -> None:
    page = visit.open("/account", "Your account")
    asked = question(page)
    refuse_once(page, "**/api/auth/sessions", ["passkey", "totp"])
    page.evaluate(SESSIONS)
    expect(asked.get_by_label("Authenticator code")).to_be_focused()
    expect(button(asked, "Use a recovery code")).to_have_count(0)
    expect(button(asked, "Use a passkey")).to_have_count(0)
    button(asked, "Cancel").click()
    visit.show("/account", "Your account")
    refuse_once(page, "**/api/auth/sessions", ["passkey"])
    page.evaluate(SESSIONS)
    says(
        page.get_by_role("main").get_by_role("alert"),
        "Your passkey belongs to another address of this service",
    )
    expect(asked).to_have_count(0)
