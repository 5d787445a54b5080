"""A demand that the session does not meet: the console asks for a proof, and sends the request again."""

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from service.features.second_factors import totp
from tests.console.house import House
from tests.console.test_session import requests
from tests.console.test_users import button, headed
from tests.console.visits import Visit
from tests.support.seeded import ADMINISTRATOR_PASSWORD

GUARDED = "/api/auth/sessions"


@dataclass
class Guarded:
    """A user whose own sessions are shown after a demand, and who may have enrolled an app."""

    visit: Visit
    name: str
    token: str

    @property
    def dialog(self) -> Locator:
        """The question for a proof."""
        return self.visit.page.get_by_role("dialog", name="Confirm your identity")

    def enrol(self) -> list[str]:
        """Enrol an app, and return the recovery codes."""
        house, headers = self.visit.house, {"Authorization": f"Bearer {self.token}"}
        with house.service.client() as client:
            app = client.post("/api/user/profile/factors/totp", json={}, headers=headers).json()["data"]
            code = totp.code_at(base64.b32decode(app["secret"]), int(time.time()) // totp.PERIOD)
            confirmed = client.post(
                f"/api/user/profile/factors/totp/{app['id']}/confirm", json={"code": code}, headers=headers
            )
        assert confirmed.status_code == 200, confirmed.text
        codes: list[str] = confirmed.json()["data"]["recoveryCodes"]
        return codes

    def look(self) -> None:
        """Go to the sessions."""
        self.visit.page.evaluate("location.hash = '/account/devices'")


@pytest.fixture
def guarded(request: pytest.FixtureRequest, visit: Visit, house: House) -> Iterator[Guarded]:
    """A user on their own account, and a demand of two factors on the list of their sessions."""
    name = f"prover-{request.node.name.split('_')[1]}-{len(request.node.name)}"
    house.member(name)
    token = house.log_in(name)["accessToken"]
    visit.sign_in(name, "/account")
    made = {"resourceName": name, "resourceCode": name, "method": "GET", "path": GUARDED}
    answer = house.api.post("/api/resource", json=made | {"assurance": "two-factors"})
    assert answer.status_code == 201, answer.text
    yield Guarded(visit, name, token)
    assert house.api.delete(f"/api/resource/{answer.json()['data']['id']}").status_code == 200


def refuse_once(page: Page, url: str, methods: list[str]) -> None:
    """Answer the next request to ``url`` as one that demands a recent login."""
    refusal = {
        "code": "insufficient_user_authentication",
        "title": "A stronger or more recent authentication is needed",
        "layer": "assurance",
        "required": ["@login-within-15m"],
        "methods": methods,
    }

    def answer(route: Route) -> None:
        route.fulfill(status=401, content_type="application/problem+json", body=json.dumps(refusal))

    page.route(url, answer, times=1)


def test_a_refusal_asks_for_a_proof_and_the_request_is_sent_again(guarded: Guarded) -> None:
    codes = guarded.enrol()
    page, asked = guarded.visit.page, guarded.dialog
    other = guarded.visit.tab()
    other.go("/account")
    headed(other.page, "Your account")
    refreshes = requests(guarded.visit, "/auth/refresh")
    guarded.look()
    expect(asked).to_contain_text("This requires two factors.")
    expect(asked.get_by_label("Authenticator code")).to_be_focused()
    guarded.visit.picture("step-up")
    asked.get_by_label("Authenticator code").fill("000000")
    button(asked, "Confirm").click()
    expect(asked).to_contain_text("Not accepted: it is wrong, already used, or expired.")
    expect(asked.get_by_label("Authenticator code")).to_be_focused()
    button(asked, "Use a recovery code").click()
    expect(asked.get_by_label("Recovery code")).to_be_focused()
    asked.get_by_label("Recovery code").fill(codes[0])
    page.keyboard.press("Enter")
    headed(page, "Your sessions")
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    expect(asked).to_have_count(0)
    # The other tab has the new tokens too, and no refresh was needed.
    other.page.evaluate("location.hash = '/account/devices'")
    expect(other.page.get_by_role("row").nth(1)).to_be_visible()
    assert refreshes == []
    assert other.troubles == []


def test_cancelling_the_question_shows_the_refusal(guarded: Guarded) -> None:
    guarded.enrol()
    page = guarded.visit.page
    guarded.look()
    button(guarded.dialog, "Cancel").click()
    refusal = page.get_by_role("main").get_by_role("alert")
    expect(refusal).to_contain_text("This requires two factors.")
    expect(refusal.locator(".request")).to_contain_text("401 insufficient_user_authentication")
    guarded.visit.axe()


def test_who_has_no_factor_is_told_to_add_one_first(guarded: Guarded) -> None:
    page = guarded.visit.page
    guarded.look()
    refusal = page.get_by_role("main").get_by_role("alert")
    expect(refusal).to_contain_text("This requires two factors.")
    expect(guarded.dialog).to_have_count(0)
    refusal.get_by_role("link", name="Add a second factor to your account first").click()
    headed(page, "Your account")


@pytest.mark.extended
def test_an_administrator_looks_at_factors_and_resets_them(visit: Visit, house: House) -> None:
    number = house.member("factored")
    Guarded(visit, "factored", house.log_in("factored")["accessToken"]).enrol()
    page = visit.page
    visit.sign_in(address="/users?secondFactor=true&userName=factored")
    page.get_by_role("link", name="factored").first.click()
    page.get_by_role("link", name="Second factors").click()
    expect(page.get_by_role("row")).to_have_count(3)  # the app and the recovery codes, below the head
    expect(page.get_by_role("row").nth(1)).to_contain_text("Authenticator app")
    visit.axe()
    button(page, "Reset the second factors").click()
    asked = page.get_by_role("dialog", name="Reset the second factors of factored?")
    expect(asked).to_contain_text("The password alone signs in")
    button(asked, "Reset the second factors").click()
    expect(
        page.get_by_text("This user has no second factors and signs in with the password alone.")
    ).to_be_visible()
    assert house.api.get(f"/api/user/{number}/factors").json()["data"]["items"] == []


@pytest.mark.extended
def test_a_demand_is_set_on_a_resource_and_explained(visit: Visit, house: House) -> None:
    made = {"resourceName": "Grebes", "resourceCode": "grebes", "method": "GET", "path": "/api/auth/sessions"}
    number = house.api.post("/api/resource", json=made).json()["data"]["id"]
    page = visit.page
    visit.sign_in(address=f"/resources/{number}/edit")
    page.get_by_label("Required sign-in").select_option("Two factors in the last 15 minutes")
    button(page, "Save").click()
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text("needs two factors in the last 15 minutes as authentication")
    button(asked, "Save").click()
    headed(page, "Grebes")
    expect(page.get_by_role("main")).to_contain_text("two factors in the last 15 minutes")
    visit.axe()
    page.evaluate("location.hash = '/policy/explain?userName=admin&method=GET&path=/api/auth/sessions'")
    step = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Authentication Not met"))
    words = "two factors in the last 15 minutes"
    expect(step).to_contain_text(f"resource GET /api/auth/sessions: {words} Not met")
    drawing = page.get_by_role("img", name="Path from admin to GET /api/auth/sessions: Refused")
    expect(drawing.locator(".box.bad")).to_have_count(2)  # the proof, and so the request
    page.get_by_text("Show as table").click()
    expect(page.get_by_role("row", name=f"admin ✗ Authentication {words}: Not met")).to_be_visible()
    visit.axe()
    for address, title in (
        ("matrix?object=auth/sessions", "Matrix"),
        ("openings", "Public access"),
        ("what?userName=admin&needs=login", "What can"),
    ):
        visit.go(f"/policy/{address}")
        headed(page, title)
        row = page.get_by_role("row").filter(has=page.get_by_text("GET /api/auth/sessions", exact=True))
        expect(row).to_contain_text(words)
    visit.go("/policy/who?method=GET&path=/api/auth/sessions")
    expect(page.get_by_role("definition").filter(has_text=words)).to_be_visible()
    assert house.api.delete(f"/api/resource/{number}").status_code == 200


@pytest.mark.extended
def test_requests_with_one_demand_share_a_question_over_what_is_typed(visit: Visit, house: House) -> None:
    number = house.member("prover-by-password")
    visit.sign_in("prover-by-password", "/account")
    page = visit.page
    for url in ("**/api/user/profile", "**/api/user/info"):
        refuse_once(page, url, ["password", "totp"])
    page.get_by_label("Name", exact=True).fill("Typed before the question")
    # The frame asks who the caller is while the form is sent.
    save = "(button) => { dispatchEvent(new Event('focus')); button.click(); }"
    button(page, "Save").evaluate(save)
    asked = page.get_by_role("dialog", name="Confirm your identity")
    expect(asked).to_have_count(1)
    expect(asked).to_contain_text("This requires a sign-in in the last 15 minutes.")
    asked.get_by_label("Password").fill("wrong")
    button(asked, "Confirm").click()
    expect(asked).to_contain_text("Not accepted: it is wrong, already used, or expired.")
    visit.axe()
    asked.get_by_label("Password").fill(ADMINISTRATOR_PASSWORD)
    button(asked, "Confirm").click()
    expect(page.get_by_role("status").get_by_text("Saved.")).to_be_visible()
    expect(asked).to_have_count(0)
    saved = house.api.get(f"/api/user/{number}").json()["data"]
    assert saved["nickName"] == "Typed before the question"


@pytest.mark.extended
def test_a_page_that_can_ask_for_no_passkey_offers_none(visit: Visit) -> None:
    page = visit.page
    visit.sign_in()
    asked = page.get_by_role("dialog", name="Confirm your identity")
    refuse_once(page, "**/api/auth/sessions", ["passkey", "totp"])
    page.evaluate("location.hash = '/account/devices'")
    expect(asked.get_by_label("Authenticator code")).to_be_focused()
    expect(button(asked, "Use a recovery code")).to_have_count(0)
    expect(button(asked, "Use a passkey")).to_have_count(0)
    button(asked, "Cancel").click()
    page.evaluate("location.hash = '/account'")
    headed(page, "Your account")
    refuse_once(page, "**/api/auth/sessions", ["passkey"])
    page.evaluate("location.hash = '/account/devices'")
    refusal = page.get_by_role("main").get_by_role("alert")
    expect(refusal).to_contain_text("Your passkey belongs to another address of this service")
    expect(asked).to_have_count(0)
