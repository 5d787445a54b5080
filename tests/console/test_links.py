"""What the links in mails lead to, from a real mail server's mailbox to the first screen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from service.features.embedded.stores import EmbeddedStores
from tests.console.acts import button, follow, headed, row, says
from tests.console.house import House
from tests.console.test_second_factors import answer, first_step, home
from tests.console.visits import Visit
from tests.support.seeded import ADMINISTRATOR_PASSWORD

OWN = "seven wary herons at dusk"
NEW = "eight wary herons at dawn"
CONFIRMED = "UPDATE sys.user SET email = %s, recovery_email = %s WHERE user_name = %s"
TOKEN = "x" * 43
BROKEN = (
    "/console#/invitation?token=cut-off",
    "/console#/password-reset",
    f"/console#/address%3Ftoken%3D{TOKEN}",
    f"/console#%2Finvitation%3Ftoken%3D{TOKEN}",
    f"/console#/end-sessions?token={TOKEN}%3D",
    f"/console%23/invitation?token={TOKEN}",
)
"""Links that a mail program has cut or encoded."""


@pytest.fixture
def house(local: House) -> House:
    """These tests need a service that sends mail."""
    return local


def mailed(house: House, address: str, page: str) -> str:
    """Return the link to ``page`` in the next mail to ``address``."""
    assert house.mailbox is not None
    return house.mailbox.link(address, page)


def choose_password(page: Page, password: str) -> None:
    """Set a password on the page of a link, whose token is in no address any more."""
    expect(page.get_by_label("New password", exact=True)).to_be_focused()
    assert "token" not in page.url
    page.get_by_label("New password", exact=True).fill(password)
    answer(page, "New password again", password)


def test_a_user_invited_by_mail_sets_a_password_adds_an_app_and_sees_the_first_screen(
    visitor: Callable[[], Visit], house: House
) -> None:
    author, owner = visitor(), visitor()
    page, theirs = author.open("/users/new", "New user"), owner.page
    page.get_by_label("User name").fill("lapwing")
    page.get_by_label("Name", exact=True).fill("Lapwing")
    page.get_by_label("Email").fill("lapwing@example.com")
    button(page, "Create").click()
    expect(page.get_by_text("An invitation was sent to lapwing.")).to_be_visible()
    expect(page.get_by_text("No password yet", exact=True)).to_be_visible()

    theirs.goto(mailed(house, "lapwing@example.com", "invitation"))
    headed(theirs, "Welcome")
    owner.axe()
    choose_password(theirs, OWN)
    expect(theirs.get_by_text("Your password is set.")).to_be_visible()
    button(theirs, "Go to the sign-in page").click()
    first_step(theirs, "lapwing", OWN)
    home(theirs, "Lapwing")
    owner.show("/account", "Your account")
    button(theirs, "Add an authenticator app").click()
    asked = theirs.get_by_role("dialog")
    secret = asked.locator("code").inner_text().replace(" ", "")
    answer(theirs, "Code", house.code_of(secret))
    button(theirs, "I have saved them").click()
    expect(row(theirs, "Authenticator app")).to_be_visible()
    theirs.reload()
    first_step(theirs, "lapwing", OWN)
    answer(theirs, "Code", house.code_of(secret))
    home(theirs, "Lapwing")


@pytest.mark.extended
def test_a_forgotten_password_is_replaced_by_a_link_and_the_second_factor(visit: Visit, house: House) -> None:
    name, address = "whimbrel", "whimbrel@example.com"
    house.member(name)
    secret, _ = house.enrol(name)
    house.execute(CONFIRMED, address, address, name)
    page = visit.page
    visit.go()
    follow(page, "Forgot your password?", "Forgot your password?")
    visit.axe()
    answer(page, "User name", name)
    expect(page.get_by_text("a mail was sent")).to_be_visible()

    page.goto(mailed(house, address, "password-reset"))
    headed(page, "Choose a new password")
    choose_password(page, NEW)
    expect(page.get_by_label("Code")).to_be_focused()
    visit.axe()
    visit.expected.append("401")
    answer(page, "Code", "000000")
    says(page.locator(".field .fault"), "Not accepted")
    answer(page, "Code", house.code_of(secret))
    expect(page.get_by_text("Your password is set, and all sessions have ended.")).to_be_visible()
    button(page, "Go to the sign-in page").click()
    first_step(page, name, NEW)
    answer(page, "Code", house.code_of(secret))
    home(page, name)


def test_a_link_that_is_unknown_or_did_not_arrive_whole_leads_to_the_sign_in_page(visit: Visit) -> None:
    page = visit.page
    page.goto(f"/console#/invitation?token={'never-made'.ljust(43, '-')}")
    choose_password(page, NEW)
    says(page.get_by_role("alert"), "This link is no longer valid")
    visit.axe()
    for address in BROKEN:  # nothing is asked before it says so
        page.goto("about:blank")
        page.goto(address)
        headed(page, "This link is incomplete")
        expect(page.get_by_role("textbox")).to_have_count(0)
        assert "token" not in page.url
    visit.axe()
    follow(page, "Go to the sign-in page", "Sign in")


@pytest.mark.extended
def test_where_no_mail_is_sent_the_link_of_an_invitation_is_shown_to_be_handed_over(
    stores: EmbeddedStores, published_template: str, newcomer: Visit
) -> None:
    newcomer.house = House.of(stores, published_template)
    page = newcomer.page
    page.goto(f"{newcomer.house.url}/console#/users/new")
    expect(page.get_by_role("link", name="Forgot your password?")).to_have_count(0)
    first_step(page, "admin")
    headed(page, "New user")
    page.get_by_label("User name").fill("handover")
    page.get_by_label("Name", exact=True).fill("Handover")
    button(page, "Create").click()
    shown = page.get_by_role("dialog", name="Invitation of handover")
    newcomer.axe()
    page.goto(shown.get_by_role("textbox").input_value())
    choose_password(page, OWN)
    expect(page.get_by_text("Your password is set.")).to_be_visible()


@pytest.mark.extended
def test_the_own_address_is_confirmed_by_a_link_and_a_password(visit: Visit, house: House) -> None:
    house.member("dunlin")
    house.execute("UPDATE sys.user SET email = %s WHERE user_name = %s", "dunlin@example.com", "dunlin")
    page = visit.open("/account", "Your account", "dunlin")
    expect(page.get_by_text("You have not confirmed dunlin@example.com yet.")).to_be_visible()
    visit.axe()
    button(page, "Send a confirmation mail").click()
    expect(page.get_by_text("A mail was sent to dunlin@example.com.")).to_be_visible()
    page.locator(".note").get_by_label("Current password").fill(ADMINISTRATOR_PASSWORD)
    button(page, "Use it for password resets").click()
    expect(page.get_by_text("You have confirmed the address.")).to_be_visible()

    page.goto(mailed(house, "dunlin@example.com", "address"))
    headed(page, "Confirm your email address")
    visit.axe()
    button(page, "Confirm the address").click()
    expect(page.get_by_text("Your email address is confirmed.")).to_be_visible()
    assert house.user("dunlin")["emailVerified"] is True
