"""Enrolling, listing and removing one's own factors."""

import asyncio
import base64
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from service.features.second_factors.own_factors import MOST
from service.kernel.assurance import Authentication, Satisfied, words_at
from tests.features.second_factors.conftest import ORIGIN, Person, public
from tests.support.authenticator import Passkey
from tests.support.inside import Inside
from tests.support.members import query
from tests.web.driver import Answer

FACTORS = "/api/user/profile/factors"


async def kinds(person: Person) -> list[str]:
    return [factor["kind"] for factor in (await person.data("GET", FACTORS))["items"]]


async def test_an_app_is_a_factor_once_its_code_was_confirmed(person: Person) -> None:
    app = await person.data("POST", f"{FACTORS}/totp", {})
    assert parse_qs(urlsplit(app["uri"]).query)["secret"] == [app["secret"]]
    assert len(base64.b32decode(app["secret"])) == 20
    assert unquote(app["qr"]).startswith("data:image/svg+xml,<svg")
    assert await kinds(person) == []
    await person.log_in()  # which is no factor yet
    codes = await person.enrol_app()
    assert codes is not None
    assert len(set(codes)) == 10
    [listed, _codes] = (await person.data("GET", FACTORS))["items"]
    assert (listed["kind"], listed["name"], listed["id"]) == ("totp", "My phone", person.app)
    assert await kinds(person) == ["totp", "recovery_codes"]


async def test_a_wrong_code_confirms_nothing_and_may_be_corrected(person: Person) -> None:
    app = await person.data("POST", f"{FACTORS}/totp", {})
    person.secret = base64.b32decode(app["secret"])
    right = person.code()
    confirm = f"{FACTORS}/totp/{app['id']}/confirm"
    wrong = await person.ask("POST", confirm, {"code": f"{(int(right) + 500_000) % 1_000_000:06}"})
    assert (wrong.status, wrong.json["errors"][0]["field"]) == (422, "code")
    assert (await person.ask("POST", confirm, {"code": right})).status == 200
    await person.step_up()
    assert (await person.ask("POST", confirm, {"code": right})).status == 404


async def test_one_app_at_a_time_waits_for_its_code(person: Person) -> None:
    first = await person.data("POST", f"{FACTORS}/totp", {})
    await person.enrol_app()
    await person.step_up()
    person.secret = base64.b32decode(first["secret"])
    answer = await person.ask("POST", f"{FACTORS}/totp/{first['id']}/confirm", {"code": person.code()})
    assert answer.status == 404


async def test_an_app_waits_for_ten_minutes(person: Person) -> None:
    app = await person.data("POST", f"{FACTORS}/totp", {})
    older = "UPDATE sys.user_factor SET create_time = now() - interval '10 minutes 1 second' WHERE id = %s"
    person.site.beside().execute(older, [app["id"]])
    person.secret = base64.b32decode(app["secret"])
    answer = await person.ask("POST", f"{FACTORS}/totp/{app['id']}/confirm", {"code": person.code()})
    assert answer.status == 404


async def test_nobody_confirms_the_app_of_another(site: Inside, person: Person) -> None:
    app = await person.data("POST", f"{FACTORS}/totp", {})
    person.secret = base64.b32decode(app["secret"])
    answer = await site.ask("POST", f"{FACTORS}/totp/{app['id']}/confirm", {"code": person.code()})
    assert answer.status == 404
    assert (await site.ask("DELETE", f"{FACTORS}/{app['id']}")).status == 404


async def test_a_passkey_is_a_factor_and_the_first_one_brings_recovery_codes(person: Person) -> None:
    enrolled = await person.enrol_passkey()
    assert (enrolled["kind"], enrolled["name"]) == ("passkey", "My key")
    assert len(enrolled["recoveryCodes"]) == 10
    await log_in_with_codes(person)
    assert (await person.enrol_passkey(Passkey("id.example.com", ORIGIN)))["recoveryCodes"] is None
    assert await kinds(person) == ["passkey", "recovery_codes", "passkey"]


async def log_in_with_codes(person: Person) -> None:
    refusal = await person.challenged()
    answer = await person.second_step(refusal["challenge"], "recovery_code", code=person.codes.pop())
    person.token = answer.json["data"]["accessToken"]


async def test_a_passkey_answers_its_own_options_once(site: Inside, person: Person) -> None:
    options = (await person.data("POST", f"{FACTORS}/passkey/options"))["publicKey"]
    body = {"name": "x", "credential": person.passkey.register(options)}
    assert (await site.ask("POST", f"{FACTORS}/passkey", body)).status == 422  # somebody else
    forged = {"name": "x", "credential": person.passkey.register(options, origin="https://evil.example")}
    assert (await person.ask("POST", f"{FACTORS}/passkey", forged)).status == 422
    assert (await person.ask("POST", f"{FACTORS}/passkey", body)).status == 201
    assert (await person.ask("POST", f"{FACTORS}/passkey", body)).status in (401, 422)
    assert await kinds(person) == ["passkey", "recovery_codes"]


async def test_the_same_passkey_is_enrolled_once(site: Inside, person: Person) -> None:
    await person.enrol_passkey()
    options = (await site.data("POST", f"{FACTORS}/passkey/options"))["publicKey"]
    body = {"name": "x", "credential": person.passkey.register(options)}
    answer = await site.ask("POST", f"{FACTORS}/passkey", body)
    assert (answer.status, answer.json["rule"]) == (409, "unique")


async def test_new_recovery_codes_replace_the_ones_before(person: Person) -> None:
    assert (await person.ask("POST", f"{FACTORS}/recovery-codes")).status == 409  # without a factor
    before = await person.enrol_app()
    assert before is not None
    await person.log_in_by_app()
    after = (await person.data("POST", f"{FACTORS}/recovery-codes"))["recoveryCodes"]
    assert set(after).isdisjoint(before)
    assert await kinds(person) == ["totp", "recovery_codes"]
    refusal = await person.challenged()
    assert (await person.second_step(refusal["challenge"], "recovery_code", code=before[0])).status == 401
    assert (await person.second_step(refusal["challenge"], "recovery_code", code=after[0])).status == 200


async def test_with_the_last_factor_the_recovery_codes_go(person: Person) -> None:
    await person.enrol_app()
    await person.log_in_by_app()
    await person.enrol_passkey()
    assert (await person.ask("DELETE", f"{FACTORS}/{person.app}")).status == 200
    await person.renew()
    assert await kinds(person) == ["recovery_codes", "passkey"]
    passkey = (await person.data("GET", FACTORS))["items"][-1]["id"]
    assert (await person.ask("DELETE", f"{FACTORS}/{passkey}")).status == 200
    await person.renew()
    assert await kinds(person) == []
    assert (await person.ask("DELETE", f"{FACTORS}/{passkey}")).status == 404
    await person.log_in()


async def test_a_removed_factor_ends_the_other_sessions_of_its_user(person: Person) -> None:
    await person.enrol_app()
    await person.log_in_by_app()
    lost = await person.enrol_passkey()
    options = (await public(person.site, "/api/auth/login/passkey/options")).json["data"]
    credential = person.passkey.sign_in(options["publicKey"])
    body = {"challenge": options["challenge"], "credential": credential, "device": "stolen"}
    thief = (await public(person.site, "/api/auth/login/passkey", body)).json["data"]
    assert (await person.ask("DELETE", f"{FACTORS}/{lost['id']}")).status == 200
    refused = await person.site.ask("GET", "/api/user/info", token=thief["accessToken"])
    assert refused.status == 401
    refused = await public(person.site, "/api/auth/refresh", {"refreshToken": thief["refreshToken"]})
    assert refused.json["code"] == "refresh_rejected"
    await person.renew()
    assert await kinds(person) == ["totp", "recovery_codes"]


async def test_the_last_way_to_sign_in_is_not_removed_with_a_passkey(person: Person) -> None:
    await person.enrol_app()
    await person.log_in_by_app()
    first = await person.enrol_passkey()
    await query(person.site, "UPDATE sys.user SET password_hash = NULL WHERE id = %s", person.id)
    refused = await person.ask("DELETE", f"{FACTORS}/{first['id']}")
    assert (refused.status, refused.json["rule"]) == (409, "last_way_in")
    second = await person.enrol_passkey(Passkey("id.example.com", ORIGIN))
    assert (await person.ask("DELETE", f"{FACTORS}/{second['id']}")).status == 200
    await person.renew()
    assert (await person.ask("DELETE", f"{FACTORS}/{first['id']}")).json["rule"] == "last_way_in"


async def test_two_first_factors_at_once_share_one_set_of_codes(person: Person) -> None:
    options = (await person.data("POST", f"{FACTORS}/passkey/options"))["publicKey"]
    app = await person.data("POST", f"{FACTORS}/totp", {})
    person.secret = base64.b32decode(app["secret"])
    answers = await asyncio.gather(
        person.ask(
            "POST", f"{FACTORS}/passkey", {"name": "x", "credential": person.passkey.register(options)}
        ),
        person.ask("POST", f"{FACTORS}/totp/{app['id']}/confirm", {"code": person.code()}),
    )
    brought = [answer for answer in answers if answer.status < 300 and answer.json["data"]["recoveryCodes"]]
    assert len(brought) == 1


async def test_factors_have_an_end(person: Person) -> None:
    await person.enrol_app()
    await person.log_in_by_app()
    more = (
        "INSERT INTO sys.user_factor (user_id, kind, factor_name, confirm_time, sealed_secret)"
        " SELECT %s, 'totp', 'x', now(), 'x' FROM generate_series(1, %s)"
    )
    person.site.beside().execute(more, [person.id, MOST - 2])
    options = (await person.data("POST", f"{FACTORS}/passkey/options"))["publicKey"]
    body = {"name": "x", "credential": person.passkey.register(options)}
    answer = await person.ask("POST", f"{FACTORS}/passkey", body)
    assert (answer.status, answer.json["rule"]) == (409, "limit")


@pytest.mark.parametrize("name", ["", "x" * 65, "a\x00b"])
async def test_a_factor_has_a_name_that_can_be_shown(person: Person, name: str) -> None:
    assert (await person.ask("POST", f"{FACTORS}/totp", {"name": name})).status == 422


async def test_a_service_account_has_no_factors(site: Inside) -> None:
    account = await site.data("POST", "/api/user", {"userName": "robot", "nickName": "R", "kind": "service"})
    key = (await site.data("POST", f"/api/user/{account['id']}/keys", {"name": "x"}))["key"]
    answer = await site.ask("POST", f"{FACTORS}/totp", {}, token=key)
    assert (answer.code, answer.json["layer"]) == ("permission_denied", "assurance")


async def test_browsers_find_where_passkeys_are_managed(site: Inside) -> None:
    answer = await site.as_anonymous("GET", "/.well-known/passkey-endpoints")
    assert answer.status == 200
    assert all(url.startswith(f"{ORIGIN}/") for url in answer.json.values())
    assert set(answer.json) == {"enroll", "manage"}


def demanded(answer: Answer) -> tuple[int, str, list[str], list[str], int]:
    problem = answer.json
    return answer.status, problem["code"], problem["required"], problem["methods"], problem["maxAge"]


GUARDS: Final = "service.web.requests.guard.words_at"
UNTIL: Final = "service.web.requests.guard.words_until"


def words_901_seconds_later(
    authentication: Authentication | None, now: float, *, by_key: bool = False
) -> Satisfied:
    return words_at(authentication, now + 901, by_key=by_key)


async def test_the_first_factor_needs_a_login_of_the_last_quarter_of_an_hour(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UNTIL, lambda *_: 0.0)  # an admission by such words is not kept
    monkeypatch.setattr(GUARDS, words_901_seconds_later)
    for target, body in ((f"{FACTORS}/totp", {}), (f"{FACTORS}/passkey/options", None)):
        refused = await person.ask("POST", target, body)
        expected = (401, "insufficient_user_authentication", ["@login-within-15m"], ["password"], 900)
        assert demanded(refused) == expected
    monkeypatch.setattr(GUARDS, words_at)
    assert (await person.ask("POST", f"{FACTORS}/totp", {})).status == 201


async def test_each_change_after_that_needs_two_factors_of_the_last_quarter_of_an_hour(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    await person.enrol_app()
    changes: list[tuple[str, str, object]] = [
        ("POST", f"{FACTORS}/totp", {}),
        ("POST", f"{FACTORS}/passkey/options", None),
        ("POST", f"{FACTORS}/recovery-codes", None),
        ("DELETE", f"{FACTORS}/{person.app}", None),
    ]
    expected = (
        *(401, "insufficient_user_authentication", ["@two-factors-within-15m"]),
        *(["totp", "recovery_code"], 900),
    )
    for change in changes:
        assert demanded(await person.ask(*change)) == expected
    await person.step_up()
    with monkeypatch.context() as patch:
        patch.setattr(UNTIL, lambda *_: 0.0)  # as above
        patch.setattr(GUARDS, words_901_seconds_later)
        for change in changes:
            assert demanded(await person.ask(*change)) == expected
    for change in changes:
        assert (await person.ask(*change)).status in (200, 201)
