"""Logins of users with second factors: the challenge, its answers, and what comes in between."""

import asyncio
import json
from base64 import urlsafe_b64decode
from collections import Counter
from typing import Any

import pytest

from service.features.second_factors import recovery_codes, store, totp
from service.keyspace import SessionStore
from service.keyspace.values import Opening
from service.records.database.transactions import Database
from tests.features.second_factors.conftest import PASSWORD, SETTINGS, Person, public
from tests.support.inside import Inside
from tests.support.inside_fixtures import ServiceWith
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.waiting import eventually_here
from tests.web.driver import Answer


def claims_of(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    claims: dict[str, Any] = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def is_login_failed(answer: Answer) -> bool:
    return (answer.status, answer.json["code"]) == (401, "login_failed")


async def by_passkey(person: Person, refusal: dict[str, Any], **other: Any) -> Answer:
    credential = person.passkey.sign_in(refusal["publicKey"], **other)
    return await person.second_step(refusal["challenge"], "passkey", credential=credential)


async def test_the_password_alone_opens_no_session_for_somebody_with_a_factor(person: Person) -> None:
    await person.enrol_app()
    refusal = await person.challenged()
    assert refusal["methods"] == ["totp", "recovery_code"]
    assert refusal["expiresIn"] == 300
    assert "publicKey" not in refusal
    assert is_login_failed(await person.first_step("another password"))


@pytest.mark.parametrize(("method", "acr"), [("totp", "mfa"), ("recovery_code", "mfa"), ("passkey", "phr")])
async def test_each_factor_completes_the_login_and_tokens_say_how(
    person: Person, method: str, acr: str
) -> None:
    await person.enrol_app()
    await person.log_in_by_app()
    await person.enrol_passkey()
    refusal = await person.challenged()
    assert refusal["methods"] == ["passkey", "totp", "recovery_code"]
    match method:
        case "totp":
            answer = await person.second_step(refusal["challenge"], "totp", code=person.code())
        case "recovery_code":
            code = person.codes[0].lower().replace("-", " ")
            answer = await person.second_step(refusal["challenge"], "recovery_code", code=code)
        case _:
            answer = await by_passkey(person, refusal)
    assert answer.status == 200, answer.body
    claims = claims_of(answer.json["data"]["accessToken"])
    assert claims["acr"] == acr
    assert claims["amr"][0] == "pwd"
    assert claims["amr"][-1] == "mfa"
    assert claims["auth_time"] == claims["iat"]
    refreshed = await public(
        person.site, "/api/auth/refresh", {"refreshToken": answer.json["data"]["refreshToken"]}
    )
    after = claims_of(refreshed.json["data"]["accessToken"])
    assert {name: after[name] for name in ("acr", "amr", "auth_time")} == {
        name: claims[name] for name in ("acr", "amr", "auth_time")
    }


async def test_a_code_counts_once(person: Person) -> None:
    await person.enrol_app()
    code = person.code()
    first, second = await person.challenged(), await person.challenged()
    assert (await person.second_step(first["challenge"], "totp", code=code)).status == 200
    again = await person.second_step(second["challenge"], "totp", code=code)
    assert is_login_failed(again)
    assert again.json["detailCode"] == "app_code_used"
    wrong = await person.second_step(second["challenge"], "totp", code=f"{(int(code) + 1) % 10**6:06}")
    assert is_login_failed(wrong)
    assert "detailCode" not in wrong.json


async def test_of_fifty_requests_with_one_code_at_once_one_wins(person: Person) -> None:
    await person.enrol_app()
    # Ten challenges, since each takes five answers; the limit on guesses counts them all.
    challenges = [(await person.challenged())["challenge"] for _ in range(10)]
    code = person.code()
    sent = [person.second_step(challenge, "totp", code=code) for challenge in challenges for _ in range(5)]
    answers = await asyncio.gather(*sent)
    assert {answer.status for answer in answers} <= {200, 401, 429}
    assert [answer.status for answer in answers].count(200) == 1


@pytest.mark.parametrize("kind", ["totp", "recovery_code"])
async def test_fifty_uses_of_one_code_at_once_in_the_database_are_one(person: Person, kind: str) -> None:
    await person.enrol_app()
    person.code()
    async with Database(person.site.database_url, pool_size=10, timeout=10) as opened:

        async def use() -> bool:
            async with opened.transaction() as connection:
                if kind == "totp":
                    [app] = await store.apps(connection, person.id)
                    return await store.use_app(connection, app, 10**9 // totp.PERIOD)
                digest = recovery_codes.digest_of(person.codes[0])
                assert digest is not None
                return await store.use_recovery_code(connection, person.id, digest) is not None

        assert sum(await asyncio.gather(*(use() for _ in range(50)))) == 1


async def test_one_challenge_opens_one_session_whatever_the_methods(person: Person) -> None:
    await person.enrol_app()
    challenge = (await person.challenged())["challenge"]
    answers = await asyncio.gather(
        person.second_step(challenge, "totp", code=person.code()),
        person.second_step(challenge, "recovery_code", code=person.codes[0]),
    )
    assert sorted(answer.status for answer in answers) == [200, 401]


async def test_a_page_that_knows_the_challenge_alone_reads_how_to_answer_it(person: Person) -> None:
    await person.enrol_passkey()
    refusal = await person.challenged()
    target, body = "/api/auth/login/second-factor/options", {"challenge": refusal["challenge"]}
    options = (await public(person.site, target, body)).json["data"]
    assert options == {name: refusal[name] for name in ("methods", "publicKey")}
    assert (await by_passkey(person, refusal | options)).status == 200
    assert is_login_failed(await public(person.site, target, body))  # spent


async def test_asking_how_to_answer_counts_as_an_answer(person: Person) -> None:
    await person.enrol_app()
    body = {"challenge": (await person.challenged())["challenge"]}
    for _ in range(5):
        asked = await public(person.site, "/api/auth/login/second-factor/options", body)
        assert asked.json["data"] == {"methods": ["totp", "recovery_code"], "publicKey": None}
    assert is_login_failed(await person.second_step(body["challenge"], "totp", code=person.code()))


async def test_five_wrong_codes_end_a_challenge(person: Person) -> None:
    await person.enrol_app()
    challenge = (await person.challenged())["challenge"]
    for _ in range(5):
        assert is_login_failed(await person.second_step(challenge, "recovery_code", code="A" * 24))
    assert is_login_failed(await person.second_step(challenge, "totp", code=person.code()))


async def test_wrong_spent_and_foreign_challenges_are_alike(site: Inside, person: Person) -> None:
    await person.enrol_app()
    spent = (await person.challenged())["challenge"]
    assert (await person.second_step(spent, "totp", code=person.code())).status == 200
    options = (await public(site, "/api/auth/login/passkey/options")).json["data"]
    refusals = [
        await person.second_step(challenge, "totp", code=person.code())
        for challenge in (spent, "x", "é", "A" * 43, options["challenge"])
    ]
    assert all(map(is_login_failed, refusals))
    details = [{**answer.json, "requestId": ""} for answer in refusals]
    assert all(detail == details[0] for detail in details)


async def test_a_challenge_is_of_one_user(site: Inside, person: Person) -> None:
    await person.enrol_app()
    other = Person(site, 0, f"{person.name}-other")
    body = {"userName": other.name, "nickName": "O", "password": PASSWORD}
    other.id = (await site.data("POST", "/api/user", body))["id"]
    await other.log_in()
    await other.enrol_app()
    challenge = (await other.challenged())["challenge"]
    assert is_login_failed(await person.second_step(challenge, "totp", code=person.code()))
    assert is_login_failed(await person.second_step(challenge, "recovery_code", code=person.codes[0]))


async def test_a_passkey_answers_once_and_for_this_service_only(person: Person) -> None:
    person.passkey.counter = 5
    await person.enrol_passkey()
    refusal = await person.challenged()
    assert is_login_failed(await by_passkey(person, refusal, origin="https://evil.example"))
    assert is_login_failed(await by_passkey(person, refusal, user_handle=b"somebody else"))
    credential = person.passkey.sign_in(refusal["publicKey"])
    assert (await person.second_step(refusal["challenge"], "passkey", credential=credential)).status == 200
    replayed = await person.second_step(refusal["challenge"], "passkey", credential=credential)
    assert is_login_failed(replayed)
    refusal = await person.challenged()
    assert is_login_failed(await person.second_step(refusal["challenge"], "passkey", credential=credential))


async def test_a_counter_that_went_back_is_refused(person: Person) -> None:
    person.passkey.counter = 5
    await person.enrol_passkey()
    assert (await by_passkey(person, await person.challenged())).status == 200
    person.passkey.counter = 5  # the next is 6 again
    assert is_login_failed(await by_passkey(person, await person.challenged()))
    assert (await by_passkey(person, await person.challenged())).status == 200


async def test_a_changed_password_ends_what_was_begun(site: Inside, person: Person) -> None:
    await person.enrol_app()
    challenge = (await person.challenged())["challenge"]
    new = {"newPassword": "eight wary herons at dawn"}
    assert (await site.ask("PUT", f"/api/user/{person.id}/password", new)).status == 200
    assert is_login_failed(await person.second_step(challenge, "totp", code=person.code()))


@pytest.mark.parametrize("state", ["disabled", "banned"])
async def test_who_is_kept_out_in_between_gets_no_session(site: Inside, person: Person, state: str) -> None:
    await person.enrol_app()
    challenge = (await person.challenged())["challenge"]
    if state == "disabled":
        await site.ask("PUT", f"/api/user/{person.id}/status", {"status": "disabled"})
    else:
        assert (await site.ask("POST", f"/api/online/{person.id}/ban", {"reason": "x"})).status == 200
    answer = await person.second_step(challenge, "totp", code=person.code())
    assert (answer.status, answer.json["code"]) == (403, f"account_{state}")


async def test_the_session_is_on_the_device_of_the_first_step(person: Person) -> None:
    await person.enrol_app()
    refusal = (await person.first_step(device="tablet")).json
    answer = await person.second_step(refusal["challenge"], "totp", code=person.code())
    assert claims_of(answer.json["data"]["accessToken"])["dev"] == "tablet"


async def test_codes_of_apps_are_limited_for_an_account_and_what_nobody_guesses_gives_no_tries_back(
    person: Person,
) -> None:
    async def guess(challenges: int, refused: int) -> None:
        statuses: Counter[int] = Counter()
        for _ in range(challenges):
            challenge = (await person.challenged())["challenge"]
            for _ in range(5):
                statuses[(await person.second_step(challenge, "totp", code="x")).status] += 1
        assert statuses == Counter({401: 5 * challenges - refused, 429: refused})

    await person.enrol_app()
    await person.log_in_by_app()
    await person.enrol_passkey()
    await guess(challenges=5, refused=5)
    assert (await by_passkey(person, await person.challenged())).status == 200
    await guess(challenges=1, refused=5)
    challenge = (await person.challenged())["challenge"]
    assert is_login_failed(await person.second_step(challenge, "recovery_code", code="A" * 24))
    assert (await person.second_step(challenge, "recovery_code", code=person.codes[0])).status == 200
    challenge = (await person.challenged())["challenge"]
    assert (await person.second_step(challenge, "totp", code=person.code())).status == 429


async def test_a_passkey_logs_in_alone(site: Inside, person: Person) -> None:
    await person.enrol_passkey()
    options = (await public(site, "/api/auth/login/passkey/options")).json["data"]
    assert options["publicKey"]["challenge"] == options["challenge"]
    body = {"challenge": options["challenge"], "credential": person.passkey.sign_in(options["publicKey"])}
    answer = await public(site, "/api/auth/login/passkey", body | {"device": "tablet"})
    assert answer.status == 200, answer.body
    claims = claims_of(answer.json["data"]["accessToken"])
    assert (claims["sub"], claims["dev"], claims["acr"]) == (str(person.id), "tablet", "phr")
    assert "pwd" not in claims["amr"]
    assert is_login_failed(await public(site, "/api/auth/login/passkey", body))


@pytest.mark.parametrize("method", ["passkey", "totp", "recovery_code"])
async def test_a_login_under_way_does_not_survive_the_reset_of_its_factor(
    site: Inside, person: Person, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await person.enrol_app()
    await person.log_in_by_app()
    await person.enrol_passkey()
    opening = SessionStore.open_session

    async def open_late(*args: Any, **facts: Any) -> Opening:
        monkeypatch.setattr(SessionStore, "open_session", opening)
        assert (await site.ask("DELETE", f"/api/user/{person.id}/factors")).status == 200
        return await opening(*args, **facts)

    if method == "passkey":
        options = (await public(site, "/api/auth/login/passkey/options")).json["data"]
        credential = person.passkey.sign_in(options["publicKey"])
        body = {"challenge": options["challenge"], "credential": credential}
        monkeypatch.setattr(SessionStore, "open_session", open_late)
        answer = await public(site, "/api/auth/login/passkey", body)
    else:
        code = person.code() if method == "totp" else person.codes[0]
        challenge = (await person.challenged())["challenge"]
        monkeypatch.setattr(SessionStore, "open_session", open_late)
        answer = await person.second_step(challenge, method, code=code)
    assert is_login_failed(answer), answer.body


async def test_alone_a_passkey_must_name_its_user(site: Inside, person: Person) -> None:
    await person.enrol_passkey()
    for handle in (b"", b"x" * 32):
        options = (await public(site, "/api/auth/login/passkey/options")).json["data"]
        credential = person.passkey.sign_in(options["publicKey"], user_handle=handle)
        body = {"challenge": options["challenge"], "credential": credential}
        assert is_login_failed(await public(site, "/api/auth/login/passkey", body))


async def test_the_login_log_tells_of_both_steps(person: Person) -> None:
    await person.enrol_app()
    await person.challenged()
    challenge = (await person.challenged())["challenge"]
    await person.second_step(challenge, "totp", code="x")
    await person.log_in_by_app()

    def entered() -> list[tuple[str, str]]:
        rows = "SELECT event, outcome FROM sys.login_log WHERE user_id = %s AND event <> 'evict' ORDER BY id"
        return person.site.beside().execute(rows, [person.id]).fetchall()

    assert await eventually_here(lambda: ("login", "success") in entered()[1:])
    assert entered()[1:] == [
        ("factor_add", "success"),
        *[("login_begun", "success")] * 2,
        ("login", "failure"),
        ("login_begun", "success"),
        ("login", "success"),
    ]


async def test_cookies_are_set_by_the_second_step_alone(service_with: ServiceWith) -> None:
    variables = SETTINGS | {
        "PORTCULLIS_AUTH__IS_READ_COOKIE": "true",
        "PORTCULLIS_AUTH__COOKIE_SECURE": "false",
    }
    async with service_with(**variables) as site:
        person = Person(site, 1, ADMINISTRATOR, site.token or "")
        await person.enrol_app()
        refused = await person.first_step(ADMINISTRATOR_PASSWORD)
        assert refused.json["code"] == "second_factor_required"
        assert "set-cookie" not in names_of(refused)
        challenge = refused.json["challenge"]
        wrong = await person.second_step(challenge, "totp", code="x")
        assert "set-cookie" not in names_of(wrong)
        answer = await person.second_step(challenge, "totp", code=person.code())
        assert names_of(answer).count("set-cookie") == 3


def names_of(answer: Answer) -> list[str]:
    return [name for name, _ in answer.headers]
