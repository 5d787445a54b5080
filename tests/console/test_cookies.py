"""The console in cookie mode: no script ever has a token."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from service.embedded import EmbeddedStores
from tests.console.house import House
from tests.console.visits import Visit, new_context
from tests.support.databases import database
from tests.support.running import running

pytestmark = pytest.mark.extended

SHORT = 3  # seconds of an access token: the page has to refresh


@pytest.fixture
def cookies(
    house: House, stores: EmbeddedStores, published_template: str, redis_url: str, tmp_path: Path
) -> Iterator[Visit]:
    """A tab of a service in cookie mode."""
    with (
        database(stores, published_template) as url,
        running(
            tmp_path,
            *("--workers", "1"),
            DATABASE_URL=url,
            REDIS_URL=redis_url,
            JWT_SECRET=secrets.token_urlsafe(48),
            PORTCULLIS_AUTH__IS_READ_COOKIE="true",
            PORTCULLIS_AUTH__COOKIE_SECURE="false",
            PORTCULLIS_AUTH__ACCESS_TIMEOUT=str(SHORT),
        ) as service,
        new_context(house, service.url) as context,
    ):
        yield Visit(house, context)


def test_a_session_is_in_cookies_alone_and_survives_a_reload(cookies: Visit) -> None:
    page = cookies.page
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.headers.get("authorization", "")))
    cookies.sign_in_by_hand(address="/account")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account")
    # Until the access token is over; then the page refreshes, with the CSRF token of its cookie.
    with page.expect_response("**/api/auth/refresh", timeout=30_000) as refreshed:
        page.wait_for_function(f"() => new Promise((done) => setTimeout(() => done(true), {SHORT}500))")
        page.get_by_label("Name", exact=True).fill("By cookie")
        page.get_by_role("button", name="Save").click()
    assert refreshed.value.status == 200
    expect(page.get_by_role("status").get_by_text("Saved.")).to_be_visible()
    assert not any(sent)
    assert page.evaluate("Object.keys(localStorage)") == ["portcullis.device"]
    page.get_by_label("Signed in as").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert cookies.troubles == []
