"""Logging out together with a provider ends the sessions of that sign-in, and no others."""

import asyncio
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.features.oidc.conftest import PUBLIC, Browser
from tests.features.oidc.test_sign_in import log_out
from tests.support.inside import Inside
from tests.support.members import member, query


async def alive(front: Inside, token: str) -> bool:
    return (await front.ask("GET", "/api/user/info", token=token)).status == 200


async def user_of(front: Inside, token: str) -> Any:
    return (await front.ask("GET", "/api/user/info", token=token)).json["data"]


async def with_password(front: Inside, user_id: int) -> None:
    """Give somebody the password of the administrator."""
    own = (
        "UPDATE sys.user SET password_hash = (SELECT password_hash FROM sys.user WHERE id = 1) WHERE id = %s"
    )
    await query(front, own, user_id)


async def test_a_session_by_a_password_on_the_same_device_stays(browser: Browser, front: Inside) -> None:
    user = await user_of(front, await browser.sign_in())
    await with_password(front, user["userId"])
    token = await front.log_in(user["userName"])  # at once, on the device of the sign-in
    assert (await log_out(front, browser.provider.logout_token())).status == 200
    assert await alive(front, token)


async def test_a_session_of_another_sign_in_on_the_same_device_stays(browser: Browser, front: Inside) -> None:
    await browser.sign_in()
    first = browser.provider.logout_token()
    browser.provider.changes = {"sid": "another"}
    token = await browser.sign_in()
    assert (await log_out(front, first)).status == 200
    assert await alive(front, token)
    assert (await log_out(front, browser.provider.logout_token(sid="another"))).status == 200
    assert not await alive(front, token)


async def test_a_session_that_was_refreshed_ends_with_its_sign_in(browser: Browser, front: Inside) -> None:
    answer = await browser.redeem(await browser.code())
    body = {"refreshToken": answer.json["data"]["refreshToken"]}
    refreshed = await front.as_anonymous("POST", "/api/auth/refresh", body=body)
    token = refreshed.json["data"]["accessToken"]
    assert (await log_out(front, browser.provider.logout_token(sub=None))).status == 200
    assert not await alive(front, token)


async def test_signing_in_again_and_again_keeps_one_sign_in_of_a_device(
    browser: Browser, front: Inside
) -> None:
    user = await user_of(front, await browser.sign_in())
    rows = "SELECT sign_in FROM sys.directory_session WHERE user_id = %s"
    await query(front, "UPDATE sys.directory_session SET opened_time = now() - interval '1 hour'")
    await browser.sign_in()
    # That of the session that lives stays until another one takes its place.
    assert len(await query(front, rows, user["userId"])) == 2
    await query(front, "UPDATE sys.directory_session SET opened_time = now() - interval '1 hour'")
    await browser.sign_in()
    assert len(await query(front, rows, user["userId"])) == 2


async def test_a_logout_here_tells_the_provider_whose_session_it_is(browser: Browser, front: Inside) -> None:
    token = await browser.sign_in()
    answer = await front.ask("POST", "/api/auth/oidc/logout", token=token)
    sent = dict(parse_qsl(urlsplit(answer.json["data"]["url"]).query))
    assert sent["post_logout_redirect_uri"] == f"{PUBLIC}/"
    assert sent["id_token_hint"].count(".") == 2
    assert not await alive(front, token)
    entries: list[Any] = []
    for _ in range(100):
        log = await front.data("GET", "/api/operation-log/list?size=200")
        entries = [each for each in log["items"] if each["action"] == "log out here and at the provider"]
        if entries:
            break
        await asyncio.sleep(0.05)
    assert entries
    for entry in entries:
        detail = await front.data("GET", f"/api/operation-log/{entry['id']}")
        assert "id_token_hint" not in str(detail)


async def test_an_id_token_that_is_too_long_for_an_address_is_left_out(
    browser: Browser, front: Inside
) -> None:
    browser.provider.changes = {"groups": [f"group-{number}" for number in range(1000)]}
    token = await browser.sign_in()
    answer = await front.ask("POST", "/api/auth/oidc/logout", token=token)
    assert "id_token_hint" not in answer.json["data"]["url"]


async def test_the_id_token_lives_as_long_as_the_session(browser: Browser, front: Inside) -> None:
    import redis.asyncio as redis  # noqa: PLC0415

    async def kept() -> dict[bytes, int]:
        keys = [key async for key in store.scan_iter("auth:idtoken:*")]
        return {key: await store.pttl(key) for key in keys}

    store = redis.from_url(front.redis_url)
    try:
        before = set(await kept())
        token = await browser.sign_in()
        (key,) = set(await kept()) - before
        session = key.replace(b"idtoken", b"device")
        assert abs(await store.pttl(key) - await store.pttl(session)) < 1000
        assert (await front.ask("POST", "/api/auth/logout", token=token)).status in (200, 204)
        assert key not in await kept()
        token = await browser.sign_in()
        user = await user_of(front, token)
        await with_password(front, user["userId"])
        await front.log_in(user["userName"])  # takes the place of the session
        assert key not in await kept()
    finally:
        await store.aclose()


async def test_a_session_by_a_password_has_no_provider_to_log_out_at(front: Inside) -> None:
    heron = await member(front, "heron-without-provider")
    answer = await heron.ask("POST", "/api/auth/oidc/logout")
    assert answer.json["data"] == {"url": None}


async def test_who_logs_out_is_logged_out_here_while_the_provider_is_down(
    browser: Browser, front: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await browser.sign_in()
    monkeypatch.setattr("service.features.oidc.provider.METADATA_LIFE", -1.0)
    browser.provider.answers["/.well-known/openid-configuration"] = b"down"
    answer = await front.ask("POST", "/api/auth/oidc/logout", token=token)
    assert (answer.status, answer.json["data"]["url"]) == (200, None)
    assert not await alive(front, token)
    monkeypatch.setattr("service.features.oidc.provider.AGAIN", 0.0)
    browser.provider.answers.clear()
    await browser.sign_in()
