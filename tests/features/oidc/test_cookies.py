"""Signing in with cookies: one browser begins and ends it, and the page that ends it is of this service."""

from collections.abc import AsyncIterator
from urllib.parse import urlencode

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.features.oidc.conftest import Browser, provider_settings, variables
from tests.features.oidc.hostile import HostileProvider
from tests.support.inside import Inside
from tests.support.inside_fixtures import inside_own
from tests.web.driver import Answer


@pytest.fixture(scope="module")
async def pages(
    stores: EmbeddedStores, published_template: str, running_provider: HostileProvider
) -> AsyncIterator[Inside]:
    """A service whose sessions are in cookies."""
    chosen = variables(provider_settings(running_provider, "good", allow_password=False))
    chosen |= {"PORTCULLIS_AUTH__IS_READ_COOKIE": "true"}
    async with inside_own(stores, published_template, **chosen) as running:
        yield running


@pytest.fixture
def browser(pages: Inside, provider: HostileProvider) -> Browser:
    return Browser(pages, provider, next="/console?a=1&b=2")


def set_cookies(answer: Answer) -> dict[str, str]:
    cookies = [value for name, value in answer.headers if name == "set-cookie"]
    return {cookie.partition("=")[0]: cookie for cookie in cookies}


async def test_a_browser_is_signed_in_by_a_page_of_this_service(browser: Browser) -> None:
    start = await browser.start(challenge=None)
    (bound,) = set_cookies(start).values()
    assert bound.startswith("__Host-portcullis_sign_in=")
    assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=600"} <= set(bound.split("; "))

    answer = await browser.back(browser.provider.authorized(start.header("location") or ""))
    assert answer.status == 200
    assert b'content="0; url=/console?a=1&amp;b=2"' in answer.body
    assert (answer.header("content-security-policy") or "").startswith("default-src 'none'")
    cookies = set_cookies(answer)
    assert "Max-Age=0" in cookies["__Host-portcullis_sign_in"]
    access = cookies["__Host-portcullis_access"].partition(";")[0]
    assert "SameSite=Strict" in cookies["__Host-portcullis_access"]
    user = await browser.service.as_anonymous("GET", "/api/user/info", ("Cookie", access))
    assert user.json["data"]["userName"] == f"u-{browser.provider.subject}"


async def test_another_browser_does_not_end_what_was_begun(browser: Browser, pages: Inside) -> None:
    parameters = browser.provider.authorized(await browser.url(challenge=None))
    json = ("Accept", "application/json")
    without = await pages.as_anonymous("GET", f"/api/auth/oidc/good/callback?{urlencode(parameters)}", json)
    assert without.code == "sign_in_failed"

    victim = Browser(pages, browser.provider)
    await victim.url(challenge=None)
    parameters = browser.provider.authorized(await browser.url(challenge=None))
    swapped = await victim.back(parameters)  # with the cookie of a sign-in of its own
    assert swapped.code == "sign_in_failed"
    assert not set_cookies(swapped)


async def test_a_front_end_has_no_code_where_there_are_cookies(browser: Browser) -> None:
    assert (await browser.start()).fields == ["challenge"]
