"""More that a hostile provider or browser tries: each is refused, and holds up nobody."""

import asyncio
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from joserfc.jwk import ECKey, OctKey, RSAKey

from tests.features.oidc.conftest import Browser, query_of
from tests.features.oidc.hostile import HostileProvider, new_key
from tests.support.cases import with_each
from tests.support.inside import Inside

DISCOVERY = "/.well-known/openid-configuration"


async def test_a_code_of_another_sign_in_is_refused_whatever_the_provider_takes(browser: Browser) -> None:
    browser.provider.lenient = True
    stolen = browser.provider.authorized(await browser.url())
    swapped = browser.provider.authorized(await browser.url(), code=stolen["code"])
    assert query_of(await browser.back(swapped))["error"] == "sign_in_failed"
    # Nor is one that was used: each sign-in has a nonce of its own.
    await browser.back(stolen)
    replayed = browser.provider.authorized(await browser.url(), code=stolen["code"])
    assert query_of(await browser.back(replayed))["error"] == "sign_in_failed"


async def test_of_many_callbacks_with_a_state_one_is_answered(browser: Browser) -> None:
    browser.provider.lenient = True
    parameters = browser.provider.authorized(await browser.url())
    answers = await asyncio.gather(*(browser.back(parameters) for _ in range(4)))
    assert [answer.status for answer in answers].count(303) == 1
    assert {answer.code for answer in answers if answer.status != 303} == {"sign_in_failed"}


async def test_of_many_orders_with_a_code_one_gets_the_tokens(browser: Browser) -> None:
    code = await browser.code()
    answers = await asyncio.gather(*(browser.redeem(code) for _ in range(4)))
    assert sorted(answer.status for answer in answers) == [200] + [401] * 3


@with_each("next_", ["https://evil.example/", "//evil.example", "/\\evil.example"])
@with_each("way", ["link", "step-up"])
async def test_linking_and_stepping_up_lead_to_no_other_place(
    browser: Browser, front: Inside, way: str, next_: str
) -> None:
    order = {"next": next_, "challenge": browser.challenge}
    answer = await front.ask("POST", f"/api/auth/oidc/good/{way}", order)
    assert answer.status == 422
    assert "next" in answer.fields


async def test_a_provider_names_no_key_by_its_place(browser: Browser) -> None:
    own = new_key("own")
    browser.provider.sign_with = own
    for header in ({"jku": f"{browser.provider.url}/own"}, {"x5u": f"{browser.provider.url}/own"}):
        browser.provider.header = {"kid": "own"} | header
        assert await browser.error() == "sign_in_failed"
    assert "/own" not in browser.provider.asked


@with_each(
    "header",
    [
        {"crit": ["exp"], "exp": 1},
        {"b64": False, "crit": ["b64"]},
        {"typ": "at+jwt"},
        {"typ": "logout+jwt"},
        {"kid": ["first"]},
        {"alg": "RS257"},
        {"alg": "nOnE"},
        {"alg": ["RS256"]},
    ],
)
async def test_a_header_that_is_not_usual_is_refused(browser: Browser, header: dict[str, Any]) -> None:
    browser.provider.header = {"kid": "first"} | header
    assert await browser.error() == "sign_in_failed"


@pytest.mark.usefixtures("fresh")
async def test_a_token_that_names_no_key_is_believed_where_there_is_one(browser: Browser) -> None:
    browser.provider.header = {}
    await browser.sign_in()
    browser.provider.keys = [browser.provider.key, new_key("second")]
    assert await browser.error() == "sign_in_failed"


@pytest.mark.filterwarnings("ignore:Key size")
@pytest.mark.usefixtures("fresh")
async def test_keys_that_fit_no_algorithm_are_not_used(browser: Browser) -> None:
    provider = browser.provider
    weak = RSAKey.import_key(rsa.generate_private_key(65537, 1024), {"kid": "weak"})
    provider.keys, provider.sign_with, provider.header = [provider.key, weak], weak, {"kid": "weak"}
    assert await browser.error() == "sign_in_failed"

    shared = OctKey.import_key(b"a shared key that everybody knows", {"kid": "shared"})
    provider.keys, provider.algorithm, provider.header = [shared], "HS256", {"kid": "shared"}
    provider.sign_with = b"a shared key that everybody knows"
    assert await browser.error() == "sign_in_failed"

    other = ECKey.import_key(ec.generate_private_key(ec.SECP256R1()), {"kid": "ec"})
    provider.keys, provider.sign_with, provider.algorithm = [other], other, "ES256"
    provider.header = {"kid": "ec"}
    assert await browser.error() == "sign_in_failed"  # it is not announced
    provider.metadata = {"id_token_signing_alg_values_supported": ["ES256"]}
    await browser.sign_in()
    provider.header = {"kid": "ec", "alg": "RS256"}
    assert await browser.error() == "sign_in_failed"


@pytest.mark.usefixtures("fresh")
@with_each(
    "key",
    [
        {"kty": ["RSA"]},
        {"kty": "RSA", "n": 1},
        {"kty": "RSA", "kid": ["first"]},
        {"kty": "EC", "crv": {}},
        7,
        None,
    ],
)
async def test_keys_that_are_malformed_are_left_out(browser: Browser, key: Any) -> None:
    honest = [each.as_dict(private=False) for each in browser.provider.keys]
    browser.provider.answers["/keys"] = json.dumps({"keys": [key, *honest]}).encode()
    await browser.sign_in()
    browser.provider.answers["/keys"] = json.dumps({"keys": [key]}).encode()
    assert await browser.error() == "sign_in_failed"


@pytest.mark.usefixtures("fresh")
async def test_of_two_keys_with_one_name_none_is_taken(browser: Browser) -> None:
    browser.provider.keys = [browser.provider.key, new_key("first")]
    assert await browser.error() == "sign_in_failed"


@pytest.mark.usefixtures("fresh")
@with_each("path", [DISCOVERY, "/keys", "/userinfo"])
@with_each("how", ["drips", "compressed", "redirected", "giant"])
async def test_no_answer_holds_up_a_worker_or_is_believed(
    hasty: Inside, provider: HostileProvider, path: str, how: str
) -> None:
    provider.reset()
    provider.userinfo = {}
    browser = Browser(hasty, provider)
    parameters = None
    if path != DISCOVERY:
        parameters = provider.authorized(await browser.url())
    if how == "drips":
        provider.dripping = {path}
    elif how == "compressed":
        provider.encoding = "gzip"
    elif how == "redirected":
        provider.redirect = f"{provider.url}{path}"
    else:
        provider.answers[path] = b'{"keys": "' + b"x" * 600_000 + b'"}'
        provider.userinfo = {"groups": ["x" * 600_000]}
    waiting = asyncio.create_task(browser.start() if parameters is None else browser.back(parameters))
    assert (await hasty.ask("GET", "/api/user/info")).status == 200
    answer = await waiting
    assert not provider.dripped  # it had more to send
    place = answer.header("location") or ""
    assert "code=" not in place.partition("?")[2].split("&")[0]
    assert answer.status == 503 or "error=sign_in_failed" in place


@pytest.mark.usefixtures("fresh")  # tests before have left other keys
async def test_a_callback_of_a_front_end_is_worth_nothing_in_another(browser: Browser, front: Inside) -> None:
    victim = Browser(front, browser.provider)
    await victim.url()
    parameters = browser.provider.authorized(await browser.url())
    code = query_of(await victim.back(parameters))["code"]  # led into the browser of somebody else
    assert (await victim.redeem(code)).code == "sign_in_failed"
