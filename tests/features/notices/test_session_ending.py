"""The link of a notice ends all sessions of the owner, once, by a POST, and does nothing else."""

import asyncio

import pytest

from tests.features.account_links.conftest import Mailing, shape
from tests.features.second_factors.conftest import Person
from tests.support.waiting import eventually_here

TARGET = "/api/auth/sessions/end"


@pytest.fixture
async def person(mailing: Mailing) -> Person:
    """Somebody who is logged in, and was mailed a notice of that."""
    person = await mailing.person()
    await person.log_in()
    return person


def token_of(mailing: Mailing, person: Person) -> str:
    return mailing.mails(person.id, "new_device")[-1].token


async def is_logged_in(person: Person) -> bool:
    return (await person.ask("GET", "/api/user/info")).status == 200


async def test_all_sessions_end_and_the_login_log_tells_it(mailing: Mailing, person: Person) -> None:
    other = await mailing.person()
    await other.log_in()
    answer = await mailing.post(TARGET, token=token_of(mailing, person))
    assert (answer.status, answer.body) == (204, b"")
    assert (await person.ask("GET", "/api/user/info")).status == 401
    assert await is_logged_in(other)

    entry = (
        "SELECT 1 FROM sys.login_log WHERE user_id = %s AND event = 'logout_all'"
        " AND outcome = 'success' AND reason = 'link' AND host(login_ip) = '192.0.2.7'"
    )
    assert await eventually_here(lambda: bool(mailing.execute(entry, person.id)))


async def test_the_password_stays_and_a_login_follows(mailing: Mailing, person: Person) -> None:
    await mailing.post(TARGET, token=token_of(mailing, person))
    await person.log_in()
    assert await is_logged_in(person)


async def test_used_expired_foreign_and_unknown_links_are_refused_alike(
    mailing: Mailing, person: Person
) -> None:
    used = token_of(mailing, person)
    assert (await mailing.post(TARGET, token=used)).status == 204
    await person.log_in()
    await mailing.site.data("PUT", f"/api/user/{person.id}/password", {"newPassword": "four wary herons"})
    expired = mailing.mails(person.id, "password_changed")[-1].token
    mailing.execute("UPDATE sys.account_token SET expires_time = now() WHERE user_id = %s", person.id)
    guest = await mailing.person(confirmed=False, invite=True)
    await mailing.site.data("POST", f"/api/user/{guest.id}/invitation")
    foreign = mailing.mails(guest.id, "invitation")[-1].token
    answers = [await mailing.post(TARGET, token=token) for token in (used, expired, foreign, "unknown")]
    assert answers[0].status == 403
    assert answers[0].json["code"] == "link_invalid"
    assert [shape(answer) for answer in answers] == [shape(answers[0])] * 4


async def test_each_notice_has_a_link_of_its_own_that_works_while_others_are_used(
    mailing: Mailing, person: Person
) -> None:
    await mailing.site.data("PUT", f"/api/user/{person.id}/password", {"newPassword": person.password})
    kinds = ("new_device", "password_changed")
    first, second = (mail.token for kind in kinds for mail in mailing.mails(person.id, kind))
    assert first != second
    assert (await mailing.post(TARGET, token=second)).status == 204
    await person.log_in()
    assert (await mailing.post(TARGET, token=first)).status == 204
    assert not await is_logged_in(person)


async def test_of_two_uses_at_once_one_succeeds(mailing: Mailing, person: Person) -> None:
    token = token_of(mailing, person)
    answers = await asyncio.gather(*(mailing.post(TARGET, token=token) for _ in range(5)))
    assert sorted(answer.status for answer in answers) == [204, 403, 403, 403, 403]


async def test_no_get_ends_anything(mailing: Mailing, person: Person) -> None:
    token = token_of(mailing, person)
    assert (await mailing.site.as_anonymous("GET", f"{TARGET}?token={token}")).status == 405
    page = await mailing.site.as_anonymous("GET", "/console")
    assert page.status in (200, 404)
    assert await is_logged_in(person)
    assert (await mailing.post(TARGET, token=token)).status == 204


async def test_no_other_link_of_an_account_takes_the_token(mailing: Mailing, person: Person) -> None:
    token = token_of(mailing, person)
    for target in ("/api/auth/invitation", "/api/auth/password-reset/confirm"):
        answer = await mailing.post(target, token=token, password="five wary otters at noon")
        assert (answer.status, answer.json["code"]) == (403, "link_invalid")


async def test_the_token_is_stored_nowhere_in_clear(mailing: Mailing, person: Person) -> None:
    token = token_of(mailing, person)
    for table in ("mail", "account_token", "notice", "operation_log", "login_log"):
        rows = mailing.execute(f"SELECT one::text FROM sys.{table} one")
        assert not any(token in row for (row,) in rows)
