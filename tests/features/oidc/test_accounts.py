"""Accounts that are handed over to a provider, decisions below a ceiling made again, and very long names."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from service.audit.seals import seals_of
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import configured
from service.features.policy_tests.replay import replay
from service.records.database.transactions import Database
from tests.features.access_requests.test_beginnings import settings_of
from tests.features.decisions.test_whole_service import set_up
from tests.features.oidc.conftest import Browser, provider_settings, variables
from tests.features.oidc.hostile import HostileProvider
from tests.features.oidc.test_cookies import set_cookies
from tests.features.oidc.test_sign_in import claims_of, info
from tests.support.inside import Inside, all_decisions
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import member

ACCOUNTS = "/api/auth/oidc/good/accounts"
# One script that needs four bytes for each letter, and one that needs two.
LONG_NAMES = ["\U00020000" * 254, "ж" * 254, "h" * 242 + "@example.org"]


async def test_an_account_is_handed_over_and_its_owner_is_told(
    browser: Browser, front: Inside, provider: HostileProvider
) -> None:
    heron = await member(front, f"heron-{provider.subject}", "system:file:list")
    body = {"userName": heron.name.upper(), "subject": provider.subject}
    assert (await front.ask("POST", ACCOUNTS, body)).status == 204
    token = await browser.sign_in()
    user = await info(front, token)
    assert (user["userId"], user["permissions"]) == (heron.user_id, ["system:file:list"])
    notices = (await front.ask("GET", "/api/user/profile/notices", token=token)).json["data"]["items"]
    assert "identity_linked" in {each["kind"] for each in notices}
    for _ in range(100):
        log = await front.data("GET", "/api/operation-log/list?module=user&size=100")
        entries = [each for each in log["items"] if each["action"] == "hand over to a provider"]
        if entries:
            break
        await asyncio.sleep(0.05)
    assert entries[0]["targets"] == [f"user:{heron.name}"]


async def test_nobody_hands_over_who_holds_more_or_the_own_account(
    front: Inside, provider: HostileProvider
) -> None:
    clerk = await member(front, f"clerk-{provider.subject}", "system:user:reset-password")
    strong = await member(front, f"strong-{provider.subject}", "system:user:delete")
    weak = await member(front, f"weak-{provider.subject}")

    async def refused(name: str) -> str:
        answer = await clerk.ask("POST", ACCOUNTS, {"userName": name, "subject": provider.subject})
        assert answer.status in (403, 409), answer.body
        return answer.code

    assert await refused(strong.name) == "permission_denied"
    assert await refused("admin") == "permission_denied"
    assert await refused(clerk.name) == "conflict"
    answer = await weak.ask("POST", ACCOUNTS, {"userName": weak.name, "subject": provider.subject})
    assert answer.status == 403
    assert (await Browser(front, provider).sign_in()) is not None  # who is somebody else: an account is made


async def test_what_is_handed_over_twice_or_to_nobody_is_refused(
    front: Inside, provider: HostileProvider
) -> None:
    heron = await member(front, f"heron-{provider.subject}")
    crane = await member(front, f"crane-{provider.subject}")
    body = {"userName": heron.name, "subject": provider.subject}
    assert (await front.ask("POST", ACCOUNTS, body)).status == 204
    again = await front.ask("POST", ACCOUNTS, body | {"userName": crane.name})
    assert (again.status, again.json["rule"]) == (409, "unique")
    assert (await front.ask("POST", ACCOUNTS, body | {"userName": "nobody-at-all"})).status == 404
    unknown = ACCOUNTS.replace("good", "unknown")
    assert (await front.ask("POST", unknown, body)).status == 404
    made = {"userName": f"bot-{provider.subject}", "nickName": "Bot", "kind": "service"}
    await front.data("POST", "/api/user", made)
    bot = await front.ask("POST", ACCOUNTS, {"userName": made["userName"], "subject": "another"})
    assert (bot.status, bot.json["rule"]) == (409, "kind_of_account")


async def test_decisions_below_a_ceiling_are_made_again_alike(
    service_with: ServiceWith, provider: HostileProvider, tmp_path: Path
) -> None:
    log = tmp_path / "decisions.jsonl"
    chosen = variables(provider_settings(provider, "good")) | all_decisions(log)
    async with service_with(**chosen) as service:
        await member(service, "reader", "system:file:list")
        lister = await member(service, "lister", "system:role:list")
        both = [{"group": "Both", "roles": ["reader", "lister"]}]
        body = {"kind": "oidc", "mapping": both, "ceiling": ["system:file:list", "system:role:list"]}
        await service.data("PUT", "/api/directory/good", body)
        more = {"permissions": ["system:role:list", "system:user:delete"]}
        await service.data("PUT", f"/api/role/{lister.role_id}/permissions", more)

        provider.changes = {"groups": ["Both"]}
        browser = Browser(service, provider)
        user = await info(service, await browser.sign_in())
        assert user["permissions"] == ["system:file:list"]  # the role beyond the ceiling is left out
        # Who has come to hold more than the ceiling is let in, and gets nothing by the groups.
        roles = await service.data("GET", "/api/role/list?roleCode=lister")
        given = {"roleId": roles["items"][0]["id"]}
        await service.data("POST", f"/api/user/{user['userId']}/roles", given)
        await browser.sign_in()

        opened = Database(service.database_url)
        settings = settings_of(service)
        try:
            live = LivePolicy(configured(settings), seals_of(settings.oplog))
            await live.load(opened)
        finally:
            await opened.close()
        policy = live.current
    lines = log.read_bytes().splitlines()
    below = [event for line in lines if (event := json.loads(line)).get("ceiling") is not None]
    assert [event["route"] for event in below] == ["/api/auth/oidc/token"] * 2
    assert any(event.get("grants") for event in below)
    answer = replay(policy, lines)
    assert (answer.differing, answer.unreadable) == (0, 0), answer.groups
    # A ceiling that has lost a code would deny what was given.
    for event in below:
        event["ceiling"] = []
    changed = [json.dumps(event).encode() for event in below if event.get("grants")]
    assert replay(policy, changed).differing == len(changed)


@pytest.fixture
def browser(front: Inside, provider: HostileProvider) -> Browser:
    return Browser(front, provider)


@pytest.mark.parametrize(
    ("claims", "nick_name"),
    [
        ({"name": f" {'A' * 63} B of the provider"}, "A" * 63),
        ({"name": "\u200b \n"}, None),
        ({"name": None}, None),
        ({"name": None, "preferred_username": "h" * 200}, "h" * 64),
        ({"email": "no address", "email_verified": True}, "Alice of the provider"),
    ],
    ids=["long", "unseen", "none", "long-user-name", "odd-address"],
)
async def test_an_account_is_made_whatever_the_provider_calls_somebody(
    browser: Browser, claims: dict[str, Any], nick_name: str | None
) -> None:
    browser.provider.changes = claims
    user = await info(browser.service, await browser.sign_in())
    assert user["nickName"] == (nick_name or user["userName"])
    assert user["userName"] == claims.get("preferred_username", f"u-{browser.provider.subject}")
    assert (await browser.service.data("GET", f"/api/user/{user['userId']}"))["email"] is None


@pytest.mark.parametrize("name", LONG_NAMES, ids=["four-bytes", "two-bytes", "address"])
async def test_a_provider_gives_names_of_254_characters(browser: Browser, name: str) -> None:
    browser.provider.changes = {"preferred_username": name, "name": "N" * 64}
    token = await browser.sign_in()
    assert claims_of(token).user_name == name
    assert (await info(browser.service, token))["userName"] == name
    await browser.service.as_anonymous("GET", "/api/auth/oidc")
    online = await browser.service.data("GET", "/api/online/list?size=100")
    assert name in {each["userName"] for each in online["items"]}
    from urllib.parse import quote  # noqa: PLC0415

    filtered = await browser.service.data("GET", f"/api/online/list?userName={quote(name)}")
    assert [each["userName"] for each in filtered["items"]] == [name]
    for _ in range(100):
        page = await browser.service.data("GET", f"/api/login-log/list?userName={quote(name)}")
        if page["items"]:
            break
        await asyncio.sleep(0.05)
    assert page["items"][0]["userName"] == name


@pytest.mark.feature("decisions")
@pytest.mark.parametrize("name", LONG_NAMES, ids=["four-bytes", "two-bytes", "address"])
async def test_long_names_fit_into_cookies_and_identity_headers(
    service_with: ServiceWith, provider: HostileProvider, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    from urllib.parse import unquote  # noqa: PLC0415

    chosen = variables(provider_settings(provider, "good")) | {"PORTCULLIS_AUTH__IS_READ_COOKIE": "true"}
    async with service_with(**chosen) as service:
        key, _ = await set_up(service)
        provider.changes = {"preferred_username": name, "name": "\U00020000" * 64, "groups": ["All"]}
        role = await member(service, "orders", "orders:order:read")
        body = {"kind": "oidc", "mapping": [{"group": "All", "roles": ["orders"]}]}
        await service.data("PUT", "/api/directory/good", body | {"ceiling": ["orders:order:read"]})
        browser = Browser(service, provider, next="/console")
        page = await browser.back(provider.authorized(await browser.url(challenge=None)))
        cookies = set_cookies(page)
        for cookie in cookies.values():
            pair = cookie.partition(";")[0]
            assert len(pair) <= 4096  # more than that no browser keeps (RFC 6265 §6.1)
        sent = "; ".join(
            cookies[each].partition(";")[0] for each in ("__Host-portcullis_access", "__Host-portcullis_csrf")
        )
        user = await service.as_anonymous("GET", "/api/user/info", ("Cookie", sent))
        assert user.json["data"]["userName"] == name
        token = cookies["__Host-portcullis_access"].partition("=")[2].partition(";")[0]
        answer = await forwarded(service, key, token)
        assert answer.status == 200, answer.body
        assert unquote(answer.header("x-portcullis-user") or "") == name
        assert sum(len(header) + len(value) for header, value in answer.headers) < 8192
        assert role.user_id
    lines = capfd.readouterr().err.splitlines()
    assert all(len(line) < 8192 for line in lines)


async def forwarded(service: Inside, key: str, token: str) -> Any:
    """Ask about a request as nginx does."""
    headers = [
        ("X-Portcullis-Key", key),
        ("X-Original-Method", "GET"),
        ("X-Original-Uri", "/orders/7"),
        ("X-Original-Host", "orders.test"),
        ("Authorization", f"Bearer {token}"),
    ]
    return await service.as_anonymous("GET", "/access/v1/forward/nginx/orders", *headers)
