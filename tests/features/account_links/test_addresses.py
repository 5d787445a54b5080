"""An address is confirmed by its owner; until then the one before is that for recovery, and both are told."""

import asyncio

import pytest

from tests.features.account_links.conftest import NEW, Mailing, shape
from tests.features.second_factors.conftest import ORIGIN
from tests.support.inside import Inside
from tests.support.seeded import ADMINISTRATOR_PASSWORD
from tests.support.waiting import eventually_here


async def test_a_new_address_of_ones_own_is_confirmed_by_its_link_and_the_old_one_is_told(
    mailing: Mailing,
) -> None:
    person = await mailing.person()
    await person.log_in()
    old, new = f"{person.name}@example.org", f"{person.name}@new.example"
    body = {"email": new, "currentPassword": person.password}
    saved = await person.data("PUT", "/api/user/profile", body)
    assert (saved["email"], saved["emailVerified"], saved["recoveryEmail"]) == (new, False, old)
    mails = mailing.mails(person.id)
    confirmation = mails[-1]
    assert [(mail.kind, mail.recipient) for mail in mails[-2:]] == [
        ("address_changed", old),
        ("address_confirmation", new),
    ]
    assert confirmation.link == f"{ORIGIN}/console#/address?token={confirmation.token}"
    await mailing.link(person)
    assert mailing.mails(person.id, "password_reset")[-1].recipient == old
    answer = await mailing.post("/api/auth/address", token=confirmation.token)
    assert (answer.status, answer.body) == (204, b"")
    stored = await person.data("GET", "/api/user/profile")
    assert (stored["emailVerified"], stored["recoveryEmail"]) == (True, new)


async def test_a_link_confirms_its_address_only_once_and_only_while_it_is_the_users(mailing: Mailing) -> None:
    person, other = await mailing.owned(), await mailing.owned()
    [first] = mailing.mails(person.id, "address_confirmation")
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"email": "b@example.org"})
    [_, second] = mailing.mails(person.id, "address_confirmation")
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"email": "c@example.org"})
    [_, _, third] = mailing.mails(person.id, "address_confirmation")
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"email": "b@example.org"})
    [late] = mailing.mails(other.id, "address_confirmation")
    mailing.execute("UPDATE sys.account_token SET expires_time = now() WHERE user_id = %s", other.id)
    used = mailing.mails(person.id, "address_confirmation")[-1]
    mailing.execute('UPDATE sys."user" SET agreed_email = email WHERE id = %s', person.id)
    at_once = await asyncio.gather(*(mailing.post("/api/auth/address", token=used.token) for _ in range(3)))
    assert sorted(answer.status for answer in at_once) == [204, 403, 403]
    answers = [
        await mailing.post("/api/auth/address", token=token)
        for token in (first.token, second.token, third.token, late.token, used.token, "x" * 43)
    ]
    assert [shape(answer) for answer in answers] == [shape(answers[0])] * len(answers)
    assert answers[0].json["code"] == "link_invalid"
    assert (await mailing.site.data("GET", f"/api/user/{person.id}"))["recoveryEmail"] == "b@example.org"


async def test_an_edit_that_leaves_the_address_and_a_dry_run_send_nothing(mailing: Mailing) -> None:
    person = await mailing.person()
    before = len(mailing.mails(person.id))
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"nickName": "Heron"})
    await mailing.site.preview("PATCH", f"/api/user/{person.id}", {"email": "planned@example.org"})
    assert len(mailing.mails(person.id)) == before


@pytest.mark.feature("tables")
async def test_an_address_in_an_import_is_told_and_confirmed_as_any_other(mailing: Mailing) -> None:
    person = await mailing.person()
    row = {"userName": person.name, "email": "imported@example.org"}
    await mailing.site.data("POST", "/api/user/import", {"users": [row]})
    kinds = [(mail.kind, mail.recipient) for mail in mailing.mails(person.id)[-2:]]
    assert kinds == [
        ("address_changed", f"{person.name}@example.org"),
        ("address_confirmation", "imported@example.org"),
    ]
    stored = await mailing.site.data("GET", f"/api/user/{person.id}")
    assert (stored["emailVerified"], stored["recoveryEmail"]) == (False, f"{person.name}@example.org")
    exported = await mailing.site.ask("GET", "/api/user/export?format=json")
    assert b"recovery" not in exported.body
    assert b"erified" not in exported.body


async def test_who_writes_past_the_new_release_leaves_nothing_confirmed_that_is_not(mailing: Mailing) -> None:
    """A node of the release before knows no confirmed addresses: it changes the address alone."""
    person = await mailing.person()
    mailing.execute('UPDATE sys."user" SET email = %s WHERE id = %s', "old-node@example.org", person.id)
    stored = await mailing.site.data("GET", f"/api/user/{person.id}")
    assert stored["emailVerified"] is False
    await mailing.link(person)
    assert mailing.mails(person.id, "password_reset")[-1].recipient == f"{person.name}@example.org"
    mailing.execute('UPDATE sys."user" SET email = NULL WHERE id = %s', person.id)
    token = mailing.mails(person.id, "password_reset")[-1].token
    assert (await mailing.confirm(token)).json["code"] == "link_invalid"


async def test_whose_address_is_taken_away_is_not_recovered_by_it(mailing: Mailing) -> None:
    person = await mailing.person()
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"email": None})
    stored = await mailing.site.data("GET", f"/api/user/{person.id}")
    assert (stored["email"], stored["recoveryEmail"]) == (None, None)
    assert mailing.mails(person.id)[-1].kind == "address_changed"


async def test_an_administrator_declares_an_address_confirmed_and_the_user_is_told(mailing: Mailing) -> None:
    person = await mailing.person(confirmed=False)
    target = f"/api/user/{person.id}/email/verification"
    for _ in range(2):
        assert (await mailing.site.ask("POST", target)).status == 204
    stored = await mailing.site.data("GET", f"/api/user/{person.id}")
    assert stored["emailVerified"] is True
    assert [mail.recipient for mail in mailing.mails(person.id, "address_verified")] == [stored["email"]]

    def changes() -> list[str]:
        rows = mailing.execute("SELECT changes::text FROM sys.operation_log WHERE url = %s", target)
        return [text for (text,) in rows if text]

    assert await eventually_here(lambda: len(changes()) == 1)
    assert "recoveryEmail" in changes()[0]
    own = await mailing.site.ask("POST", "/api/user/1/email/verification")
    assert (own.status, own.json["layer"]) == (409, "account")
    without = await mailing.person(confirmed=False, email=None)
    answer = await mailing.site.ask("POST", f"/api/user/{without.id}/email/verification")
    assert (answer.status, answer.json["rule"]) == (409, "confirmed_address")


async def test_who_has_confirmed_nothing_asks_for_a_link_a_few_times_an_hour(mailing: Mailing) -> None:
    person = await mailing.person(confirmed=False)
    await person.log_in()
    target = "/api/user/profile/email/verification"
    statuses = [(await person.ask("POST", target)).status for _ in range(11)]
    assert statuses == [202] * 9 + [429] * 2  # one was mailed with the new account
    body = {"email": "stranger@example.org", "currentPassword": person.password}
    assert (await person.ask("PUT", "/api/user/profile", body)).status == 200
    recipients = {mail.recipient for mail in mailing.mails(person.id, "address_confirmation")}
    assert recipients == {f"{person.name}@example.org"}


async def test_no_name_and_no_address_adds_a_header_to_a_mail(mailing: Mailing) -> None:
    for email in ("a@example.org\r\nBcc: b@example.org", "a@example.org, b@example.org", "<a@example.org>"):
        body = {"userName": "headers", "nickName": "H", "password": NEW, "email": email}
        assert (await mailing.site.ask("POST", "/api/user", body)).status == 422, email


async def test_without_mail_an_address_is_set_at_once_and_unconfirmed(house: Inside) -> None:
    body = {"email": "admin@example.org", "currentPassword": ADMINISTRATOR_PASSWORD}
    saved = await house.data("PUT", "/api/user/profile", body)
    assert (saved["email"], saved["emailVerified"]) == ("admin@example.org", False)
    answer = await house.ask("POST", "/api/user/profile/email/verification")
    assert (answer.status, answer.json["code"]) == (409, "mail_not_configured")


async def test_a_link_to_an_address_that_somebody_else_has_set_is_of_that_one(mailing: Mailing) -> None:
    person = await mailing.person()
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"email": "of-another@example.com"})

    made = "SELECT created_by FROM sys.account_token WHERE user_id = %s AND purpose = 'address'"

    assert mailing.execute(made, person.id) == [(1,)]
