"""A forgotten password is set by a link to the confirmed address, and by the second factor of who has one."""

import asyncio
import json
from typing import Any

from service.features.operations import store_jobs as jobs
from service.records.database.transactions import Database
from tests.features.account_links.conftest import MAILING, NEW, Mailing, shape
from tests.features.second_factors.conftest import PASSWORD, Person
from tests.support.inside import Inside
from tests.support.inside_fixtures import ServiceWith
from tests.support.waiting import eventually_here
from tests.web.driver import JSON


async def enrolled(mailing: Mailing) -> Person:
    """Return somebody with an app and recovery codes."""
    person = await mailing.person()
    await person.log_in()
    await person.enrol_app()
    return person


async def test_a_link_sets_the_password_ends_all_sessions_and_opens_none(mailing: Mailing) -> None:
    person = await mailing.person()
    await person.log_in()
    token = await mailing.link(person)
    [mail] = mailing.mails(person.id, "password_reset")
    assert mail.recipient == f"{person.name}@example.org"
    assert mail.link == f"https://id.example.com/console#/password-reset?token={token}"
    answer = await mailing.confirm(token)
    assert (answer.status, answer.body) == (204, b"")
    assert not any(name == "set-cookie" for name, _ in answer.headers)
    assert (await person.ask("GET", "/api/user/info")).status == 401
    assert (await person.first_step(PASSWORD)).status == 401
    assert (await person.first_step(NEW)).status == 200
    assert [mail.recipient for mail in mailing.mails(person.id, "password_changed")] == [mail.recipient]


async def test_the_answer_to_a_request_is_the_same_for_everybody(mailing: Mailing) -> None:
    known, disabled, banned, unconfirmed, guest, robot = [
        await mailing.person(),
        await mailing.person(status="disabled"),
        await mailing.person(),
        await mailing.person(confirmed=False),
        await mailing.person(invite=True),
        await mailing.person(kind="service"),
    ]
    assert (await mailing.site.ask("POST", f"/api/online/{banned.id}/ban", {})).status == 200
    people = [known, disabled, banned, unconfirmed, guest, robot]
    answers = [await mailing.ask_for_link(name) for name in (*(each.name for each in people), "nobody")]
    assert [shape(answer) for answer in answers] == [shape(answers[0])] * len(answers)
    assert answers[0].status == 202
    await mailing.answer_requests()
    mailed = [each.name for each in people if mailing.mails(each.id, "password_reset")]
    assert mailed == [known.name]
    assert mailing.execute("SELECT * FROM sys.reset_request") == []


async def test_a_request_only_writes_the_name_down(mailing: Mailing) -> None:
    """Two names differ in nothing that the service does before it answers, so neither can the time."""
    person = await mailing.person()
    async with Database(mailing.site.database_url) as opened, opened.transaction(within=30) as holding:
        while not await jobs.try_lock(holding, "password-resets"):  # noqa: ASYNC110 - in PostgreSQL
            await asyncio.sleep(0.05)
        for name in (person.name.upper(), "nobody-here"):
            assert (await mailing.ask_for_link(name)).status == 202
        names = mailing.execute("SELECT user_name_key FROM sys.reset_request ORDER BY 1")
        assert names == [(person.name,), ("nobody-here",)]
        assert mailing.mails(person.id, "password_reset") == []


async def test_requests_of_strangers_neither_flood_nor_take_away_the_link(mailing: Mailing) -> None:
    person = await mailing.person()
    token = await mailing.link(person)
    for _ in range(3):
        assert (await mailing.ask_for_link(person.name)).status == 202
        await mailing.answer_requests()
    assert len(mailing.mails(person.id, "password_reset")) == 1
    assert (await mailing.confirm(token)).status == 204


async def test_a_later_link_ends_the_one_before(mailing: Mailing) -> None:
    person = await mailing.person()
    first = await mailing.link(person)
    later = "UPDATE sys.account_token SET create_time = now() - interval '21 minutes' WHERE user_id = %s"
    mailing.execute(later, person.id)
    second = await mailing.link(person)
    assert first != second
    assert (await mailing.confirm(first)).json["code"] == "link_invalid"
    assert (await mailing.confirm(second)).status == 204


async def test_wrong_expired_foreign_and_used_tokens_are_refused_alike(mailing: Mailing) -> None:
    person, late, other = [await mailing.person() for _ in range(3)]
    expired = await mailing.link(late)
    mailing.execute("UPDATE sys.account_token SET expires_time = now() WHERE user_id = %s", late.id)
    guest = await mailing.person(invite=True)
    await mailing.site.data("POST", f"/api/user/{guest.id}/invitation")
    foreign = mailing.mails(guest.id, "invitation")[-1].token
    used = await mailing.link(person)
    assert (await mailing.confirm(used)).status == 204
    stale = await mailing.link(other)
    await mailing.site.data("PUT", f"/api/user/{other.id}/password", {"newPassword": NEW})
    for target in ("confirm", "options"):
        body = {"password": NEW} if target == "confirm" else {}
        answers = [
            await mailing.post(f"/api/auth/password-reset/{target}", token=token, **body)
            for token in ("x" * 43, expired, foreign, used, stale)
        ]
        assert [shape(answer) for answer in answers] == [shape(answers[0])] * len(answers)
        assert answers[0].json["code"] == "link_invalid"


async def test_of_two_confirmations_at_once_one_wins(mailing: Mailing) -> None:
    person = await mailing.person()
    token = await mailing.link(person)
    passwords = [f"{number} wary otters at noon" for number in range(4)]
    answers = await asyncio.gather(*(mailing.confirm(token, password) for password in passwords))
    won = [answer.status == 204 for answer in answers]
    assert sum(won) == 1
    assert {answer.status for answer in answers} <= {204, 403, 409}
    assert [(await person.first_step(password)).status == 200 for password in passwords] == won


async def test_a_link_to_an_address_that_was_changed_since_is_not_good(mailing: Mailing) -> None:
    person, cleared = await mailing.person(), await mailing.person()
    for user, changed in ((person, "new@example.org"), (cleared, None)):
        token = await mailing.link(user)
        await mailing.site.data("PATCH", f"/api/user/{user.id}", {"email": changed})
        if changed:
            mailing.execute('UPDATE sys."user" SET recovery_email = email WHERE id = %s', user.id)
        assert (await mailing.confirm(token)).json["code"] == "link_invalid"


async def test_who_has_a_second_factor_proves_it_too(mailing: Mailing) -> None:
    person = await enrolled(mailing)
    token = await mailing.link(person)
    options = await mailing.post("/api/auth/password-reset/options", token=token)
    assert options.json["data"]["methods"] == ["totp", "recovery_code"]
    without = await mailing.confirm(token)
    assert (without.status, without.json["code"]) == (401, "second_factor_required")
    assert without.json["methods"] == ["totp", "recovery_code"]
    wrong = await mailing.confirm(token, method="totp", code="000000")
    assert (wrong.status, wrong.json["code"]) == (401, "login_failed")
    assert (await person.first_step(PASSWORD)).json["code"] == "second_factor_required"  # nothing has changed
    assert (await mailing.confirm(token, method="totp", code=person.code())).status == 204
    assert (await person.first_step(NEW)).json["code"] == "second_factor_required"  # factors stay


async def test_a_recovery_code_does_as_well_and_counts_once(mailing: Mailing) -> None:
    person = await enrolled(mailing)
    token = await mailing.link(person)
    assert (await mailing.confirm(token, method="recovery_code", code=person.codes[0])).status == 204
    token = await mailing.link(person)
    again = await mailing.confirm(token, PASSWORD, method="recovery_code", code=person.codes[0])
    assert (again.status, again.json["code"]) == (401, "login_failed")


async def test_a_passkey_answers_the_options_of_the_link(mailing: Mailing) -> None:
    person = await mailing.person()
    await person.log_in()
    await person.enrol_passkey()
    token = await mailing.link(person)
    options = (await mailing.post("/api/auth/password-reset/options", token=token)).json["data"]
    credential = person.passkey.sign_in(options["publicKey"])
    answer = await mailing.confirm(token, method="passkey", credential=credential)
    assert answer.status == 204, answer.body
    token = await mailing.link(person)
    replayed = await mailing.confirm(token, PASSWORD, method="passkey", credential=credential)
    assert (replayed.status, replayed.json["code"]) == (401, "login_failed")


async def test_five_wrong_factors_end_a_link_also_at_once(mailing: Mailing) -> None:
    person = await enrolled(mailing)
    token = await mailing.link(person)
    wrong: dict[str, Any] = {"method": "totp", "code": "000000"}
    answers = await asyncio.gather(*(mailing.confirm(token, **wrong) for _ in range(8)))
    codes = sorted(answer.json["code"] for answer in answers)
    assert codes == ["link_invalid"] * 3 + ["login_failed"] * 5
    right = await mailing.confirm(token, method="totp", code=person.code())
    assert right.json["code"] == "link_invalid"


async def test_a_refused_password_costs_neither_the_link_nor_a_code(mailing: Mailing) -> None:
    person = await enrolled(mailing)
    token, code = await mailing.link(person), person.code()
    weak = await mailing.confirm(token, "short", method="totp", code=code)
    assert (weak.status, weak.json["errors"][0]["field"]) == (422, "password")
    assert (await mailing.confirm(token, method="totp", code=code)).status == 204


async def test_a_reset_lifts_no_ban_and_enables_nobody(mailing: Mailing) -> None:
    banned, disabled = await mailing.person(), await mailing.person()
    tokens = [await mailing.link(banned), await mailing.link(disabled)]
    assert (await mailing.site.ask("POST", f"/api/online/{banned.id}/ban", {})).status == 200
    await mailing.site.data("PATCH", f"/api/user/{disabled.id}", {"status": "disabled"})
    assert [(await mailing.confirm(token)).status for token in tokens] == [204, 204]
    assert (await banned.first_step(NEW)).json["code"] == "account_banned"
    assert (await disabled.first_step(NEW)).json["code"] == "account_disabled"


async def test_an_administrator_sends_a_link_and_never_sees_it(mailing: Mailing) -> None:
    person = await mailing.person()
    answer = await mailing.site.data("POST", f"/api/user/{person.id}/password-reset")
    assert answer.keys() == {"expiresAt", "sent"}
    assert (await mailing.confirm(mailing.mails(person.id, "password_reset")[-1].token)).status == 204
    unconfirmed, guest = await mailing.person(confirmed=False), await mailing.person(invite=True)
    disabled = await mailing.person(status="disabled")
    rules = [
        (await mailing.site.ask("POST", f"/api/user/{user.id}/password-reset")).json["rule"]
        for user in (unconfirmed, guest, disabled)
    ]
    assert rules == ["confirmed_address", "has_password", "kept_out"]
    assert (await mailing.site.ask("POST", "/api/user/1/password-reset")).json["layer"] == "account"


async def test_no_token_and_no_password_gets_into_a_log(mailing: Mailing) -> None:
    person = await mailing.person()
    token = await mailing.link(person)
    await mailing.confirm(token)
    target = f"user:{person.name}"

    def entries() -> str:
        rows = mailing.execute("SELECT to_jsonb(l)::text FROM sys.operation_log l WHERE url LIKE '%%reset%%'")
        return "\n".join(text for (text,) in rows)

    assert await eventually_here(lambda: target in entries())
    assert token not in entries()
    assert NEW not in entries()
    logins = "SELECT event, reason FROM sys.login_log WHERE user_id = %s"
    reset = ("password_reset", "link")
    assert await eventually_here(lambda: reset in mailing.execute(logins, person.id))
    stored = mailing.execute("SELECT to_jsonb(m)::text FROM sys.mail m WHERE user_id = %s", person.id)
    assert not any(token in text for (text,) in stored)


async def test_requests_from_one_address_are_limited_and_not_those_of_an_account(
    service_with: ServiceWith,
) -> None:
    """A limit on the account would let strangers take away the link of its owner."""
    few = MAILING | {"PORTCULLIS_THROTTLE__RESET_ADDRESS": "2"}
    async with service_with(**few) as site:

        async def ask(name: str, address: str) -> int:
            body = json.dumps({"userName": name}).encode()
            target = "/api/auth/password-reset"
            answer = await site.ask_from(address, "POST", target, JSON, body=body)
            return answer.status

        asked = [await ask(name, "192.0.2.7") for name in ("admin", "nobody", "admin")]
        assert asked == [202, 202, 429]
        assert await ask("admin", "192.0.2.8") == 202


async def test_without_mail_everybody_gets_the_same_refusal(shared: Inside) -> None:
    answers = [
        await shared.as_anonymous("POST", "/api/auth/password-reset", body={"userName": name})
        for name in ("admin", "nobody")
    ]
    assert shape(answers[0]) == shape(answers[1])
    assert (answers[0].status, answers[0].json["code"]) == (409, "mail_not_configured")
    other = {"userName": "other", "nickName": "Other", "password": PASSWORD}
    made = await shared.data("POST", "/api/user", other)
    answer = await shared.ask("POST", f"/api/user/{made['id']}/password-reset")
    assert answer.json["code"] == "mail_not_configured"
