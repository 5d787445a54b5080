"""Second factors in a browser: enrolled on the own account, and asked for by the page that signs in."""

import base64
import socket
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from service.features.embedded.stores import EmbeddedStores
from service.features.second_factors import totp
from tests.console.house import House
from tests.console.visits import Visit, new_context, settled
from tests.support.chromium import chromium
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

FREE = "UPDATE sys.user_factor SET last_step = NULL"
INITIAL = "UPDATE sys.user SET password_initial = %s WHERE user_name = %s"
OWN = "seven wary herons at dusk"


@pytest.fixture(scope="module")
def local(stores: EmbeddedStores, published_template: str, _closed: None) -> Iterator[House]:
    """A house at http://localhost, which may have passkeys, and where passwords can be initial."""
    chromium()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    house = House(
        stores,
        published_template,
        *("--port", port),
        PORTCULLIS_SERVER__PUBLIC_URL=f"http://localhost:{port}",
        PORTCULLIS_PASSWORD__INITIAL="true",
    )
    try:
        house.browser = House.of(stores, published_template).browser
        yield house
    finally:
        house.end()


@pytest.fixture
def visit(local: House) -> Iterator[Visit]:
    """A browser with an authenticator that holds passkeys, and whose user is always there."""
    with new_context(local, local.url.replace("127.0.0.1", "localhost")) as context:
        visit = Visit(local, context)
        authenticator = context.new_cdp_session(visit.page)
        authenticator.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
        }
        authenticator.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        yield visit
        assert visit.troubles == []


def code_of(house: House, secret: str) -> str:
    """Return what the app shows now, which may be used again: nobody waits half a minute for the next."""
    house.execute(FREE)
    return totp.code_at(base64.b32decode(secret), int(time.time()) // totp.PERIOD)


def with_app(house: House, name: str) -> tuple[str, list[str]]:
    """Make a user with an authenticator app; return its secret, and the recovery codes."""
    house.member(name)
    with house.service.client() as client:
        client.headers["Authorization"] = f"Bearer {house.log_in(name)['accessToken']}"
        app = client.post("/api/user/profile/factors/totp", json={}).json()["data"]
        body = {"code": code_of(house, app["secret"])}
        answer = client.post(f"/api/user/profile/factors/totp/{app['id']}/confirm", json=body)
        return app["secret"], answer.json()["data"]["recoveryCodes"]


def first_step(visit: Visit, name: str, password: str = ADMINISTRATOR_PASSWORD) -> None:
    visit.page.get_by_label("User name").fill(name)
    visit.page.get_by_label("Password", exact=True).fill(password)
    visit.page.get_by_role("button", name="Sign in", exact=True).click()


def home(page: Page, name: str) -> None:
    """Wait until ``name`` has signed in."""
    expect(page.get_by_label(f"Signed in as {name}")).to_be_visible()
    settled(page)


def test_a_code_of_the_app_is_the_second_step_of_a_login(visit: Visit, local: House) -> None:
    secret, recovery = with_app(local, "stepping")
    visit.go()
    first_step(visit, "stepping")
    expect(visit.page.get_by_role("heading", level=2)).to_have_text("Confirm your identity")
    expect(visit.page.get_by_label("Code")).to_be_focused()
    visit.axe()
    visit.page.get_by_label("Code").fill("000 000")
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator(".field .fault")).to_contain_text("Not accepted")
    expect(visit.page.get_by_label("Code")).to_be_focused()
    visit.page.get_by_role("button", name="Start again").click()
    expect(visit.page.get_by_label("User name")).to_have_value("stepping")
    expect(visit.page.get_by_label("Password", exact=True)).to_have_value("")
    first_step(visit, "stepping")
    visit.page.get_by_label("Code").fill(code_of(local, secret))
    visit.page.keyboard.press("Enter")
    home(visit.page, "stepping")

    visit.page.reload()
    first_step(visit, "stepping")
    visit.page.get_by_role("button", name="Use a recovery code").click()
    visit.page.get_by_label("Recovery code").fill(recovery[0].lower())
    visit.page.keyboard.press("Enter")
    home(visit.page, "stepping")


def test_a_passkey_that_nobody_has_is_refused_in_words_of_its_own(visit: Visit) -> None:
    visit.go()
    visit.page.get_by_role("button", name="Sign in with a passkey").click()
    expect(visit.page.get_by_role("alert")).to_contain_text("No passkey was used")
    visit.axe()


def test_an_initial_password_is_changed_before_anything_else_is_shown(visit: Visit, local: House) -> None:
    local.member("newly")
    local.execute(INITIAL, "given", "newly")
    visit.go("/account/devices")
    first_step(visit, "newly")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("Choose your own password")
    expect(visit.page.get_by_role("navigation")).to_have_count(0)
    expect(visit.page.get_by_label("Current password")).to_be_focused()
    visit.axe()
    visit.page.get_by_label("Current password").fill(ADMINISTRATOR_PASSWORD)
    visit.page.get_by_label("New password", exact=True).fill(ADMINISTRATOR_PASSWORD)
    visit.page.get_by_label("New password again").fill(ADMINISTRATOR_PASSWORD)
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator(".field .fault").nth(1)).to_contain_text("must not be the password")
    visit.page.get_by_label("New password", exact=True).fill(OWN)
    visit.page.get_by_label("New password again").fill(OWN)
    visit.page.keyboard.press("Enter")
    home(visit.page, "newly")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("Your sessions")
    local.execute(INITIAL, None, ADMINISTRATOR)
    local.wait_for_log("operation", userName="newly", kind="UPDATE")
    refused = local.api.get("/api/operation-log/list?userName=newly&decision=deny").json()["data"]["items"]
    assert refused == []  # the console asked for nothing that was closed


def test_who_does_not_change_an_initial_password_can_sign_out(visit: Visit, local: House) -> None:
    local.member("waiting")
    local.execute(INITIAL, "given", "waiting")
    visit.go()
    first_step(visit, "waiting")
    visit.page.get_by_role("button", name="Sign out").click()
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("Sign in")


@pytest.mark.extended
def test_an_app_is_enrolled_with_recovery_codes_and_removed(visit: Visit, local: House) -> None:
    local.member("enrolling")
    visit.sign_in("enrolling", "/account")
    page, asked = visit.page, visit.page.get_by_role("dialog")
    visit.axe()
    page.get_by_role("button", name="Add an app").click()
    picture = asked.get_by_role("img", name="QR code with the secret for the app")
    assert picture.evaluate("async (image) => (await image.decode(), image.naturalWidth)") > 0
    secret = (asked.locator("code").inner_text()).replace(" ", "")
    visit.axe()
    asked.get_by_label("Code").fill("000000")
    page.keyboard.press("Enter")
    expect(asked.locator(".field .fault")).not_to_be_empty()
    asked.get_by_label("Code").fill(code_of(local, secret))
    page.keyboard.press("Enter")
    codes = page.get_by_role("dialog", name="Your recovery codes")
    expect(codes.get_by_role("listitem")).to_have_count(10)
    visit.axe()
    with page.expect_download() as saved:
        codes.get_by_role("button", name="Save as a file").click()
    assert codes.get_by_role("listitem").first.inner_text() in saved.value.path().read_text()
    codes.get_by_role("button", name="I have saved them").click()
    row = page.get_by_role("row").filter(has_text="Authenticator app")
    visit.axe()
    row.get_by_role("button", name="Remove: Authenticator app").click()
    expect(asked).to_contain_text("Your recovery codes are removed too")
    asked.get_by_role("button", name="Remove").click()
    prove(page, code_of(local, secret))
    expect(page.get_by_text("You have no second factor.")).to_be_visible()


def test_a_passkey_answers_the_question_for_a_stronger_proof(visit: Visit, local: House) -> None:
    local.member("stepping-up")
    local.execute(INITIAL, None, ADMINISTRATOR)
    resource = {"resourceName": "own", "resourceCode": "own", "method": "GET", "path": "/api/auth/sessions"}
    made = local.api.post("/api/resource", json=resource | {"assurance": "phishing-resistant"})
    assert made.status_code == 201, made.text
    page = visit.page
    visit.sign_in("stepping-up", "/account")
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_role("dialog").get_by_role("button", name="Continue").click()
    page.get_by_role("dialog").get_by_role("button", name="I have saved them").click()
    visit.go("/account/devices")
    question = page.get_by_role("dialog", name="Confirm your identity")
    expect(question).to_contain_text("This requires a passkey.")
    expect(question).not_to_contain_text("Sign out")  # nothing else would do
    question.get_by_role("button", name="Use the passkey").click()
    expect(question).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("Your sessions")
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    visit.go("/account")
    row = page.get_by_role("row").filter(has_text="My passkey")
    expect(row).not_to_contain_text("Never")
    assert local.api.delete(f"/api/resource/{made.json()['data']['id']}").status_code == 200


def prove(page: Page, code: str) -> None:
    """Answer the question for a second factor, which changes of factors demand."""
    question = page.get_by_role("dialog", name="Confirm your identity")
    question.get_by_label("Authenticator code").fill(code)
    page.keyboard.press("Enter")


@pytest.mark.parametrize(
    "helpers", ["the browser's", pytest.param("the console's", marks=pytest.mark.extended)]
)
def test_a_passkey_is_enrolled_and_signs_in_alone_and_as_second_step(
    visit: Visit, local: House, helpers: str
) -> None:
    name = f"keyed-{helpers[4:7]}"
    local.member(name)
    page = visit.page
    if helpers == "the console's":
        page.add_init_script(
            "delete PublicKeyCredential.parseRequestOptionsFromJSON;"
            "delete PublicKeyCredential.parseCreationOptionsFromJSON;"
            "delete PublicKeyCredential.prototype.toJSON;"
        )
    visit.sign_in(name, "/account")
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_role("dialog").get_by_role("button", name="Continue").click()
    codes = page.get_by_role("dialog", name="Your recovery codes")
    codes.get_by_role("button", name="I have saved them").click()
    expect(page.get_by_role("row").filter(has_text="My passkey")).to_contain_text("Never")

    page.reload()
    page.get_by_role("button", name="Sign in with a passkey").click()
    home(page, name)
    page.reload()
    first_step(visit, name)
    expect(page.get_by_role("button", name="Use the passkey")).to_be_focused()
    visit.axe()
    page.keyboard.press("Enter")
    home(page, name)
    page.get_by_role("button", name="New recovery codes").click()
    page.get_by_role("dialog").get_by_role("button", name="New recovery codes").click()
    expect(page.get_by_role("dialog", name="Your recovery codes")).to_be_visible()
