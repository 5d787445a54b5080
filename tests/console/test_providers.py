"""Signing in with a provider in a browser: the way there and back, the own origin, and a second factor."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from service.features.embedded.stores import EmbeddedStores
from tests.console.house import House
from tests.console.test_second_factors import code_of, with_app
from tests.console.test_users import button, headed
from tests.console.visits import Visit, new_context
from tests.features.oidc.conftest import provider_settings
from tests.features.oidc.hostile import HostileProvider, hostile_provider
from tests.support.chromium import chromium
from tests.support.ports import free_port
from tests.support.seeded import ADMINISTRATOR_PASSWORD

pytestmark = pytest.mark.feature("oidc")

KNOWN = (
    "INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)"
    " SELECT 'good', %s, %s, id, false FROM sys.user WHERE user_name = '{}'"
)

NO_STORAGE = """
for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, {
  get() { throw new DOMException("The operation is insecure.", "SecurityError"); },
});
"""


@dataclass
class Site:
    """A house where people sign in with a provider, and a browser there."""

    house: House
    visit: Visit
    provider: HostileProvider
    cookies: bool

    def arrive(self, address: str = "/") -> None:
        """Sign in with the provider, and wait for the first view."""
        self.visit.go(address)
        button(self.visit.page, "Sign in with Example Inc.").click()
        expect(self.visit.page.get_by_role("navigation").first).to_be_visible()


@pytest.fixture(scope="module", params=["cookies", pytest.param("tokens", marks=pytest.mark.extended)])
def served(
    request: pytest.FixtureRequest, stores: EmbeddedStores, published_template: str, _closed: None
) -> Iterator[tuple[House, HostileProvider]]:
    """A house with a provider, in cookie mode or without."""
    chromium()
    port = str(free_port())
    with hostile_provider() as provider:
        cookies = {"PORTCULLIS_AUTH__IS_READ_COOKIE": "true", "PORTCULLIS_AUTH__COOKIE_SECURE": "false"}
        house = House(
            stores,
            published_template,
            *("--port", port),
            PORTCULLIS_SERVER__PUBLIC_URL=f"http://localhost:{port}",
            PORTCULLIS_OIDC__PROVIDERS=json.dumps(
                [provider_settings(provider, "good", title="Example Inc.")]
            ),
            **(cookies if request.param == "cookies" else {}),
        )
        try:
            house.browser = House.of(stores, published_template).browser
            yield house, provider
        finally:
            house.end()


@pytest.fixture
def site(served: tuple[House, HostileProvider], request: pytest.FixtureRequest) -> Iterator[Site]:
    """A browser at that house; nobody has signed in there, and the provider is honest."""
    house, provider = served
    provider.reset()
    with new_context(house, house.url.replace("127.0.0.1", "localhost")) as context:
        visit = Visit(house, context)
        yield Site(house, visit, provider, request.node.callspec.params["served"] == "cookies")
        assert visit.troubles == []


def test_somebody_signs_in_sees_where_from_and_keeps_the_last_way_in(site: Site) -> None:
    site.visit.go("/account")
    expect(button(site.visit.page, "Sign in with Example Inc.")).to_be_visible()
    site.visit.axe()
    site.arrive("/account")
    page = site.visit.page
    headed(page, "Your account")
    assert "?" not in page.url
    card = page.get_by_role("table", name="Sign-in with providers")
    expect(card).to_contain_text(site.provider.subject)
    expect(card).to_contain_text("This session")
    site.visit.axe()
    button(card, "Unlink: Example Inc.").click()
    dialog = page.get_by_role("dialog", name="Unlink your account from Example Inc.?")
    button(dialog, "Unlink").click()
    expect(dialog.get_by_role("alert")).to_contain_text("This is your only way to sign in")
    button(dialog, "Cancel").click()
    expect(card).to_contain_text(site.provider.subject)


def test_where_the_browser_stores_nothing_a_sign_in_says_so_and_does_not_begin(site: Site) -> None:
    page = site.visit.page
    page.add_init_script(NO_STORAGE)
    site.visit.go("/account")
    page.reload()
    button(page, "Sign in with Example Inc.").click()
    if site.cookies:  # nothing has to be stored
        headed(page, "Your account")
        return
    dialog = page.get_by_role("dialog", name="The sign-in could not start")
    expect(dialog.get_by_role("alert")).to_contain_text("This browser blocks site storage")
    assert page.url.startswith(site.house.url.replace("127.0.0.1", "localhost"))


@pytest.mark.extended
def test_a_member_links_the_own_account_and_unlinks_it(site: Site) -> None:
    site.house.member("godwit")
    site.visit.sign_in_by_hand("godwit", "/account")
    page = site.visit.page
    button(page, "Link with Example Inc.").click()
    card = page.get_by_role("table", name="Sign-in with providers")
    expect(card).to_contain_text(site.provider.subject)
    button(card, "Unlink: Example Inc.").click()
    button(page.get_by_role("dialog"), "Unlink").click()
    expect(button(page, "Link with Example Inc.")).to_be_visible()


def test_who_has_a_second_factor_here_is_asked_for_it_after_the_provider(site: Site) -> None:
    secret, _ = with_app(site.house, "curlew")
    site.house.execute(KNOWN.format("curlew"), site.provider.url, site.provider.subject)
    page = site.visit.page
    site.visit.go("/account")
    button(page, "Sign in with Example Inc.").click()
    page.get_by_label("Code").fill(code_of(site.house, secret))
    button(page, "Sign in").click()
    headed(page, "Your account")


@pytest.mark.extended
def test_a_challenge_in_the_address_is_answered_and_leads_on(site: Site) -> None:
    secret, _ = with_app(site.house, "snipe")
    with site.house.service.client() as client:
        sent = {"userName": "snipe", "password": ADMINISTRATOR_PASSWORD, "device": "console-x"}
        challenge = client.post("/api/auth/login", json=sent).json()["challenge"]
    page = site.visit.page
    page.goto(f"/console#/sign-in?challenge={challenge}&next=%2Fconsole%23%2Faccount")
    page.get_by_label("Code").fill(code_of(site.house, secret))
    assert challenge not in page.url
    button(page, "Sign in").click()
    headed(page, "Your account")
    page.goto("about:blank")  # so that the next address is loaded, and not only moved to
    page.goto(f"/console#/sign-in?challenge={challenge}&next=https%3A%2F%2Fevil.example%2F")
    expect(page.get_by_role("alert")).to_contain_text("failed")
    assert page.url.endswith("/console#/")


def test_a_sign_in_that_failed_is_told_in_a_sentence_and_a_password_still_works(site: Site) -> None:
    site.visit.page.goto("/console?error=sign_in_failed#/account")
    page = site.visit.page
    expect(page.get_by_role("alert")).to_contain_text("The sign-in with the provider failed")
    assert "error" not in page.url
    site.visit.axe()
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password", exact=True).fill(ADMINISTRATOR_PASSWORD)
    button(page, "Sign in").click()
    headed(page, "Your account")


@pytest.mark.extended
def test_who_came_from_a_provider_proves_there_what_is_demanded(site: Site) -> None:
    site.house.member("goldeneye")
    site.house.execute(KNOWN.format("goldeneye"), site.provider.url, site.provider.subject)
    site.provider.changes = {"auth_time": int(time.time()) - 3600}  # too old to unlink
    site.arrive("/account")
    page = site.visit.page
    button(page, "Unlink: Example Inc.").click()
    button(page.get_by_role("dialog"), "Unlink").click()
    proof = page.get_by_role("dialog", name="Confirm your identity")
    expect(proof).to_contain_text("You leave this page")
    site.visit.axe()
    site.provider.changes = {}
    with page.expect_navigation(url="**/console**"):
        button(proof, "Confirm at Example Inc.").click()
    headed(page, "Your account")
    button(page, "Unlink: Example Inc.").click()
    button(page.get_by_role("dialog"), "Unlink").click()
    expect(button(page, "Link with Example Inc.")).to_be_visible()
