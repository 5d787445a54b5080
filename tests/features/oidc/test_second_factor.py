"""A sign-in with cookies that needs a second factor of this service, and pages for all that is refused."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.features.oidc.conftest import Browser, provider_settings, variables
from tests.features.oidc.hostile import HostileProvider
from tests.features.oidc.test_cookies import set_cookies
from tests.features.oidc.test_sign_in import claims_of
from tests.features.second_factors.conftest import SETTINGS, Person
from tests.support.inside import Inside
from tests.support.inside_fixtures import inside_own
from tests.support.members import query
from tests.web.driver import Answer

PASSWORD = "seven wary herons at dusk"


@pytest.fixture(scope="module")
async def pages(
    stores: EmbeddedStores, published_template: str, running_provider: HostileProvider
) -> AsyncIterator[Inside]:
    chosen = SETTINGS | variables(provider_settings(running_provider, "good"))
    chosen |= {"PORTCULLIS_AUTH__IS_READ_COOKIE": "true"}
    async with inside_own(stores, published_template, **chosen) as running:
        yield running


@pytest.fixture
def browser(pages: Inside, provider: HostileProvider) -> Browser:
    return Browser(pages, provider, next="/console", accept="text/html,application/xhtml+xml,*/*;q=0.8")


async def linked(browser: Browser) -> Person:
    """Return somebody with an app, whose account the provider knows."""
    name = f"heron-{browser.provider.subject}"
    made = await browser.service.data(
        "POST", "/api/user", {"userName": name, "nickName": name, "password": PASSWORD}
    )
    person = Person(browser.service, made["id"], name)
    await person.log_in()
    await person.enrol_app()
    body = {"userName": name, "subject": browser.provider.subject}
    answer = await browser.service.ask("POST", "/api/auth/oidc/good/accounts", body)
    assert answer.status == 204, answer.body
    return person


def place_in(page: Answer) -> str:
    """Return where a page leads on to."""
    import html  # noqa: PLC0415

    assert (page.status, page.header("content-type")) == (200, "text/html; charset=utf-8")
    assert (page.header("content-security-policy") or "").startswith("default-src 'none'")
    _, _, rest = page.body.decode().partition('content="0; url=')
    return html.unescape(rest.partition('"')[0])


def refused(page: Answer, status: int, code: str) -> None:
    """Check that a person is told of a refusal by a page, which runs nothing."""
    assert (page.status, page.header("content-type")) == (status, "text/html; charset=utf-8")
    text = page.body.decode()
    assert f"<code>{code}</code>" in text
    assert "<script" not in text
    assert "{" not in text
    policy = page.header("content-security-policy") or ""
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert page.header("cache-control") == "no-store"
    assert "__Host-portcullis_access" not in set_cookies(page)


async def came_back(browser: Browser, **changes: Any) -> Answer:
    return await browser.back(browser.provider.authorized(await browser.url(challenge=None), **changes))


async def test_who_has_a_second_factor_here_is_led_to_the_page_that_asks_for_it(browser: Browser) -> None:
    person = await linked(browser)
    page = await came_back(browser)
    place = urlsplit(place_in(page))
    assert (place.path, place.fragment.partition("?")[0]) == ("/console", "/sign-in")
    assert "__Host-portcullis_access" not in set_cookies(page)
    (challenge,) = parse_qs(place.fragment.partition("?")[2])["challenge"]

    answer = await person.second_step(challenge, "totp", code=person.code())
    assert answer.status == 200, answer.body
    claims = claims_of(set_cookies(answer)["__Host-portcullis_access"].partition("=")[2].partition(";")[0])
    assert claims.acr == "mfa"
    assert claims.amr == ("pwd", "otp", "mfa")  # the provider's, and the app


async def test_the_page_knows_where_the_sign_in_leads(browser: Browser) -> None:
    await linked(browser)
    browser.next = "/console?tab=users"
    place = urlsplit(place_in(await came_back(browser)))
    assert parse_qs(place.fragment.partition("?")[2])["next"] == ["/console?tab=users"]


async def test_a_provider_that_is_worth_a_second_factor_asks_for_no_other(browser: Browser) -> None:
    await linked(browser)
    browser.provider.changes = {"acr": "strong"}
    page = await came_back(browser)
    assert place_in(page) == "/console"
    assert "__Host-portcullis_access" in set_cookies(page)


async def test_a_session_after_the_second_step_is_one_of_the_sign_in(browser: Browser) -> None:
    person = await linked(browser)
    fragment = urlsplit(place_in(await came_back(browser))).fragment
    challenge = parse_qs(fragment.partition("?")[2])["challenge"][0]
    answer = await person.second_step(challenge, "totp", code=person.code())
    cookie = set_cookies(answer)["__Host-portcullis_access"].partition(";")[0]
    assert (await browser.service.as_anonymous("GET", "/api/user/info", ("Cookie", cookie))).status == 200

    order = browser.provider.logout_token()
    target = "/api/auth/oidc/good/backchannel-logout"
    assert (await browser.service.as_anonymous_form(target, {"logout_token": order})).status == 200
    assert (await browser.service.as_anonymous("GET", "/api/user/info", ("Cookie", cookie))).status == 401


async def test_what_the_provider_spoils_is_told_by_a_page(browser: Browser) -> None:
    refused(await came_back(browser, iss="https://evil.example"), 401, "sign_in_failed")
    browser.provider.algorithm = "none"
    refused(await came_back(browser), 401, "sign_in_failed")
    refused(await came_back(browser, code=None, error="access_denied"), 401, "sign_in_failed")


async def test_what_a_browser_makes_up_is_told_by_a_page(browser: Browser, pages: Inside) -> None:
    target = "/api/auth/oidc/good/callback"
    accept = ("Accept", browser.accept)
    made_up = {"state": "made-up", "code": "c"}
    refused(await pages.as_anonymous("GET", f"{target}?{urlencode(made_up)}", accept), 401, "sign_in_failed")
    refused(await pages.as_anonymous("GET", target, accept), 422, "validation_failed")
    refused(await pages.as_anonymous("GET", target), 422, "validation_failed")  # whatever it accepts
    unknown = "/api/auth/oidc/nobody/callback?state=x"
    refused(await pages.as_anonymous("GET", unknown, accept), 404, "not_found")
    twice = ("Cookie", "__Host-portcullis_sign_in=a; __Host-portcullis_sign_in=b")
    refused(await pages.as_anonymous("GET", f"{target}?state=x", twice, accept), 400, "bad_request")
    script = {"state": "x", "code": "<script>alert(1)</script>", "iss": "<script>"}
    refused(await pages.as_anonymous("GET", f"{target}?{urlencode(script)}", accept), 401, "sign_in_failed")


async def test_who_is_disabled_banned_or_unknown_is_told_by_a_page(browser: Browser, pages: Inside) -> None:
    person = await linked(browser)
    browser.provider.changes = {"acr": "strong"}
    await query(pages, "UPDATE sys.user SET status = 'disabled' WHERE id = %s", person.id)
    refused(await came_back(browser), 403, "account_disabled")


async def test_a_provider_that_is_down_is_told_by_a_page(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = browser.provider.authorized(await browser.url(challenge=None))
    browser.provider.token_answer = b"no JSON"
    refused(await browser.back(parameters), 503, "unavailable")
    browser.provider.token_answer = None
    monkeypatch.setattr("service.features.oidc.provider.METADATA_LIFE", -1.0)
    browser.provider.answers["/.well-known/openid-configuration"] = b"no JSON"
    refused(await browser.start(challenge=None), 503, "unavailable")


async def test_a_client_that_accepts_json_gets_it(browser: Browser) -> None:
    browser.accept = "application/json"
    assert (await came_back(browser, iss="https://evil.example")).code == "sign_in_failed"
