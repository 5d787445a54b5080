"""Step-up: new tokens of the same session, which say how and when their user has proved it again."""

import asyncio
from typing import Any

import pytest

from service.authn.second_factors import ACR, Method, is_weaker
from service.kernel.assurance import STRENGTHS, Acr, Authentication, words_at
from tests.features.second_factors.conftest import PASSWORD, Person, public
from tests.features.second_factors.test_second_step import claims_of, is_login_failed
from tests.support.cases import with_each
from tests.support.inside import Inside

STEP_UP = "/api/auth/step-up"


async def test_a_password_proves_somebody_without_a_factor_again(person: Person) -> None:
    before = claims_of(person.token)
    assert await person.data("POST", f"{STEP_UP}/options") == {
        "methods": ["password"],
        "publicKey": None,
        "expiresIn": 300,
    }
    pair = await person.data("POST", STEP_UP, {"method": "password", "password": PASSWORD})
    after = claims_of(pair["accessToken"])
    assert (after["acr"], after["amr"], after["sid"]) == ("pwd", ["pwd"], before["sid"])
    assert after["auth_time"] == after["iat"] > before["auth_time"]
    wrong = await person.ask("POST", STEP_UP, {"method": "password", "password": "another one"})
    assert is_login_failed(wrong)


async def test_who_has_a_factor_steps_up_with_a_factor(person: Person) -> None:
    await person.enrol_app()
    answer = await person.ask("POST", STEP_UP, {"method": "password", "password": PASSWORD})
    assert (answer.status, answer.json["code"]) == (401, "second_factor_required")
    assert answer.json["methods"] == ["totp", "recovery_code"]
    assert "challenge" not in answer.json


@pytest.mark.parametrize(("method", "acr"), [("totp", "mfa"), ("recovery_code", "mfa"), ("passkey", "phr")])
async def test_a_factor_raises_the_session(person: Person, method: str, acr: str) -> None:
    await person.enrol_app()
    before = claims_of(person.token)
    assert before["acr"] == "pwd"  # enrolling raises nothing
    await person.step_up()
    await person.enrol_passkey()
    options = await person.data("POST", f"{STEP_UP}/options")
    assert options["methods"] == ["passkey", "totp", "recovery_code"]
    proofs: dict[str, dict[str, Any]] = {
        "totp": {"code": person.code()},
        "recovery_code": {"code": person.codes[0]},
        "passkey": {"credential": person.passkey.sign_in(options["publicKey"])},
    }
    pair = await person.data("POST", STEP_UP, {"method": method, **proofs[method]})
    claims = claims_of(pair["accessToken"])
    assert (claims["acr"], claims["sid"]) == (acr, before["sid"])
    assert claims["amr"][0] == "pwd"
    refreshed = await public(person.site, "/api/auth/refresh", {"refreshToken": pair["refreshToken"]})
    after = claims_of(refreshed.json["data"]["accessToken"])
    assert (after["acr"], after["auth_time"]) == (acr, claims["auth_time"])


async def test_an_older_token_takes_no_strength_from_its_session(person: Person) -> None:
    await person.enrol_app()
    await person.step_up()
    await person.enrol_passkey()
    older = person.token

    async def by_passkey() -> dict[str, Any]:
        options = await person.data("POST", f"{STEP_UP}/options")
        credential = person.passkey.sign_in(options["publicKey"])
        pair: dict[str, Any] = await person.data(
            "POST", STEP_UP, {"method": "passkey", "credential": credential}
        )
        return pair

    await by_passkey()
    weaker = {"method": "totp", "code": person.code()}
    refused = await person.site.ask("POST", STEP_UP, weaker, token=older)
    assert (refused.status, refused.json["code"]) == (401, "refresh_required")
    pair = await by_passkey()  # nor is a proof that is as strong refused to it
    renewed = await public(person.site, "/api/auth/refresh", {"refreshToken": pair["refreshToken"]})
    assert claims_of(renewed.json["data"]["accessToken"])["acr"] == "phr"


@with_each("rests_on", STRENGTHS)
@with_each("method", ACR)
def test_a_proof_that_is_not_weaker_takes_no_word_away(rests_on: Acr, method: Method) -> None:
    now = 1_800_000_000.0
    after = words_at(Authentication(ACR[method], auth_time=now), now)
    earlier = [words_at(Authentication(rests_on, auth_time=now - age), now) for age in (0, 901, 43_201)]
    keeps = [after.codes >= before.codes for before in earlier]
    assert is_weaker(method, rests_on) or all(keeps)
    assert not (is_weaker(method, rests_on) and any(keeps))


async def test_wrong_proofs_are_login_failed_and_raise_nothing(site: Inside, person: Person) -> None:
    await person.enrol_app()
    await person.step_up()
    await person.enrol_passkey()
    options = await person.data("POST", f"{STEP_UP}/options")
    login = (await public(site, "/api/auth/login/passkey/options")).json["data"]
    for body in (
        {"method": "totp", "code": "x"},
        {"method": "recovery_code", "code": "A" * 24},
        {"method": "passkey", "credential": {}},
        {"method": "passkey", "credential": person.passkey.sign_in(login["publicKey"])},
        {
            "method": "passkey",
            "credential": person.passkey.sign_in(options["publicKey"], origin="https://a.example"),
        },
    ):
        assert is_login_failed(await person.ask("POST", STEP_UP, body)), body
    for body in ({"method": "totp"}, {"method": "passkey"}, {"method": "password"}):
        assert (await person.ask("POST", STEP_UP, body)).status == 422


async def test_an_answer_to_the_options_of_another_is_refused(site: Inside, person: Person) -> None:
    await person.enrol_passkey()
    person.token = (
        await person.data("POST", STEP_UP, {"method": "recovery_code", "code": person.codes.pop()})
    )["accessToken"]
    options = await person.data("POST", f"{STEP_UP}/options")
    credential = person.passkey.sign_in(options["publicKey"])
    body = {"method": "passkey", "credential": credential}
    assert is_login_failed(await site.ask("POST", STEP_UP, body))
    assert (await person.ask("POST", STEP_UP, body)).status == 200
    assert is_login_failed(await person.ask("POST", STEP_UP, body))


async def test_the_refresh_token_before_is_spent(person: Person) -> None:
    refresh = (await person.first_step(device="tablet")).json["data"]
    person.token = refresh["accessToken"]
    pair = await person.data("POST", STEP_UP, {"method": "password", "password": PASSWORD})
    old = await public(person.site, "/api/auth/refresh", {"refreshToken": refresh["refreshToken"]})
    assert (old.status, old.json["reason"]) == (401, "superseded")
    new = await public(person.site, "/api/auth/refresh", {"refreshToken": pair["refreshToken"]})
    assert new.status == 200


async def test_step_ups_and_refreshes_at_once_end_no_session(person: Person) -> None:
    pair = (await person.first_step()).json["data"]
    person.token = pair["accessToken"]
    body = {"method": "password", "password": PASSWORD}
    answers = await asyncio.gather(
        *(person.ask("POST", STEP_UP, body) for _ in range(3)),
        public(person.site, "/api/auth/refresh", {"refreshToken": pair["refreshToken"]}),
    )
    assert {answer.status for answer in answers[:3]} == {200}
    assert (await person.ask("GET", "/api/user/info")).status == 200


async def test_an_ended_session_is_not_raised(person: Person) -> None:
    assert (await person.ask("POST", "/api/auth/logout")).status == 200
    answer = await person.ask("POST", STEP_UP, {"method": "password", "password": PASSWORD})
    assert (answer.status, answer.json["code"]) == (401, "refresh_required")


async def test_step_ups_are_limited(person: Person) -> None:
    await person.enrol_app()
    statuses = [
        (await person.ask("POST", STEP_UP, {"method": "totp", "code": "x"})).status for _ in range(21)
    ]
    assert statuses == [401] * 20 + [429]


async def test_wrong_logins_of_others_keep_nobody_from_a_step_up(person: Person) -> None:
    wrong = [(await person.first_step("another one")).status for _ in range(11)]
    assert wrong == [401] * 10 + [429]
    assert (await person.ask("POST", STEP_UP, {"method": "password", "password": PASSWORD})).status == 200


async def test_an_api_key_has_nothing_to_step_up(site: Inside) -> None:
    account = await site.data("POST", "/api/user", {"userName": "robot", "nickName": "R", "kind": "service"})
    key = (await site.data("POST", f"/api/user/{account['id']}/keys", {"name": "x"}))["key"]
    for target, body in ((f"{STEP_UP}/options", None), (STEP_UP, {"method": "password", "password": "x"})):
        assert (await site.ask("POST", target, body, token=key)).code == "permission_denied"
