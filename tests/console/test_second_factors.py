"""Second factors in a browser: enrolled on the own account, and asked for by the page that signs in."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.console.acts import button, follow, headed, row, says
from tests.console.house import House
from tests.console.visits import Visit, settled
from tests.support.seeded import ADMINISTRATOR_PASSWORD

INITIAL = "UPDATE sys.user SET password_initial = 'given' WHERE user_name = %s"
OWN = "seven wary herons at dusk"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}
"""Holds passkeys, and its user is always there."""


@pytest.fixture
def house(local: House) -> House:
    """These tests need passkeys and initial passwords."""
    return local


@pytest.fixture
def keyed(visit: Visit) -> Iterator[Visit]:
    """A browser with an authenticator."""
    authenticator = visit.context.new_cdp_session(visit.page)
    authenticator.send("WebAuthn.enable")
    authenticator.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    yield visit
    authenticator.send("WebAuthn.disable")
    authenticator.detach()


def first_step(page: Page, name: str, password: str = ADMINISTRATOR_PASSWORD) -> None:
    """Send a user name and a password on the page that asks for them."""
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    button(page, "Sign in").click()


def answer(page: Page, label: str, text: str) -> None:
    """Type into the field that is asked for, and send it."""
    page.get_by_label(label).fill(text)
    page.keyboard.press("Enter")


def home(page: Page, name: str) -> None:
    """Wait until ``name`` has signed in."""
    expect(page.get_by_label(f"Signed in as {name}")).to_be_visible()
    settled(page)


def test_a_code_of_the_app_or_a_recovery_code_is_the_second_step(visit: Visit, house: House) -> None:
    house.member("stepping")
    secret, recovery = house.enrol("stepping")
    page = visit.page
    visit.go()
    first_step(page, "stepping")
    expect(page.get_by_role("heading", level=2)).to_have_text("Confirm your identity")
    expect(page.get_by_label("Code")).to_be_focused()
    visit.axe()
    answer(page, "Code", "000 000")
    says(page.locator(".field .fault"), "Not accepted")
    expect(page.get_by_label("Code")).to_be_focused()
    button(page, "Start again").click()
    expect(page.get_by_label("User name")).to_have_value("stepping")
    expect(page.get_by_label("Password", exact=True)).to_have_value("")
    first_step(page, "stepping")
    answer(page, "Code", last := house.code_of(secret))
    home(page, "stepping")

    page.reload()
    first_step(page, "stepping")
    answer(page, "Code", last)
    says(page.locator(".field .fault"), "was used already. Wait for the next one")
    button(page, "Use a recovery code").click()
    answer(page, "Recovery code", recovery[0].lower())
    home(page, "stepping")


def test_an_initial_password_is_changed_before_all_but_signing_out(visit: Visit, house: House) -> None:
    house.member("newly")
    house.execute(INITIAL, "newly")
    page = visit.page
    visit.go("/account/devices")
    first_step(page, "newly")
    follow(page, "Sign out", "Sign in")
    first_step(page, "newly")
    headed(page, "Choose your own password")
    expect(page.get_by_role("navigation")).to_have_count(0)
    expect(page.get_by_label("Current password")).to_be_focused()
    visit.axe()
    page.get_by_label("Current password").fill(ADMINISTRATOR_PASSWORD)
    page.get_by_label("New password", exact=True).fill(ADMINISTRATOR_PASSWORD)
    answer(page, "New password again", ADMINISTRATOR_PASSWORD)
    says(page.locator(".field .fault").nth(1), "must differ from the current password")
    page.get_by_label("New password", exact=True).fill(OWN)
    answer(page, "New password again", OWN)
    home(page, "newly")
    headed(page, "Your sessions")
    house.wait_for_log("operation", userName="newly", kind="UPDATE")
    refused = house.items("operation-log", userName="newly", decision="deny")
    assert refused == []  # the console asked for nothing that was closed


@pytest.mark.extended
def test_an_app_is_enrolled_with_recovery_codes_and_removed(visit: Visit, house: House) -> None:
    house.member("enrolling")
    page = visit.open("/", name="enrolling")
    page.get_by_label("Signed in as enrolling").click()
    page.get_by_role("link", name="Authenticator app, passkeys").click()
    headed(page, "Your account")
    asked = page.get_by_role("dialog")
    button(page, "Add an authenticator app").click()
    picture = asked.get_by_role("img", name="QR code with the secret for the app")
    assert picture.evaluate("async (image) => (await image.decode(), image.naturalWidth)") > 0
    secret = (asked.locator("code").inner_text()).replace(" ", "")
    visit.axe()
    answer(page, "Code", "000000")
    expect(asked.locator(".field .fault")).not_to_be_empty()
    answer(page, "Code", house.code_of(secret))
    codes = page.get_by_role("dialog", name="Your recovery codes")
    expect(codes.get_by_role("listitem")).to_have_count(10)
    visit.axe()
    with page.expect_download() as saved:
        button(codes, "Save as a file").click()
    assert codes.get_by_role("listitem").first.inner_text() in saved.value.path().read_text()
    button(codes, "I have saved them").click()
    expect(row(page, "Authenticator app")).to_be_visible()
    visit.axe()
    button(page, "Remove: Authenticator app").click()
    says(asked, "Your recovery codes are removed too")
    button(asked, "Remove").click()
    answer(page, "Authenticator code", house.code_of(secret))
    expect(page.get_by_text("You have no second factor.")).to_be_visible()


def add_passkey(page: Page) -> None:
    """Add a passkey to the account that is shown, the first factor of its user."""
    button(page, "Add a passkey").click()
    button(page.get_by_role("dialog"), "Continue").click()
    button(page.get_by_role("dialog"), "I have saved them").click()
    says(row(page, "My passkey"), "Never")


def test_a_passkey_answers_the_question_for_a_stronger_proof(keyed: Visit, house: House) -> None:
    house.member("stepping-up")
    resource = {"resourceName": "own", "resourceCode": "own", "method": "GET", "path": "/api/auth/sessions"}
    number = house.make("resource", **resource, assurance="phishing-resistant")
    page = keyed.open("/account", "Your account", "stepping-up")
    add_passkey(page)
    keyed.go("/account/devices")
    question = page.get_by_role("dialog", name="Confirm your identity")
    says(question, "This requires a passkey.")
    expect(question).not_to_contain_text("Sign out")  # nothing else would do
    button(question, "Use the passkey").click()
    expect(question).to_have_count(0)
    headed(page, "Your sessions")
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    keyed.show("/account", "Your account")
    expect(row(page, "My passkey")).not_to_contain_text("Never")
    house.send("DELETE", f"/api/resource/{number}")


def enrol_and_sign_in(keyed: Visit, house: House, name: str) -> None:
    """Enrol a passkey, and sign in by it alone and as the second step."""
    house.member(name)
    page = keyed.page
    keyed.sign_in(name, "/account")
    add_passkey(page)
    page.reload()
    button(page, "Sign in with a passkey").click()
    home(page, name)
    page.reload()
    first_step(page, name)
    expect(button(page, "Use the passkey")).to_be_focused()
    keyed.axe()
    page.keyboard.press("Enter")
    home(page, name)


def test_a_passkey_is_enrolled_and_signs_in_alone_and_as_second_step(keyed: Visit, house: House) -> None:
    page = keyed.page
    keyed.go()
    button(page, "Sign in with a passkey").click()
    says(page.get_by_role("alert"), "No passkey was used")  # in words of its own
    enrol_and_sign_in(keyed, house, "keyed-anew")
    button(page, "New recovery codes").click()
    button(page.get_by_role("dialog"), "New recovery codes").click()
    expect(page.get_by_role("dialog", name="Your recovery codes")).to_be_visible()


@pytest.mark.extended
def test_a_browser_without_helpers_for_passkeys_signs_in_by_them_too(newcomer: Visit, house: House) -> None:
    newcomer.page.add_init_script(
        "delete PublicKeyCredential.parseRequestOptionsFromJSON;"
        "delete PublicKeyCredential.parseCreationOptionsFromJSON;"
        "delete PublicKeyCredential.prototype.toJSON;"
    )
    authenticator = newcomer.context.new_cdp_session(newcomer.page)
    authenticator.send("WebAuthn.enable")
    authenticator.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    enrol_and_sign_in(newcomer, house, "keyed-by-hand")
