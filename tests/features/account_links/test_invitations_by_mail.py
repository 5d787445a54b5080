"""Where mail is configured, an invitation reaches nobody but the mailbox of the one who is invited."""

from tests.features.account_links.conftest import NEW, Mailing
from tests.features.second_factors.conftest import ORIGIN


async def test_an_invitation_is_mailed_and_confirms_the_address_that_it_was_mailed_to(
    mailing: Mailing,
) -> None:
    person = await mailing.person(confirmed=False, invite=True)
    answer = await mailing.site.data("POST", f"/api/user/{person.id}/invitation")
    assert set(answer) == {"expiresAt", "sent"}
    assert answer["sent"] is True
    [mail] = mailing.mails(person.id, "invitation")
    assert mail.recipient == f"{person.name}@example.org"
    assert mail.link == f"{ORIGIN}/console#/invitation?token={mail.token}"
    assert (await mailing.post("/api/auth/invitation", token=mail.token, password=NEW)).status == 204
    stored = await mailing.site.data("GET", f"/api/user/{person.id}")
    assert (stored["emailVerified"], stored["recoveryEmail"]) == (True, mail.recipient)
    assert (await person.first_step(NEW)).status == 200


async def test_an_address_that_was_changed_since_is_not_confirmed(mailing: Mailing) -> None:
    person = await mailing.person(confirmed=False, invite=True)
    await mailing.site.data("POST", f"/api/user/{person.id}/invitation")
    [mail] = mailing.mails(person.id, "invitation")
    await mailing.site.data("PATCH", f"/api/user/{person.id}", {"email": "other@example.org"})
    assert (await mailing.post("/api/auth/invitation", token=mail.token, password=NEW)).status == 403
    await mailing.site.data("POST", f"/api/user/{person.id}/invitation")
    assert mailing.mails(person.id, "invitation")[-1].recipient == "other@example.org"


async def test_no_host_of_a_request_gets_into_a_link(mailing: Mailing) -> None:
    person = await mailing.person(confirmed=False, invite=True)
    forged = [
        ("Host", "evil.example"),
        ("X-Forwarded-Host", "evil.example"),
        ("Forwarded", "host=evil.example"),
    ]
    answer = await mailing.site.ask("POST", f"/api/user/{person.id}/invitation", None, *forged)
    assert answer.status in (200, 400)
    for mail in mailing.mails(person.id, "invitation"):
        assert mail.link.startswith(f"{ORIGIN}/console#/")


async def test_who_has_no_address_is_not_invited_by_mail(mailing: Mailing) -> None:
    person = await mailing.person(confirmed=False, invite=True, email=None)
    answer = await mailing.site.ask("POST", f"/api/user/{person.id}/invitation")
    assert (answer.status, answer.json["rule"]) == (409, "confirmed_address")
