"""A link or a step-up that was begun ends with the session in which it was."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.features.oidc.conftest import Browser, query_of
from tests.support.inside import Inside
from tests.support.members import Member, member, query

KNOWN = "SELECT user_id FROM sys.directory_account WHERE source = 'good' AND subject = %s"


async def begun(front: Inside, browser: Browser, token: str, what: str = "link") -> str:
    """Begin to link or to step up; return where that goes on."""
    order = {"next": "/front", "challenge": browser.challenge}
    answer = await front.ask("POST", f"/api/auth/oidc/good/{what}", order, token=token)
    assert answer.status == 200, answer.body
    url: str = answer.json["data"]["url"]
    return url


async def finished(browser: Browser, url: str) -> Any:
    back = await browser.back(browser.provider.authorized(url))
    return await browser.redeem(query_of(back)["code"])


async def all_sessions_end(_front: Inside, heron: Member) -> None:
    assert (await heron.ask("POST", "/api/auth/logout/all")).status == 200


async def another_one_takes_its_place(_front: Inside, heron: Member) -> None:
    await heron.log_in()


async def the_account_is_disabled(front: Inside, heron: Member) -> None:
    await query(front, "UPDATE sys.user SET status = 'disabled' WHERE id = %s", heron.user_id)


async def the_account_is_banned(front: Inside, heron: Member) -> None:
    ban = "INSERT INTO sys.user_ban (user_id, reason, banned_by) VALUES (%s, 'away', 1)"
    await query(front, ban, heron.user_id)


async def the_account_is_deleted(front: Inside, heron: Member) -> None:
    await query(front, "DELETE FROM sys.user WHERE id = %s", heron.user_id)


Event = Callable[[Inside, Member], Awaitable[None]]


@pytest.mark.parametrize(
    "event",
    [
        all_sessions_end,
        another_one_takes_its_place,
        the_account_is_disabled,
        the_account_is_banned,
        the_account_is_deleted,
    ],
    ids=lambda event: event.__name__,
)
async def test_nothing_is_linked_once(front: Inside, browser: Browser, event: Event) -> None:
    heron = await member(front, f"h{browser.provider.subject}")
    url = await begun(front, browser, heron.token)
    await event(front, heron)
    assert (await finished(browser, url)).code == "sign_in_failed"
    assert await query(front, KNOWN, browser.provider.subject) == []


async def test_a_session_that_was_refreshed_is_the_same(front: Inside, browser: Browser) -> None:
    answer = await browser.redeem(await browser.code())
    tokens = answer.json["data"]
    url = await begun(front, browser, tokens["accessToken"], "step-up")
    body = {"refreshToken": tokens["refreshToken"]}
    assert (await front.as_anonymous("POST", "/api/auth/refresh", body=body)).status == 200
    assert (await finished(browser, url)).status == 200


async def test_nobody_steps_up_a_session_that_has_ended(front: Inside, browser: Browser) -> None:
    token = await browser.sign_in()
    url = await begun(front, browser, token, "step-up")
    assert (await front.ask("POST", "/api/auth/logout", token=token)).status in (200, 204)
    assert (await finished(browser, url)).code == "sign_in_failed"
