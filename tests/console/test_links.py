"""What the links in mails lead to, from a real mail server's mailbox to the first screen."""

import re
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from queue import Queue
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from playwright.sync_api import Page, expect

from service.features.embedded.stores import EmbeddedStores
from tests.console.house import House
from tests.console.test_second_factors import code_of, first_step, home, with_app
from tests.console.visits import Visit, new_context
from tests.support.chromium import chromium
from tests.support.ports import free_port
from tests.support.seeded import ADMINISTRATOR_PASSWORD

OWN = "seven wary herons at dusk"
NEW = "eight wary herons at dawn"
CONFIRMED = "UPDATE sys.user SET email = %s, recovery_email = %s WHERE user_name = %s"
ENTRY = re.compile(r"https?://\S+")


class Mailbox:
    """What has arrived; ``link`` waits for the next mail with a link to somebody."""

    def __init__(self) -> None:
        self.port = free_port()
        self.arrived: Queue[tuple[str, str]] = Queue()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's
        text = message_from_bytes(envelope.content, policy=default).get_content()
        self.arrived.put((envelope.rcpt_tos[0], text))
        return "250 OK"

    def link(self, address: str, page: str) -> str:
        """Return the link to ``page`` of the next mail to ``address`` that has one."""
        while True:
            recipient, text = self.arrived.get(timeout=60)
            links = [link for link in ENTRY.findall(text) if f"#/{page}?token=" in link]
            if recipient == address and links:
                return str(links[0])


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    """A mail server that accepts everything."""
    box = Mailbox()
    controller = Controller(box, hostname="127.0.0.1", port=box.port)
    controller.start()
    try:
        yield box
    finally:
        controller.stop()


@pytest.fixture(scope="module")
def mailing(
    stores: EmbeddedStores, published_template: str, _closed: None, mailbox: Mailbox
) -> Iterator[House]:
    """A house that sends mails."""
    chromium()
    port = str(free_port())
    house = House(
        stores,
        published_template,
        *("--port", port),
        PORTCULLIS_SERVER__PUBLIC_URL=f"http://localhost:{port}",
        PORTCULLIS_MAIL__URL=f"smtp://127.0.0.1:{mailbox.port}",
        PORTCULLIS_MAIL__FROM="portcullis@example.com",
    )
    try:
        house.browser = House.of(stores, published_template).browser
        yield house
    finally:
        house.end()


@pytest.fixture
def visit(mailing: House) -> Iterator[Visit]:
    with new_context(mailing, mailing.url.replace("127.0.0.1", "localhost")) as context:
        visit = Visit(mailing, context)
        yield visit
        assert visit.troubles == []


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


def choose_password(visit: Visit, password: str) -> None:
    page = visit.page
    expect(page.get_by_label("New password", exact=True)).to_be_focused()
    assert "token" not in page.url
    visit.axe()
    page.get_by_label("New password", exact=True).fill(password)
    page.get_by_label("New password again").fill(password)
    page.keyboard.press("Enter")


def test_somebody_invited_by_mail_sets_a_password_adds_an_app_and_sees_the_first_screen(
    visit: Visit, mailing: House, mailbox: Mailbox
) -> None:
    page = visit.page
    visit.sign_in(address="/users/new")
    page.get_by_label("User name").fill("lapwing")
    page.get_by_label("Name", exact=True).fill("Lapwing")
    page.get_by_label("Email").fill("lapwing@example.com")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("An invitation was sent to lapwing.")).to_be_visible()
    expect(page.get_by_text("invited", exact=True)).to_be_visible()

    with new_context(mailing, visit.page.url.partition("/console")[0]) as context:
        owner = Visit(mailing, context)
        owner.page.goto(mailbox.link("lapwing@example.com", "invitation"))
        heading(owner.page, "Welcome")
        choose_password(owner, OWN)
        expect(owner.page.get_by_text("Your password is set.")).to_be_visible()
        owner.page.get_by_role("button", name="Go to the sign-in page").click()
        first_step(owner, "lapwing", OWN)
        home(owner.page, "Lapwing")
        owner.page.goto("/console#/account")
        owner.page.get_by_role("button", name="Add an app").click()
        asked = owner.page.get_by_role("dialog")
        secret = asked.locator("code").inner_text().replace(" ", "")
        asked.get_by_label("Code").fill(code_of(mailing, secret))
        owner.page.keyboard.press("Enter")
        owner.page.get_by_role("button", name="I have saved them").click()
        expect(owner.page.get_by_role("row").filter(has_text="Authenticator app")).to_be_visible()
        owner.page.reload()
        first_step(owner, "lapwing", OWN)
        owner.page.get_by_label("Code").fill(code_of(mailing, secret))
        owner.page.keyboard.press("Enter")
        home(owner.page, "Lapwing")
        assert owner.troubles == []


@pytest.mark.extended
def test_a_forgotten_password_is_replaced_by_the_link_of_a_mail_and_the_second_factor(
    visit: Visit, mailing: House, mailbox: Mailbox
) -> None:
    name, address = "whimbrel", "whimbrel@example.com"
    secret, _ = with_app(mailing, name)
    mailing.execute(CONFIRMED, address, address, name)
    page = visit.page
    visit.go()
    page.get_by_role("link", name="Forgot your password?").click()
    heading(page, "Forgot your password?")
    visit.axe()
    page.get_by_label("User name").fill(name)
    page.keyboard.press("Enter")
    expect(page.get_by_text("a mail was sent")).to_be_visible()

    page.goto(mailbox.link(address, "password-reset"))
    heading(page, "Choose a new password")
    choose_password(visit, NEW)
    expect(page.get_by_label("Code")).to_be_focused()
    visit.axe()
    visit.expected.append("401")
    page.get_by_label("Code").fill("000000")
    page.keyboard.press("Enter")
    expect(page.locator(".field .fault")).to_contain_text("Not accepted")
    page.get_by_label("Code").fill(code_of(mailing, secret))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Your password is set, and all sessions have ended.")).to_be_visible()
    page.get_by_role("button", name="Go to the sign-in page").click()
    first_step(visit, name, NEW)
    page.get_by_label("Code").fill(code_of(mailing, secret))
    page.keyboard.press("Enter")
    home(page, name)


def test_a_link_that_is_not_good_says_so_and_leads_to_the_sign_in_page(visit: Visit) -> None:
    page = visit.page
    page.goto(f"/console#/invitation?token={'never-made'.ljust(43, '-')}")
    choose_password(visit, NEW)
    expect(page.get_by_role("alert")).to_contain_text("This link is no longer valid")
    visit.axe()
    page.get_by_role("button", name="Go to the sign-in page").click()
    heading(page, "Sign in")


@pytest.mark.parametrize(
    "address",
    [
        "/console#/invitation?token=cut-off",
        "/console#/password-reset",
        f"/console#/address%3Ftoken%3D{'x' * 43}",
        f"/console#%2Finvitation%3Ftoken%3D{'x' * 43}",
        f"/console#/end-sessions?token={'x' * 43}%3D",
        f"/console%23/invitation?token={'x' * 43}",
    ],
)
def test_a_link_that_did_not_arrive_whole_says_so_before_anything_is_asked(
    visit: Visit, address: str
) -> None:
    page = visit.page
    page.goto(address)
    heading(page, "This link is incomplete")
    expect(page.get_by_role("textbox")).to_have_count(0)
    assert "token" not in page.url
    visit.axe()
    page.get_by_role("button", name="Go to the sign-in page").click()
    heading(page, "Sign in")


@pytest.mark.extended
def test_where_no_mail_is_sent_the_link_of_an_invitation_is_shown_to_be_handed_over(house: House) -> None:
    with new_context(house) as context:
        visit = Visit(house, context)
        page = visit.page
        visit.go()
        expect(page.get_by_role("link", name="Forgot your password?")).to_have_count(0)
        visit.sign_in(address="/users/new")
        page.get_by_label("User name").fill("handover")
        page.get_by_label("Name", exact=True).fill("Handover")
        page.get_by_role("button", name="Create").click()
        shown = page.get_by_role("dialog", name="Invitation of handover")
        visit.axe()
        page.goto(shown.get_by_role("textbox").input_value())
        choose_password(visit, OWN)
        expect(page.get_by_text("Your password is set.")).to_be_visible()
        assert visit.troubles == []


@pytest.mark.extended
def test_the_own_address_is_confirmed_by_the_link_of_a_mail_and_by_agreeing_to_it(
    visit: Visit, mailing: House, mailbox: Mailbox
) -> None:
    mailing.member("dunlin")
    mailing.execute("UPDATE sys.user SET email = %s WHERE user_name = %s", "dunlin@example.com", "dunlin")
    page = visit.page
    visit.sign_in("dunlin", "/account")
    expect(page.get_by_text("You have not confirmed dunlin@example.com yet.")).to_be_visible()
    visit.axe()
    page.get_by_role("button", name="Send a confirmation mail").click()
    expect(page.get_by_text("A mail was sent to dunlin@example.com.")).to_be_visible()
    page.locator(".note").get_by_label("Current password").fill(ADMINISTRATOR_PASSWORD)
    page.get_by_role("button", name="Use it for password resets").click()
    expect(page.get_by_text("You have confirmed the address.")).to_be_visible()

    page.goto(mailbox.link("dunlin@example.com", "address"))
    heading(page, "Confirm your email address")
    visit.axe()
    page.get_by_role("button", name="Confirm the address").click()
    expect(page.get_by_text("Your email address is confirmed.")).to_be_visible()
    [user] = mailing.api.get("/api/user/list?userName=dunlin").json()["data"]["items"]
    assert user["emailVerified"] is True
