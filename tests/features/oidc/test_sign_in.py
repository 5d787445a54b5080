"""Signing in with a provider that lies: nothing that it or a browser makes up is believed."""

import asyncio
import time
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from service.authn.claims import AccessClaims
from tests.features.oidc.conftest import PUBLIC, Browser, query_of
from tests.features.oidc.hostile import HostileProvider, new_key
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import member


async def info(service: Inside, token: str) -> Any:
    return (await service.ask("GET", "/api/user/info", token=token)).json["data"]


def claims_of(token: str) -> AccessClaims:
    import base64  # noqa: PLC0415

    import msgspec  # noqa: PLC0415

    part = token.split(".")[1]
    return msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)), type=AccessClaims)


async def test_a_front_end_signs_in_and_the_same_subject_is_the_same_account(browser: Browser) -> None:
    first = await info(browser.service, await browser.sign_in())
    second = await info(browser.service, await browser.sign_in())
    assert first["userName"] == f"u-{browser.provider.subject}"
    assert first["userId"] == second["userId"]
    assert first["permissions"] == []


async def test_providers_are_listed_for_the_page_to_sign_in(front: Inside) -> None:
    answer = await front.as_anonymous("GET", "/api/auth/oidc")
    assert answer.json["data"]["items"] == [
        {"name": "good", "title": "good"},
        {"name": "other", "title": "other"},
    ]


async def test_an_account_is_never_found_by_a_name_or_an_address(browser: Browser) -> None:
    browser.provider.changes = {"preferred_username": "admin", "email": "a@b.example", "email_verified": True}
    user = await info(browser.service, await browser.sign_in())
    assert user["userName"] != "admin"
    assert user["userName"].startswith("admin-")
    assert user["permissions"] == []
    # Somebody who may hand the account over is told: nobody else can say whether both are one person.
    notices = (await browser.service.data("GET", "/api/user/profile/notices"))["items"]
    clashes = [each["facts"] for each in notices if each["kind"] == "name_taken"]
    assert clashes == [{"name": "good", "account": "admin", "made": user["userName"]}]


async def test_groups_give_roles_below_the_ceiling_and_the_next_sign_in_takes_them_away(
    browser: Browser, front: Inside
) -> None:
    suffix = browser.provider.subject
    await member(front, f"r{suffix}", "system:file:list")
    body = {
        "kind": "oidc",
        "mapping": [{"group": "Readers", "roles": [f"r{suffix}"]}],
        "ceiling": ["system:file:list"],
    }
    await front.data("PUT", "/api/directory/good", body)
    browser.provider.changes = {"groups": ["Readers", "Others"]}
    token = await browser.sign_in()
    assert (await info(front, token))["permissions"] == ["system:file:list"]

    browser.provider.changes = {"groups": []}
    assert (await info(front, await browser.sign_in()))["permissions"] == []
    assert (await front.ask("GET", "/api/file/list", token=token)).status in (401, 403)
    await front.ask("DELETE", "/api/directory/good")


async def test_who_is_cut_off_does_not_sign_in(browser: Browser, front: Inside) -> None:
    await browser.sign_in()
    body = {"kind": "oidc", "mapping": [], "ceiling": [], "enabled": False}
    await front.data("PUT", "/api/directory/good", body)
    assert (await browser.redeem(await browser.code())).code == "sign_in_failed"
    await front.ask("DELETE", "/api/directory/good")


@with_each(
    ("claim", "value"),
    [
        ("iss", "https://evil.example"),
        ("aud", "another-client"),
        ("aud", ["another-client"]),
        ("aud", ["portcullis", "another-client"]),
        ("azp", "another-client"),
        ("nonce", "another"),
        ("nonce", None),
        ("sub", None),
        ("sub", ""),
        ("sub", 7),
        ("exp", 1),
        ("exp", None),
        ("exp", 10**400),
        ("iat", 1),
        ("iat", 2**40),
        ("nbf", 2**40),
        ("auth_time", 2**40),
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(browser: Browser, claim: str, value: Any) -> None:
    browser.provider.changes = {claim: value}
    assert await browser.error() == "sign_in_failed"


async def test_a_token_without_a_signature_is_refused(browser: Browser) -> None:
    browser.provider.algorithm = "none"
    assert await browser.error() == "sign_in_failed"


async def test_a_token_with_a_mac_by_the_public_key_is_refused(browser: Browser) -> None:
    browser.provider.algorithm, browser.provider.sign_with = "HS256", browser.provider.public_pem()
    assert await browser.error() == "sign_in_failed"


async def test_a_token_that_brings_its_own_key_is_refused(browser: Browser) -> None:
    own = new_key("own")
    browser.provider.sign_with = own
    browser.provider.header = {"kid": "own", "jwk": own.as_dict(private=False)}
    assert await browser.error() == "sign_in_failed"
    browser.provider.header = {"kid": "first"}
    assert await browser.error() == "sign_in_failed"


async def test_an_answer_of_another_provider_is_refused(browser: Browser) -> None:
    assert await browser.error(iss="https://evil.example") == "sign_in_failed"
    assert await browser.error(iss=None) == "sign_in_failed"  # it is announced


async def test_two_providers_are_not_mixed_up(browser: Browser, other_provider: HostileProvider) -> None:
    other_provider.reset()
    parameters = browser.provider.authorized(await browser.url())
    assert (await browser.back(parameters, name="other")).code == "sign_in_failed"
    mixed = Browser(browser.service, browser.provider, name="other")
    url = await mixed.url()
    assert url.startswith(other_provider.url)
    assert query_of(await mixed.back(browser.provider.authorized(url)))["error"] == "sign_in_failed"


async def test_a_state_works_once(browser: Browser) -> None:
    parameters = browser.provider.authorized(await browser.url())
    assert "code" in query_of(await browser.back(parameters))
    assert (await browser.back(parameters)).code == "sign_in_failed"
    assert (await browser.back(parameters | {"state": "made-up"})).code == "sign_in_failed"


async def test_nobody_is_signed_in_as_who_has_begun_elsewhere(browser: Browser, front: Inside) -> None:
    attacker = Browser(front, browser.provider)
    # The victim's browser is led through the attacker's sign-in; the front end there has another verifier.
    code = await attacker.code()
    assert (await browser.redeem(code)).code == "sign_in_failed"
    assert (await attacker.redeem(code)).code == "sign_in_failed"  # tried once


@with_each(
    "next_",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "https://app.example.evil.example/",
        "https://app.example@evil.example/",
        "https://app.example:444/",
        "javascript:alert(1)",
        "/a\nb",
        "",
    ],
)
async def test_a_sign_in_leads_to_no_other_place(browser: Browser, next_: str) -> None:
    answer = await browser.start(next=next_)
    assert answer.status == 422
    assert "next" in answer.fields


async def test_a_sign_in_leads_back_to_a_front_end_of_the_settings(browser: Browser) -> None:
    browser.next = "https://app.example/signed-in?tab=1#part"
    answer = await browser.back(browser.provider.authorized(await browser.url()))
    place = urlsplit(answer.header("location") or "")
    assert (place.netloc, place.fragment) == ("app.example", "part")
    assert dict(parse_qsl(place.query)).keys() == {"tab", "code"}


async def test_a_front_end_without_a_challenge_is_refused(browser: Browser) -> None:
    assert (await browser.start(challenge=None)).fields == ["challenge"]
    assert (await browser.start(challenge="short")).fields == ["challenge"]


async def test_the_request_to_the_provider_has_all_that_protects_it(browser: Browser) -> None:
    query = dict(parse_qsl(urlsplit(await browser.url()).query))
    assert query["redirect_uri"] == f"{PUBLIC}/api/auth/oidc/good/callback"
    assert len(query["state"]) > 40
    assert len(query["nonce"]) > 40
    assert query["scope"].split() == ["openid", "profile", "email"]


async def test_keys_of_the_provider_change(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    await browser.sign_in()
    monkeypatch.setattr("service.features.oidc.provider.AGAIN", 0.0)
    second = new_key("second")
    browser.provider.keys, browser.provider.sign_with = [second], second
    browser.provider.header = {"kid": "second"}
    await browser.sign_in()
    # What was withdrawn is not believed any more.
    browser.provider.sign_with, browser.provider.header = browser.provider.key, {"kid": "first"}
    assert await browser.error() == "sign_in_failed"
    browser.provider.keys, browser.provider.sign_with = [browser.provider.key], None
    await browser.sign_in()


async def test_tokens_of_unknown_keys_do_not_make_the_service_ask_each_time(browser: Browser) -> None:
    browser.provider.header = {"kid": "unknown"}
    await browser.error()
    browser.provider.asked.clear()
    for _ in range(5):
        assert await browser.error() == "sign_in_failed"
    assert browser.provider.asked.count("/keys") <= 1


async def test_a_step_up_is_asked_for_and_an_older_login_is_not_enough(
    browser: Browser, front: Inside
) -> None:
    token = await browser.sign_in()
    assert claims_of(token).acr == "pwd"
    order = {"next": "/front", "challenge": browser.challenge, "acr": "mfa", "maxAge": 60}
    answer = await front.ask("POST", "/api/auth/oidc/good/step-up", order, token=token)
    url = answer.json["data"]["url"]
    query = dict(parse_qsl(urlsplit(url).query))
    assert (query["acr_values"], query["max_age"]) == ("strong passkey", "60")

    browser.provider.changes = {"acr": "strong", "auth_time": int(time.time()) - 600}
    assert query_of(await browser.back(browser.provider.authorized(url)))["error"] == "sign_in_failed"

    answer = await front.ask("POST", "/api/auth/oidc/good/step-up", order, token=token)
    browser.provider.changes = {"acr": "strong", "amr": ["pwd", "otp"]}
    back = await browser.back(browser.provider.authorized(answer.json["data"]["url"]))
    claims = claims_of((await browser.redeem(query_of(back)["code"])).json["data"]["accessToken"])
    assert (claims.acr, claims.amr) == ("mfa", ("pwd", "otp"))


async def test_what_a_provider_calls_strong_counts_only_if_the_settings_say_so(browser: Browser) -> None:
    browser.provider.changes = {"acr": "phr", "auth_time": None}
    claims = claims_of(await browser.sign_in())
    assert claims.acr == "pwd"
    assert claims.auth_time == 1.0  # long ago: the provider does not say


async def test_a_step_up_by_somebody_else_is_refused(browser: Browser, front: Inside) -> None:
    token = await browser.sign_in()
    order = {"next": "/front", "challenge": browser.challenge}
    answer = await front.ask("POST", "/api/auth/oidc/good/step-up", order, token=token)
    browser.provider.subject = "somebody-else"
    back = await browser.back(browser.provider.authorized(answer.json["data"]["url"]))
    assert (await browser.redeem(query_of(back)["code"])).code == "sign_in_failed"


async def test_an_account_is_linked_after_a_login_and_signs_in_then(
    front: Inside, other_provider: HostileProvider
) -> None:
    other_provider.reset()
    browser = Browser(front, other_provider, name="other")
    assert (await browser.redeem(await browser.code())).code == "sign_in_failed"  # create = never

    heron = await member(front, f"h{other_provider.subject}", "system:file:list")
    order = {"next": "/front", "challenge": browser.challenge}
    answer = await heron.ask("POST", "/api/auth/oidc/other/link", order)
    url = answer.json["data"]["url"]
    assert dict(parse_qsl(urlsplit(url).query))["max_age"] == "300"
    back = await browser.back(other_provider.authorized(url))
    assert (await browser.redeem(query_of(back)["code"])).status == 200

    assert (await info(front, await browser.sign_in()))["userId"] == heron.user_id
    await heron.log_in()
    notices = (await heron.ask("GET", "/api/user/profile/notices")).json["data"]["items"]
    assert "identity_linked" in {each["kind"] for each in notices}

    # Nobody links what is linked with somebody else.
    crane = await member(front, f"c{other_provider.subject}")
    answer = await crane.ask("POST", "/api/auth/oidc/other/link", order)
    back = await browser.back(other_provider.authorized(answer.json["data"]["url"]))
    assert (await browser.redeem(query_of(back)["code"])).code == "sign_in_failed"


async def log_out(front: Inside, token: str, name: str = "good") -> Any:
    return await front.as_anonymous_form(f"/api/auth/oidc/{name}/backchannel-logout", {"logout_token": token})


async def test_a_logout_at_the_provider_ends_the_session_of_that_sign_in_once(
    browser: Browser, front: Inside
) -> None:
    token = await browser.sign_in()
    order = browser.provider.logout_token()
    assert (await log_out(front, order)).status == 200
    assert (await front.ask("GET", "/api/user/info", token=token)).status == 401

    token = await browser.sign_in()
    assert (await log_out(front, order)).status == 400  # sent before
    assert (await front.ask("GET", "/api/user/info", token=token)).status == 200


@with_each(
    "changes",
    [
        {"events": None},
        {"events": {}},
        {"nonce": "n"},
        {"jti": None},
        {"sub": None, "sid": None},
        {"aud": "another-client"},
        {"iss": "https://evil.example"},
        {"iat": 1},
    ],
)
async def test_a_logout_token_that_is_none_ends_nothing(
    browser: Browser, front: Inside, changes: dict[str, Any]
) -> None:
    token = await browser.sign_in()
    assert (await log_out(front, browser.provider.logout_token(**changes))).status == 400
    assert (await log_out(front, browser.provider.id_token("n"))).status == 400
    assert (await front.ask("GET", "/api/user/info", token=token)).status == 200


async def test_a_logout_of_another_session_ends_nothing(browser: Browser, front: Inside) -> None:
    token = await browser.sign_in()
    assert (await log_out(front, browser.provider.logout_token(sid="another"))).status == 200
    assert (await front.ask("GET", "/api/user/info", token=token)).status == 200


async def test_a_logout_here_leads_to_the_logout_of_the_provider(browser: Browser, front: Inside) -> None:
    token = await browser.sign_in()
    answer = await front.ask("POST", "/api/auth/oidc/logout", token=token)
    url = urlsplit(answer.json["data"]["url"])
    assert (f"{url.scheme}://{url.netloc}{url.path}") == f"{browser.provider.url}/logout"
    assert dict(parse_qsl(url.query))["post_logout_redirect_uri"] == f"{PUBLIC}/"
    assert (await front.ask("GET", "/api/user/info", token=token)).status == 401


async def test_an_unknown_provider_is_not_there(front: Inside) -> None:
    browser = Browser(front, HostileProvider(), name="nobody")
    answer = await browser.start()
    assert (answer.status, answer.code) == (404, "not_found")


async def test_refusals_of_sign_ins_are_in_the_login_log(browser: Browser, front: Inside) -> None:
    code = await browser.code()
    await browser.redeem(code)
    await asyncio.sleep(0)
    token = await browser.sign_in()
    assert token
    names = {f"u-{browser.provider.subject}"}
    for _ in range(100):
        page = await front.data("GET", "/api/login-log/list?size=100")
        if names <= {each["userName"] for each in page["items"] if each["event"] == "login"}:
            return
        await asyncio.sleep(0.05)
    pytest.fail("the login is not in the log")
