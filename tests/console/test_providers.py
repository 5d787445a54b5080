"""Signing in with a provider in a browser: the way there and back, the own origin, and a second factor."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from service.features.embedded.stores import EmbeddedStores
from tests.console.acts import button, follow, headed, says
from tests.console.house import House
from tests.console.test_second_factors import first_step
from tests.console.visits import Visit
from tests.features.oidc.conftest import provider_settings
from tests.features.oidc.hostile import HostileProvider, hostile_provider
from tests.support.chromium import chromium

pytestmark = pytest.mark.feature("oidc")

KNOWN = (
    "INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)"
    " SELECT 'good', %s, %s, id, false FROM sys.user WHERE user_name = %s"
)
COOKIES = {"PORTCULLIS_AUTH__IS_READ_COOKIE": "true", "PORTCULLIS_AUTH__COOKIE_SECURE": "false"}
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

    @property
    def page(self) -> Page:
        """The page of the browser."""
        return self.visit.page

    def leave_for_provider(self) -> None:
        """Ask for a view, and choose the provider on the page that asks for a login."""
        self.visit.go("/account")
        button(self.page, "Sign in with Example Inc.").click()

    def know(self, name: str) -> None:
        """Let the account at the provider belong to a user."""
        self.house.execute(KNOWN, self.provider.url, self.provider.subject, name)


@pytest.fixture(scope="module", params=["cookies", pytest.param("tokens", marks=pytest.mark.extended)])
def served(
    request: pytest.FixtureRequest, stores: EmbeddedStores, published_template: str, _closed: None
) -> Iterator[tuple[House, HostileProvider]]:
    """A house with a provider, in cookie mode or without."""
    chromium()
    with hostile_provider() as provider:
        settings = {
            "PORTCULLIS_OIDC__PROVIDERS": json.dumps(
                [provider_settings(provider, "good", title="Example Inc.")]
            )
        }
        settings |= COOKIES if request.param == "cookies" else {}
        house = House.at_localhost(stores, published_template, **settings)
        try:
            yield house, provider
        finally:
            house.end()


@pytest.fixture
def house(served: tuple[House, HostileProvider]) -> House:
    """These tests need a provider, which is honest at first."""
    served[1].reset()
    return served[0]


@pytest.fixture
def site(house: House, newcomer: Visit, served: tuple[House, HostileProvider]) -> Site:
    """A browser at that house, which has no session and no cookie."""
    return Site(house, newcomer, served[1])


def test_a_user_signs_in_sees_where_from_and_keeps_the_last_way_in(site: Site) -> None:
    page = site.page
    page.goto("/console?error=sign_in_failed#/account")
    says(page.get_by_role("alert"), "The sign-in with the provider failed")
    assert "error" not in page.url
    site.visit.axe()
    button(page, "Sign in with Example Inc.").click()  # it may work now
    headed(page, "Your account")
    assert "?" not in page.url
    card = page.get_by_role("table", name="Sign-in with providers")
    says(card, site.provider.subject, "This session")
    site.visit.axe()
    button(card, "Unlink: Example Inc.").click()
    dialog = page.get_by_role("dialog", name="Unlink your account from Example Inc.?")
    button(dialog, "Unlink").click()
    says(dialog.get_by_role("alert"), "This is your only way to sign in")
    button(dialog, "Cancel").click()
    says(card, site.provider.subject)


def test_where_the_browser_stores_nothing_a_sign_in_says_so_unless_it_needs_no_storage(
    site: Site, request: pytest.FixtureRequest
) -> None:
    page = site.page
    page.add_init_script(NO_STORAGE)
    site.leave_for_provider()
    if request.node.callspec.params["served"] == "cookies":
        headed(page, "Your account")
        return
    dialog = page.get_by_role("dialog", name="The sign-in could not start")
    says(dialog.get_by_role("alert"), "This browser blocks site storage")
    assert page.url.startswith(site.house.address)


def test_users_with_a_second_factor_here_are_asked_for_it_after_the_provider(site: Site) -> None:
    site.house.member("curlew")
    secret, _ = site.house.enrol("curlew")
    site.know("curlew")
    site.leave_for_provider()
    site.page.get_by_label("Code").fill(site.house.code_of(secret))
    button(site.page, "Sign in").click()
    headed(site.page, "Your account")


@pytest.mark.extended
def test_a_member_links_the_own_account_and_unlinks_it(site: Site) -> None:
    site.house.member("godwit")
    site.visit.sign_in_by_hand("godwit", "/account")
    page = site.page
    button(page, "Link to Example Inc.").click()
    card = page.get_by_role("table", name="Sign-in with providers")
    says(card, site.provider.subject)
    button(card, "Unlink: Example Inc.").click()
    button(page.get_by_role("dialog"), "Unlink").click()
    expect(button(page, "Link to Example Inc.")).to_be_visible()


@pytest.mark.extended
def test_a_challenge_in_the_address_is_answered_and_leads_on_but_to_no_other_site(site: Site) -> None:
    site.house.member("snipe")
    secret, _ = site.house.enrol("snipe")
    challenge = site.house.try_to_log_in("snipe").json()["challenge"]
    page = site.page
    page.goto(f"/console#/sign-in?challenge={challenge}&next=%2Fconsole%23%2Faccount")
    page.get_by_label("Code").fill(site.house.code_of(secret))
    assert challenge not in page.url
    follow(page, "Sign in", "Your account")
    page.goto("about:blank")  # so that the next address is loaded, and not only moved to
    page.goto(f"/console#/sign-in?challenge={challenge}&next=https%3A%2F%2Fevil.example%2F")
    says(page.get_by_role("alert"), "failed")
    assert page.url.endswith("/console#/")


@pytest.mark.extended
def test_a_sign_in_that_failed_leaves_the_password_as_a_way(site: Site) -> None:
    site.page.goto("/console?error=sign_in_failed#/account")
    first_step(site.page, "admin")
    headed(site.page, "Your account")


@pytest.mark.extended
def test_a_user_from_a_provider_proves_there_what_is_demanded(site: Site) -> None:
    site.house.member("goldeneye")
    site.know("goldeneye")
    site.provider.changes = {"auth_time": int(time.time()) - 3600}  # too old to unlink
    site.leave_for_provider()
    page = site.page
    headed(page, "Your account")
    button(page, "Unlink: Example Inc.").click()
    button(page.get_by_role("dialog"), "Unlink").click()
    proof = page.get_by_role("dialog", name="Confirm your identity")
    says(proof, "You leave this page")
    site.visit.axe()
    site.provider.changes = {}
    with page.expect_navigation(url="**/console**"):
        button(proof, "Confirm at Example Inc.").click()
    headed(page, "Your account")
    button(page, "Unlink: Example Inc.").click()
    button(page.get_by_role("dialog"), "Unlink").click()
    expect(button(page, "Link to Example Inc.")).to_be_visible()
